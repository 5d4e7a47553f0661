package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Cluster adopts a cluster that is registered with the hub: its handle, tags,
// metadata and bindings follow this object. Deleting the object deletes nothing
// from the hub.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Handle",type=string,JSONPath=`.spec.handle`
// +kubebuilder:printcolumn:name="CurrentVersion",type=string,JSONPath=`.status.currentVersion`
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterSpec `json:"spec"`
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterSpec is the wanted state of the cluster in the hub.
type ClusterSpec struct {
	// Handle is the cluster's short unique name; unset is metadata.name.
	// +optional
	Handle *string `json:"handle,omitempty"`
	// Tags select the cluster for global services.
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// Metadata is any JSON object; templates read it.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Metadata *runtime.RawExtension `json:"metadata,omitempty"`
	// Bindings do not act yet.
	// +optional
	Bindings *Bindings `json:"bindings,omitempty"`
	// DisableAI is kept for compatibility and has no effect.
	// +optional
	DisableAI *bool `json:"disableAI,omitempty"`
	// +optional
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`

	// Version is deprecated and does not act.
	// +optional
	Version *string `json:"version,omitempty"`
	// ProviderRef is deprecated and does not act.
	// +optional
	ProviderRef *ObjectReference `json:"providerRef,omitempty"`
	// ProjectRef is the project of the cluster. Does not act yet.
	// +optional
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Cloud is deprecated, cannot be changed and does not act.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cloud cannot be changed"
	Cloud string `json:"cloud,omitempty"`
	// Protect refuses deletion. Does not act yet.
	// +optional
	Protect *bool `json:"protect,omitempty"`
	// CloudSettings are deprecated and do not act.
	// +optional
	CloudSettings *ClusterCloudSettings `json:"cloudSettings,omitempty"`
	// NodePools are deprecated and do not act.
	// +optional
	NodePools []ClusterNodePool `json:"nodePools,omitempty"`
}

// ClusterCloudSettings are the settings of a cluster's cloud; set one of them.
type ClusterCloudSettings struct {
	// +optional
	AWS *ClusterAWSSettings `json:"aws,omitempty"`
	// +optional
	Azure *ClusterAzureSettings `json:"azure,omitempty"`
	// +optional
	GCP *ClusterGCPSettings `json:"gcp,omitempty"`
}

// ClusterAWSSettings are the settings for AWS.
type ClusterAWSSettings struct {
	Region string `json:"region"`
}

// ClusterAzureSettings are the settings for Azure.
type ClusterAzureSettings struct {
	ResourceGroup  string `json:"resourceGroup"`
	Network        string `json:"network"`
	SubscriptionID string `json:"subscriptionId"`
	Location       string `json:"location"`
}

// ClusterGCPSettings are the settings for Google Cloud.
type ClusterGCPSettings struct {
	Project string `json:"project"`
	Network string `json:"network"`
	Region  string `json:"region"`
}

// ClusterNodePool is a group of equal nodes.
type ClusterNodePool struct {
	Name         string `json:"name"`
	InstanceType string `json:"instanceType"`
	// +kubebuilder:validation:Minimum=1
	MinSize int64 `json:"minSize"`
	// +kubebuilder:validation:Minimum=1
	MaxSize int64 `json:"maxSize"`
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// +optional
	Taints []Taint `json:"taints,omitempty"`
	// +optional
	CloudSettings *ClusterNodePoolCloudSettings `json:"cloudSettings,omitempty"`
}

// Taint keeps pods off a node.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

// ClusterNodePoolCloudSettings are a node pool's settings in its cloud.
type ClusterNodePoolCloudSettings struct {
	// +optional
	AWS *ClusterNodePoolAWSSettings `json:"aws,omitempty"`
}

// ClusterNodePoolAWSSettings are a node pool's settings in AWS.
type ClusterNodePoolAWSSettings struct {
	// +optional
	LaunchTemplateID *string `json:"launchTemplateId,omitempty"`
}

// ClusterStatus is the state of the cluster in the hub.
type ClusterStatus struct {
	Status `json:",inline"`
	// +optional
	CurrentVersion *string `json:"currentVersion,omitempty"`
	// +optional
	KasURL *string `json:"kasURL,omitempty"`
	// +optional
	PingedAt *string `json:"pingedAt,omitempty"`
}

// ClusterList is a list of Cluster.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cluster `json:"items"`
}
