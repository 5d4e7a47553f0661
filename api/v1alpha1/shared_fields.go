package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Binding gives a user or group an access right. Set one of the four fields.
type Binding struct {
	// ID of the binding; deprecated, kept for old manifests.
	ID *string `json:"id,omitempty"`
	// UserEmail is the user by e-mail.
	UserEmail *string `json:"userEmail,omitempty"`
	// UserID is the user by id.
	UserID *string `json:"UserID,omitempty"`
	// GroupName is the group by name.
	GroupName *string `json:"groupName,omitempty"`
	// GroupID is the group by id.
	GroupID *string `json:"groupID,omitempty"`
}

// Bindings are the access rights of one object, by action.
type Bindings struct {
	// Create lets users and groups create objects inside this one.
	Create []Binding `json:"create,omitempty"`
	// Read lets them see this object.
	Read []Binding `json:"read,omitempty"`
	// Write lets them change this object.
	Write []Binding `json:"write,omitempty"`
	// Git lets them change repositories.
	Git []Binding `json:"git,omitempty"`
}

// Reconciliation sets how often an object is compared with the hub.
type Reconciliation struct {
	// DriftDetection compares even when the object did not change.
	// +kubebuilder:default=true
	DriftDetection *bool `json:"driftDetection,omitempty"`
	// Interval between two comparisons, a Go duration. Each wait is 50 to
	// 150 % of it.
	// +kubebuilder:default="30m"
	Interval *string `json:"interval,omitempty"`
}

// Status is the common status of every kind.
type Status struct {
	// ID of the object in the hub.
	ID *string `json:"id,omitempty"`
	// SHA is the hash of what was last sent to the hub; the same hash means
	// that nothing has to be sent.
	SHA *string `json:"sha,omitempty"`
	// Readonly means that others created the object in the hub: it is shown here,
	// and neither changed nor deleted.
	Readonly bool `json:"readonly,omitempty"`
	// ObservedGeneration is the generation that the conditions are for.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// NotActing lists the fields of spec that are kept but do not act yet.
	NotActing []string `json:"notActing,omitempty"`
	// Conditions are Ready, Synchronized, Readonly, NamespacedCredentials and
	// Supported.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Git names a folder of a repository at a ref.
type Git struct {
	// Folder inside the repository; "." is its root.
	Folder string `json:"folder"`
	// Ref is a branch, a tag or a full commit id. One that is both a branch
	// and a tag is written in full, as refs/heads/main.
	Ref string `json:"ref,omitempty"`
	// Files are more files of the repository, added at the root of the
	// delivered tree under their base names.
	Files []string `json:"files,omitempty"`
	// URL names a registered repository instead of repositoryRef.
	URL *string `json:"url,omitempty"`
	// Submodules includes the files of submodules.
	Submodules *bool `json:"submodules,omitempty"`
	// LFS includes the files behind Git LFS pointers.
	LFS *bool `json:"lfs,omitempty"`
}

// HTTPProxy is an HTTP proxy.
type HTTPProxy struct {
	// URL of the proxy.
	URL string `json:"url"`
	// Noproxy is a comma-separated list of hosts that are reached directly. Does
	// not act yet.
	Noproxy *string `json:"noproxy,omitempty"`
}

// SyncWindow is a recurring period in which syncs are allowed or denied. A
// deny window wins; where there are allow windows, one must be open.
type SyncWindow struct {
	// Kind is allow or deny.
	// +kubebuilder:validation:Enum=allow;deny
	Kind string `json:"kind"`
	// Schedule is a cron expression with five fields, for the window's start.
	Schedule string `json:"schedule"`
	// Duration is how long it lasts, such as 1h30m.
	Duration string `json:"duration"`
	// TimeZone is a name such as Europe/Berlin; unset is UTC.
	TimeZone *string `json:"timeZone,omitempty"`
	// ManualSync allows syncs that a person requests.
	ManualSync *bool `json:"manualSync,omitempty"`
}
