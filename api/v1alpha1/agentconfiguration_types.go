package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AgentConfiguration changes settings of the agent of its cluster, without a
// restart. The agent reads the object named default. A flag of the agent
// overrides it, and it overrides the hub's settings.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle;axle-all,shortName=axac
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Poll",type=string,JSONPath=`.spec.servicePollInterval`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type AgentConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AgentConfigurationSpec `json:"spec,omitempty"`
	Status Status                 `json:"status,omitempty"`
}

// AgentConfigurationSpec holds the settings. Durations are written like "90s"
// or "2m".
type AgentConfigurationSpec struct {
	// ServicePollInterval is the time between two polls of the hub, at least
	// 10s.
	ServicePollInterval *string `json:"servicePollInterval,omitempty"`
	// ManagedNamespacePollInterval is kept and does not act yet.
	ManagedNamespacePollInterval *string `json:"managedNamespacePollInterval,omitempty"`
	// ClusterPingInterval is how often the agent reports its cluster to the hub
	// when nothing changed, at least 10s.
	ClusterPingInterval *string `json:"clusterPingInterval,omitempty"`
	// CompatibilityUploadInterval is kept and does not act yet.
	CompatibilityUploadInterval *string `json:"compatibilityUploadInterval,omitempty"`
	// StackPollInterval is kept and does not act yet.
	StackPollInterval *string `json:"stackPollInterval,omitempty"`
	// SentinelPollInterval is kept and does not act yet.
	SentinelPollInterval *string `json:"sentinelPollInterval,omitempty"`
	// PipelineGateInterval is kept and does not act yet.
	PipelineGateInterval *string `json:"pipelineGateInterval,omitempty"`
	// VulnerabilityReportUploadInterval is kept and does not act yet; "0s" is
	// off.
	VulnerabilityReportUploadInterval *string `json:"vulnerabilityReportUploadInterval,omitempty"`
	// ComponentShaCacheTTL is kept and does not act: the agent remembers what it
	// applied for as long as it exists.
	ComponentShaCacheTTL *string `json:"componentShaCacheTTL,omitempty"`
	// MaxConcurrentReconciles is how many services are processed concurrently.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxConcurrentReconciles *int `json:"maxConcurrentReconciles,omitempty"`
	// BaseRegistryURL is kept and does not act yet.
	BaseRegistryURL *string `json:"baseRegistryURL,omitempty"`
	// MaxSentinelRunJobs is kept and does not act yet.
	// +kubebuilder:validation:Minimum=1
	MaxSentinelRunJobs *int `json:"maxSentinelRunJobs,omitempty"`
	// MaxStackRunJobs is kept and does not act yet.
	// +kubebuilder:validation:Minimum=1
	MaxStackRunJobs *int `json:"maxStackRunJobs,omitempty"`
	// MaxAgentRunPods is kept and does not act yet.
	// +kubebuilder:validation:Minimum=1
	MaxAgentRunPods *int `json:"maxAgentRunPods,omitempty"`
	// DisableWebsocket is kept and does not act yet.
	DisableWebsocket *bool `json:"disableWebsocket,omitempty"`
	// PollImmediately is kept and does not act: a newly registered agent polls at
	// once, and others spread their first polls.
	PollImmediately *bool `json:"pollImmediately,omitempty"`
}
