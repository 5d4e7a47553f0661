package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MCPServer is an MCP server that models may use.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axmcp
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MCPServer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec MCPServerSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No tool is called: the hub has no workbenches yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// MCPServerSpec says where the server is, and who may use it.
type MCPServerSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// URL of the server.
	URL string `json:"url"`
	// Protocol of the server.
	// +kubebuilder:validation:Enum=SSE;STREAMABLE_HTTP
	// +kubebuilder:default=STREAMABLE_HTTP
	Protocol *string `json:"protocol,omitempty"`
	// ProjectRef is the Project of the server; unset is default.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Bindings of the server.
	Bindings *Bindings `json:"bindings,omitempty"`
	// Authentication of calls.
	Authentication *MCPAuthentication `json:"authentication,omitempty"`
	// Confirm asks a person before each call.
	Confirm *bool `json:"confirm,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// MCPAuthentication says how calls authenticate.
type MCPAuthentication struct {
	// Plural sends a token of the hub.
	Plural *bool `json:"plural,omitempty"`
	// Headers of each call.
	Headers map[string]string `json:"headers,omitempty"`
}

// AgentRuntimePolicy says who may start runs of an AgentRuntime.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle-all,shortName=axarp
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Runtime",type=string,JSONPath=`.spec.runtime`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AgentRuntimePolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec AgentRuntimePolicySpec `json:"spec,omitempty"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No access changes: agents run no coding agents yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// AgentRuntimePolicySpec names the runtime and who may use it.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.cluster) && size(self.cluster) > 0 && has(self.clusterRef) && has(self.clusterRef.name) && size(self.clusterRef.name) > 0)",message="name the cluster by cluster or by clusterRef, not by both"
type AgentRuntimePolicySpec struct {
	// Runtime is the name of the AgentRuntime; unset is metadata.name.
	Runtime *string `json:"runtime,omitempty"`
	// Bindings say who may start runs: the users and groups in create.
	Bindings *Bindings `json:"bindings,omitempty"`
	// ClusterRef is the Cluster of the runtime.
	ClusterRef *ObjectReference `json:"clusterRef,omitempty"`
	// Cluster is its handle, instead of clusterRef.
	Cluster *string `json:"cluster,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// Policy is a Rego policy that BindingPolicies enforce.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle-all,shortName=axpol
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PolicySpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "Nothing is evaluated: the hub has no policies yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// PolicySpec is the policy, and what it evaluates.
type PolicySpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Description in plain text.
	Description *string `json:"description,omitempty"`
	// Type of the objects that it evaluates.
	// +kubebuilder:validation:Enum=WORKBENCH;STACK;BINDING
	Type *string `json:"type,omitempty"`
	// Policy is the Rego source.
	Policy *string `json:"policy,omitempty"`
	// ProjectRef is the Project of the policy; unset means all.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// BindingPolicy enforces a Policy on all objects that another Policy selects.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle-all,shortName=axbp
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BindingPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BindingPolicySpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "Nothing is evaluated: the hub has no policies yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// BindingPolicySpec names the two policies.
type BindingPolicySpec struct {
	// Type of the selected objects: WORKBENCH or STACK.
	Type string `json:"type"`
	// Interval between two evaluations, a Go duration of at least 30m; unset is
	// 1h.
	Interval *string `json:"interval,omitempty"`
	// PolicyRef is the Policy to enforce.
	PolicyRef ObjectReference `json:"policyRef"`
	// BindPolicyRef is the Policy that selects objects.
	BindPolicyRef ObjectReference `json:"bindPolicyRef"`
	// Matches limits the selection.
	Matches *BindingPolicyMatches `json:"matches,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// BindingPolicyMatches limits the selection.
type BindingPolicyMatches struct {
	// Workbench limits the selection of Workbenches.
	Workbench *BindingPolicyRegexes `json:"workbench,omitempty"`
}

// BindingPolicyRegexes limits inputs.
type BindingPolicyRegexes struct {
	// Regexes that an input must match.
	Regexes []string `json:"regexes,omitempty"`
}
