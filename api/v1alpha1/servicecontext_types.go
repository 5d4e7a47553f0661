package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ServiceContext is a named set of values that services share.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axctx
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ServiceContext struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ServiceContextSpec `json:"spec"`
	Status Status             `json:"status,omitempty"`
}

// ServiceContextSpec holds the values, and references to more of them. If
// several have the same key, the later one wins: configuration, configMapRef,
// configMapRefs, secretRef.
type ServiceContextSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Configuration is any JSON object.
	// +kubebuilder:pruning:PreserveUnknownFields
	Configuration *runtime.RawExtension `json:"configuration,omitempty"`
	// ConfigMapRef is a ConfigMap with more values.
	ConfigMapRef *ObjectReference `json:"configMapRef,omitempty"`
	// ConfigMapRefs are ConfigMaps with more values, in order.
	ConfigMapRefs []ConfigMapReference `json:"configMapRefs,omitempty"`
	// SecretRef is a Secret with secret values.
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// ProjectRef is the Project of the context. Without it, the context is
	// available to all projects.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// ConfigMapReference names a ConfigMap and where its values are placed.
type ConfigMapReference struct {
	// Name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Namespace of the ConfigMap; unset is the namespace of the referring object.
	Namespace *string `json:"namespace,omitempty"`
	// Scope is the key under which its data is placed; unset is the top level.
	Scope *string `json:"scope,omitempty"`
}

// GeneratedSecret renders values and writes them to Secrets. A value is rendered again
// when its template changes, or the configuration if the template uses it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axgsec
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GeneratedSecret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GeneratedSecretSpec   `json:"spec"`
	Status GeneratedSecretStatus `json:"status,omitempty"`
}

// GeneratedSecretSpec says what the Secret holds, and where it is written.
type GeneratedSecretSpec struct {
	// Template is the data by key. The values are Liquid templates, with all filters,
	// and without capture.
	Template map[string]string `json:"template,omitempty"`
	// ConfigurationRef is a Secret whose data the template reads as configuration.
	// One of another namespace needs a ReferenceGrant.
	ConfigurationRef *SecretReference `json:"configurationRef,omitempty"`
	// Destinations are the Secrets to write, beside gs-NAME. One in another namespace
	// needs a ReferenceGrant with write. A Secret that exists already is not touched.
	Destinations []GeneratedSecretDestination `json:"destinations,omitempty"`
	// Reconciliation sets how often the Secrets are compared with what was rendered.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// GeneratedSecretDestination is a Secret to write.
type GeneratedSecretDestination struct {
	// Name of the Secret.
	Name string `json:"name"`
	// Namespace of the Secret; unset is the object's own.
	Namespace string `json:"namespace,omitempty"`
}

// GeneratedSecretStatus says where the rendered data is kept.
type GeneratedSecretStatus struct {
	Status `json:",inline"`
	// RenderedTemplateSecretRef is the Secret gs-NAME with the rendered data, so
	// that random values do not change.
	RenderedTemplateSecretRef *LocalReference `json:"renderedTemplateSecretRef,omitempty"`
}
