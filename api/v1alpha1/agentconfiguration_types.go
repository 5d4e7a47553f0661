package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AgentConfiguration changes how the agent of its cluster works, without a
// restart. The agent reads the one named default. A flag of the agent wins over
// it, and it wins over what the hub says.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Poll",type=string,JSONPath=`.spec.servicePollInterval`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type AgentConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec AgentConfigurationSpec `json:"spec,omitempty"`
	// +optional
	Status Status `json:"status,omitempty"`
}

// AgentConfigurationSpec is what may be changed. Durations are written as in
// "90s" or "2m".
type AgentConfigurationSpec struct {
	// ServicePollInterval is the time between two polls of the hub, at least
	// 10s.
	// +optional
	ServicePollInterval *string `json:"servicePollInterval,omitempty"`
	// ManagedNamespacePollInterval is kept and does not act yet.
	// +optional
	ManagedNamespacePollInterval *string `json:"managedNamespacePollInterval,omitempty"`
	// ClusterPingInterval is how often the hub is told of the cluster although
	// nothing changed, at least 10s.
	// +optional
	ClusterPingInterval *string `json:"clusterPingInterval,omitempty"`
	// CompatibilityUploadInterval is kept and does not act yet.
	// +optional
	CompatibilityUploadInterval *string `json:"compatibilityUploadInterval,omitempty"`
	// StackPollInterval is kept and does not act yet.
	// +optional
	StackPollInterval *string `json:"stackPollInterval,omitempty"`
	// SentinelPollInterval is kept and does not act yet.
	// +optional
	SentinelPollInterval *string `json:"sentinelPollInterval,omitempty"`
	// PipelineGateInterval is kept and does not act yet.
	// +optional
	PipelineGateInterval *string `json:"pipelineGateInterval,omitempty"`
	// VulnerabilityReportUploadInterval is kept and does not act yet; "0s" is
	// off.
	// +optional
	VulnerabilityReportUploadInterval *string `json:"vulnerabilityReportUploadInterval,omitempty"`
	// ComponentShaCacheTTL is kept and does not act: what was applied is
	// remembered as long as it is there.
	// +optional
	ComponentShaCacheTTL *string `json:"componentShaCacheTTL,omitempty"`
	// MaxConcurrentReconciles is how many services are brought through a pass
	// at once.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxConcurrentReconciles *int `json:"maxConcurrentReconciles,omitempty"`
	// BaseRegistryURL is kept and does not act yet.
	// +optional
	BaseRegistryURL *string `json:"baseRegistryURL,omitempty"`
	// MaxSentinelRunJobs is kept and does not act yet.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxSentinelRunJobs *int `json:"maxSentinelRunJobs,omitempty"`
	// MaxStackRunJobs is kept and does not act yet.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxStackRunJobs *int `json:"maxStackRunJobs,omitempty"`
	// MaxAgentRunPods is kept and does not act yet.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxAgentRunPods *int `json:"maxAgentRunPods,omitempty"`
	// DisableWebsocket is kept and does not act yet.
	// +optional
	DisableWebsocket *bool `json:"disableWebsocket,omitempty"`
	// PollImmediately is kept and does not act: an agent that was just
	// registered polls at once, and others spread their first polls.
	// +optional
	PollImmediately *bool `json:"pollImmediately,omitempty"`
}

// AgentConfigurationList is a list of AgentConfiguration.
//
// +kubebuilder:object:root=true
type AgentConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AgentConfiguration `json:"items"`
}
