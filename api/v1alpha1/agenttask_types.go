package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// KubecostExtractor reads costs from Kubecost or OpenCost.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle-all,shortName=axkc
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type KubecostExtractor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec KubecostExtractorSpec `json:"spec,omitempty"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No cost is read: the hub has no cost recommendations yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// KubecostExtractorSpec says where costs are read.
type KubecostExtractorSpec struct {
	// Provider of the costs.
	// +kubebuilder:validation:Enum=Kubecost;OpenCost
	// +kubebuilder:default=Kubecost
	Provider *string `json:"provider,omitempty"`
	// Interval is the time between two readings.
	// +kubebuilder:default="1h"
	Interval *string `json:"interval,omitempty"`
	// KubecostServiceRef is its Service.
	KubecostServiceRef *ObjectReference `json:"kubecostServiceRef,omitempty"`
	// KubecostPort is the Service's port.
	KubecostPort *int32 `json:"kubecostPort,omitempty"`
	// RecommendationThreshold is the lowest cost that leads to a recommendation, a
	// decimal number.
	RecommendationThreshold *string `json:"recommendationThreshold,omitempty"`
	// RecommendationsSettings say which workloads get recommendations.
	RecommendationsSettings *RecommendationsSettings `json:"recommendationsSettings,omitempty"`
}

// RecommendationsSettings say which workloads get recommendations.
type RecommendationsSettings struct {
	// ExcludeNamespaces are namespaces without recommendations.
	ExcludeNamespaces []string `json:"excludeNamespaces,omitempty"`
	// RequireAnnotations are annotations that a workload must have.
	RequireAnnotations map[string]string `json:"requireAnnotations,omitempty"`
}

// ClusterDrain restarts workloads wave by wave.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axdrain
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterDrain struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterDrainSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No workload is restarted: agents do not drain clusters yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status ClusterDrainStatus `json:"status,omitempty"`
}

// ClusterDrainSpec says which workloads, and how many at once.
type ClusterDrainSpec struct {
	// FlowControl says how many at once.
	FlowControl FlowControl `json:"flowControl"`
	// LabelSelector of the workloads; unset means all.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// FlowControl says how many at once.
type FlowControl struct {
	// Percentage of all workloads that a wave restarts.
	Percentage *int64 `json:"percentage,omitempty"`
	// MaxConcurrency is the maximum number of workloads that restart at once.
	MaxConcurrency *int64 `json:"maxConcurrency,omitempty"`
}

// ClusterDrainStatus is the progress of the drain.
type ClusterDrainStatus struct {
	Status `json:",inline"`
	// Progress by wave.
	Progress []DrainProgress `json:"progress,omitempty"`
}

// DrainProgress is the progress of one wave.
type DrainProgress struct {
	// Wave is the number of the wave.
	Wave int64 `json:"wave"`
	// Percentage of the workloads that are done.
	Percentage int64 `json:"percentage"`
	// Count is the number of workloads in the wave.
	Count int64 `json:"count"`
	// Failures are workloads that did not become ready again.
	Failures []ObjectReference `json:"failures,omitempty"`
	// Cursor is the last workload that was restarted.
	Cursor *ObjectReference `json:"cursor,omitempty"`
}

// IngressReplica copies an Ingress for other hosts.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axir
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Ingress",type=string,JSONPath=`.spec.ingressRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type IngressReplica struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec IngressReplicaSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No Ingress is copied: agents do not copy Ingresses yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// IngressReplicaSpec says what is copied, and what is different in the copy.
type IngressReplicaSpec struct {
	// IngressRef is the Ingress to copy.
	IngressRef ObjectReference `json:"ingressRef"`
	// IngressClassName of the copy; unset keeps that of the Ingress.
	IngressClassName *string `json:"ingressClassName,omitempty"`
	// TLS of the copy.
	TLS []IngressTLS `json:"tls,omitempty"`
	// HostMappings map each host of the Ingress to a host of the copy.
	HostMappings map[string]string `json:"hostMappings"`
}

// IngressTLS is a certificate for some hosts.
type IngressTLS struct {
	// Hosts of the certificate.
	Hosts []string `json:"hosts,omitempty"`
	// SecretName is the Secret that holds the certificate.
	SecretName string `json:"secretName,omitempty"`
}

// MetricsAggregate is the total capacity and usage of a cluster. The agent
// creates the object named global.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle-all,shortName=axma
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes`
// +kubebuilder:printcolumn:name="CPU",type=integer,JSONPath=`.status.cpuUsedPercentage`
// +kubebuilder:printcolumn:name="Memory",type=integer,JSONPath=`.status.memoryUsedPercentage`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MetricsAggregate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No total is computed: agents do not read metrics of nodes yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status MetricsAggregateStatus `json:"status,omitempty"`
}

// MetricsAggregateStatus holds totals over all nodes.
type MetricsAggregateStatus struct {
	Status `json:",inline"`
	// Nodes is the number of nodes.
	Nodes int64 `json:"nodes,omitempty"`
	// CPUTotalMillicores is the CPU of all nodes.
	CPUTotalMillicores int64 `json:"cpuTotalMillicores,omitempty"`
	// CPUAvailableMillicores is the CPU that is not in use.
	CPUAvailableMillicores int64 `json:"cpuAvailableMillicores,omitempty"`
	// CPUUsedPercentage is the used share of all CPU.
	CPUUsedPercentage int64 `json:"cpuUsedPercentage,omitempty"`
	// MemoryTotalBytes is the memory of all nodes.
	MemoryTotalBytes int64 `json:"memoryTotalBytes,omitempty"`
	// MemoryAvailableBytes is the memory that is not in use.
	MemoryAvailableBytes int64 `json:"memoryAvailableBytes,omitempty"`
	// MemoryUsedPercentage is the used share of all memory.
	MemoryUsedPercentage int64 `json:"memoryUsedPercentage,omitempty"`
}

// ImageWarmer pulls an image onto nodes on a schedule.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axiw
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ImageWarmer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ImageWarmerSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No image is pulled: agents do not warm images yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status ImageWarmerStatus `json:"status,omitempty"`
}

// ImageWarmerSpec says which image is pulled onto which nodes.
type ImageWarmerSpec struct {
	// Cron says when: a cron expression with five fields.
	// +kubebuilder:validation:MinLength=1
	Cron string `json:"cron"`
	// Image to pull.
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`
	// Template is a core/v1 PodTemplateSpec for the pods that pull the image.
	// +kubebuilder:pruning:PreserveUnknownFields
	Template *runtime.RawExtension `json:"template,omitempty"`
	// Selector of the nodes; unset means all.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// ImageWarmerStatus says when the image was last pulled.
type ImageWarmerStatus struct {
	Status `json:",inline"`
	// LastScheduleTime is the start of the last pull.
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`
	// LastSuccessfulTime is when all nodes last had the image.
	LastSuccessfulTime *metav1.Time `json:"lastSuccessfulTime,omitempty"`
}

// TunnelController runs the client of another product's tunnel. Axle's agent
// has its own.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axtc
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type TunnelController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TunnelControllerSpec `json:"spec,omitempty"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No client runs: the tunnel is part of the agent and needs no object.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// TunnelControllerSpec configures the client.
type TunnelControllerSpec struct {
	// Image of the client.
	Image string `json:"image,omitempty"`
}
