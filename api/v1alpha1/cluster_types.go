package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// SyncedCluster is the annotation of a Cluster that a ClusterSync made for a cluster of the
// hub. Such an object makes no cluster.
const SyncedCluster = "axle-cd.github.io/cluster-id"

// Cluster adopts a cluster that is registered with the hub: its handle, tags,
// metadata and bindings follow this object. Deleting the object deletes nothing
// from the hub. With providerRef the hub makes the cluster from a template, and the
// deletion waits for axle clusters destroy.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axcl
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Handle",type=string,JSONPath=`.spec.handle`
// +kubebuilder:printcolumn:name="CurrentVersion",type=string,JSONPath=`.status.currentVersion`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterSpec   `json:"spec"`
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterSpec is the wanted state of the cluster in the hub.
type ClusterSpec struct {
	// Handle is the cluster's short unique name; unset is metadata.name.
	Handle *string `json:"handle,omitempty"`
	// Tags select the cluster for global services. They replace the existing tags.
	Tags map[string]string `json:"tags,omitempty"`
	// Metadata is any JSON object; templates read it as cluster.metadata.
	// +kubebuilder:pruning:PreserveUnknownFields
	Metadata *runtime.RawExtension `json:"metadata,omitempty"`
	// Bindings of the cluster.
	Bindings *Bindings `json:"bindings,omitempty"`
	// ProjectRef is the Project that a cluster with providerRef is made in. It is not used
	// without providerRef.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Protect refuses deletion. Does not act yet.
	Protect *bool `json:"protect,omitempty"`
	// DisableAI is kept for compatibility. Does not act.
	DisableAI *bool `json:"disableAI,omitempty"`
	// Version of Kubernetes, with providerRef: the variable version of its template.
	Version *string `json:"version,omitempty"`
	// ProviderRef is the Provider whose template the cluster is made from.
	ProviderRef *ObjectReference `json:"providerRef,omitempty"`
	// Cloud cannot be changed. With providerRef it must be that of the Provider.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cloud cannot be changed"
	Cloud string `json:"cloud,omitempty"`
	// CloudSettings are more variables of the template, with providerRef.
	CloudSettings *ClusterCloudSettings `json:"cloudSettings,omitempty"`
	// NodePools are the variable nodePools of the template, with providerRef.
	NodePools []ClusterNodePool `json:"nodePools,omitempty"`
	// Reconciliation sets how often the operator compares the object with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// ClusterCloudSettings are the settings of a cluster's cloud; set one of them.
type ClusterCloudSettings struct {
	// AWS are the settings for AWS.
	AWS *ClusterAWSSettings `json:"aws,omitempty"`
	// Azure are the settings for Azure.
	Azure *ClusterAzureSettings `json:"azure,omitempty"`
	// GCP are the settings for Google Cloud.
	GCP *ClusterGCPSettings `json:"gcp,omitempty"`
}

// ClusterAWSSettings are the settings for AWS.
type ClusterAWSSettings struct {
	// Region of the cluster.
	Region string `json:"region"`
}

// ClusterAzureSettings are the settings for Azure.
type ClusterAzureSettings struct {
	// ResourceGroup of the cluster.
	ResourceGroup string `json:"resourceGroup"`
	// Network of the cluster.
	Network string `json:"network"`
	// SubscriptionID of the cluster.
	SubscriptionID string `json:"subscriptionId"`
	// Location of the cluster.
	Location string `json:"location"`
}

// ClusterGCPSettings are the settings for Google Cloud.
type ClusterGCPSettings struct {
	// Project of the cluster.
	Project string `json:"project"`
	// Network of the cluster.
	Network string `json:"network"`
	// Region of the cluster.
	Region string `json:"region"`
}

// ClusterNodePool is a group of equal nodes.
type ClusterNodePool struct {
	// Name of the pool.
	Name string `json:"name"`
	// InstanceType of its nodes.
	InstanceType string `json:"instanceType"`
	// MinSize is the minimum number of nodes.
	// +kubebuilder:validation:Minimum=1
	MinSize int64 `json:"minSize"`
	// MaxSize is the maximum number of nodes.
	// +kubebuilder:validation:Minimum=1
	MaxSize int64 `json:"maxSize"`
	// Labels of its nodes.
	Labels map[string]string `json:"labels,omitempty"`
	// Taints of its nodes.
	Taints []Taint `json:"taints,omitempty"`
	// CloudSettings of its nodes.
	CloudSettings *ClusterNodePoolCloudSettings `json:"cloudSettings,omitempty"`
}

// Taint keeps pods off a node.
type Taint struct {
	// Key of the taint.
	Key string `json:"key"`
	// Value of the taint.
	Value string `json:"value"`
	// Effect is NoSchedule, NoExecute or PreferNoSchedule.
	Effect string `json:"effect"`
}

// ClusterNodePoolCloudSettings are a node pool's settings in its cloud.
type ClusterNodePoolCloudSettings struct {
	// AWS are the settings for AWS.
	AWS *ClusterNodePoolAWSSettings `json:"aws,omitempty"`
}

// ClusterNodePoolAWSSettings are a node pool's settings in AWS.
type ClusterNodePoolAWSSettings struct {
	// LaunchTemplateID is the launch template of its nodes.
	LaunchTemplateID *string `json:"launchTemplateId,omitempty"`
}

// ClusterStatus is the state of the cluster in the hub.
type ClusterStatus struct {
	Status `json:",inline"`
	// CurrentVersion is the cluster's Kubernetes version.
	CurrentVersion *string `json:"currentVersion,omitempty"`
	// KasURL is the URL of the cluster's API server through the hub.
	KasURL *string `json:"kasURL,omitempty"`
	// PingedAt is the time of the agent's last report.
	PingedAt *string `json:"pingedAt,omitempty"`
	// ClusterAPI is the state of a cluster from a template.
	ClusterAPI *ClusterAPIStatus `json:"clusterAPI,omitempty"`
}

// ClusterAPIStatus is what the management cluster of a cluster from a template reports, in
// the words of Cluster API.
type ClusterAPIStatus struct {
	// Phase is Pending, Provisioning, Provisioned, Deleting, Failed or Unknown.
	Phase string `json:"phase,omitempty"`
	// Message says what connecting waits for, or why nothing is known.
	Message string `json:"message,omitempty"`
	// Template and Commit are what the cluster was made of, and Version that of
	// Kubernetes.
	Template string `json:"template,omitempty"`
	// Commit of the template.
	Commit string `json:"commit,omitempty"`
	// Version of Kubernetes.
	Version string `json:"version,omitempty"`
	// ManagementCluster holds the objects of the cluster, in Namespace.
	ManagementCluster string `json:"managementCluster,omitempty"`
	// Namespace of the objects on the management cluster.
	Namespace string `json:"namespace,omitempty"`
	// ControlPlane are its machines.
	ControlPlane *ClusterAPIMachines `json:"controlPlane,omitempty"`
	// Pools are the pools of machines, by name.
	Pools []ClusterAPIMachines `json:"pools,omitempty"`
	// Conditions of the Cluster object.
	// +listType=map
	// +listMapKey=type
	Conditions []ClusterAPICondition `json:"conditions,omitempty"`
	// Unmet are the checks of the template that do not hold, in its words.
	Unmet []string `json:"unmet,omitempty"`
}

// ClusterAPIMachines are the machines of a pool, or of the control plane.
type ClusterAPIMachines struct {
	// Name of the pool.
	Name string `json:"name,omitempty"`
	// Phase of the pool.
	Phase string `json:"phase,omitempty"`
	// Desired is how many machines there are to be.
	Desired int32 `json:"desired"`
	// Ready is how many are ready.
	Ready int32 `json:"ready"`
	// UpToDate is how many are as declared.
	UpToDate int32 `json:"upToDate"`
	// Versions of Kubernetes that they run.
	Versions []string `json:"versions,omitempty"`
}

// ClusterAPICondition is a condition of the Cluster object.
type ClusterAPICondition struct {
	// Type of the condition.
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status string `json:"status"`
	// Reason in one word.
	Reason string `json:"reason,omitempty"`
	// Message for people.
	Message string `json:"message,omitempty"`
}
