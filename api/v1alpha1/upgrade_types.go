package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CustomCompatibilityMatrix says which versions of an add-on support which
// versions of Kubernetes.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle-all,shortName=axccm
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CustomCompatibilityMatrix struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec CustomCompatibilityMatrixSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No upgrade is checked against it: the hub has no upgrade plans yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// CustomCompatibilityMatrixSpec describes the add-on and its versions.
type CustomCompatibilityMatrixSpec struct {
	// Name of the add-on; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Icon is the URL of an image.
	Icon *string `json:"icon,omitempty"`
	// GitURL is the URL of its repository.
	GitURL *string `json:"gitUrl,omitempty"`
	// ReleaseURL is the URL of its release notes.
	ReleaseURL *string `json:"releaseUrl,omitempty"`
	// ReadmeURL is the URL of its documentation.
	ReadmeURL *string `json:"readmeUrl,omitempty"`
	// Versions of the add-on.
	Versions []CompatibilityVersion `json:"versions,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// CompatibilityVersion is one version of an add-on.
type CompatibilityVersion struct {
	// Version of the add-on.
	Version string `json:"version,omitempty"`
	// ChartVersion that contains it.
	ChartVersion *string `json:"chartVersion,omitempty"`
	// Kube are the versions of Kubernetes that it supports.
	Kube []string `json:"kube,omitempty"`
	// Summary of the changes.
	Summary *CompatibilitySummary `json:"summary,omitempty"`
}

// CompatibilitySummary lists the changes of a version.
type CompatibilitySummary struct {
	// HelmChanges are changes of the chart.
	HelmChanges []string `json:"helmChanges,omitempty"`
	// BreakingChanges are breaking changes of the add-on.
	BreakingChanges []string `json:"breakingChanges,omitempty"`
}
