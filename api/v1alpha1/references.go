package v1alpha1

// ObjectReference names an object by name and namespace. Its other fields are
// kept and ignored. The namespace is ignored for cluster-scoped kinds.
//
// +structType=atomic
type ObjectReference struct {
	// Name of the object.
	Name string `json:"name,omitempty"`
	// Namespace of the object; unset is the namespace of the referring object.
	Namespace string `json:"namespace,omitempty"`
	// APIVersion is kept and ignored.
	APIVersion string `json:"apiVersion,omitempty"`
	// Kind is kept and ignored, except in sourceRef: the field determines the kind.
	Kind string `json:"kind,omitempty"`
	// UID is kept and ignored.
	UID string `json:"uid,omitempty"`
	// ResourceVersion is kept and ignored.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// FieldPath is kept and ignored.
	FieldPath string `json:"fieldPath,omitempty"`
}

// SecretReference names a Secret.
//
// +structType=atomic
type SecretReference struct {
	// Name of the Secret.
	Name string `json:"name,omitempty"`
	// Namespace of the Secret; unset is the namespace of the referring object.
	Namespace string `json:"namespace,omitempty"`
}

// LocalReference names an object of the same namespace.
//
// +structType=atomic
type LocalReference struct {
	// Name of the object.
	Name string `json:"name,omitempty"`
}

// KeySelector names one key of a Secret or ConfigMap of the same namespace.
//
// +structType=atomic
type KeySelector struct {
	// Name of the object.
	Name string `json:"name,omitempty"`
	// Key in the object.
	Key string `json:"key"`
	// Optional allows the object or the key to be missing.
	Optional *bool `json:"optional,omitempty"`
}

// NamespacedName names an object of another API group by name and namespace.
type NamespacedName struct {
	// Name of the object.
	Name string `json:"name"`
	// Namespace of the object.
	Namespace string `json:"namespace"`
}
