package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Binding gives a user or group an access right. Set one of the four fields.
type Binding struct {
	// ID of the binding; deprecated, kept for old manifests.
	// +optional
	ID *string `json:"id,omitempty"`
	// UserEmail is the user by e-mail.
	// +optional
	UserEmail *string `json:"userEmail,omitempty"`
	// UserID is the user by id.
	// +optional
	UserID *string `json:"UserID,omitempty"`
	// GroupName is the group by name.
	// +optional
	GroupName *string `json:"groupName,omitempty"`
	// GroupID is the group by id.
	// +optional
	GroupID *string `json:"groupID,omitempty"`
}

// Bindings are the access rights of one object. Does not act yet.
type Bindings struct {
	// +optional
	Create []Binding `json:"create,omitempty"`
	// +optional
	Read []Binding `json:"read,omitempty"`
	// +optional
	Write []Binding `json:"write,omitempty"`
	// +optional
	Git []Binding `json:"git,omitempty"`
}

// Reconciliation sets how often an object is compared with the hub.
type Reconciliation struct {
	// DriftDetection compares even when the object did not change; unset is
	// true.
	// +optional
	DriftDetection *bool `json:"driftDetection,omitempty"`
	// Interval is a Go duration; unset is 30m. Each wait is 50 to 150 % of it.
	// +optional
	Interval *string `json:"interval,omitempty"`
}

// Status is the common status of every kind.
type Status struct {
	// ID of the object in the hub.
	// +optional
	ID *string `json:"id,omitempty"`
	// SHA is the hash of what was last sent to the hub; the same hash means
	// that nothing has to be sent.
	// +optional
	SHA *string `json:"sha,omitempty"`
	// ObservedGeneration is the generation that the conditions are for.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// NotActing lists the fields of spec that are kept but do not act yet.
	// +optional
	NotActing []string `json:"notActing,omitempty"`
	// Conditions are Ready, Synchronized, Readonly, NamespacedCredentials and
	// Supported.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Git names a folder of a repository at a ref.
type Git struct {
	// Folder inside the repository; "." is its root.
	Folder string `json:"folder"`
	// Ref is a branch, a tag or a full commit id.
	Ref string `json:"ref"`
	// Files are more files of the repository, added at the root of the
	// delivered tree under their base names.
	// +optional
	Files []string `json:"files,omitempty"`
	// URL names a registered repository instead of repositoryRef.
	// +optional
	URL *string `json:"url,omitempty"`
	// Submodules includes the files of submodules.
	// +optional
	Submodules *bool `json:"submodules,omitempty"`
	// LFS includes the files behind Git LFS pointers.
	// +optional
	LFS *bool `json:"lfs,omitempty"`
}

// NamespacedName names an object of another API group.
type NamespacedName struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// ObjectReference is a reference of which only name and namespace are used. The
// namespace is ignored for cluster-scoped kinds.
type ObjectReference = corev1.ObjectReference
