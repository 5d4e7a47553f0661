package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Flow groups the services, pipelines and repositories of one application.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axflow
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Flow struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec FlowSpec `json:"spec,omitempty"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "Nothing is grouped: the hub has no flows yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// FlowSpec describes the application.
type FlowSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Description in plain text.
	Description *string `json:"description,omitempty"`
	// Icon is the URL of an image.
	Icon *string `json:"icon,omitempty"`
	// ProjectRef is the Project of the flow; unset is default.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Bindings of the flow.
	Bindings *Bindings `json:"bindings,omitempty"`
	// Repositories of the application's code, https URLs.
	Repositories []string `json:"repositories,omitempty"`
	// ServerAssociations are MCPServers that it uses.
	ServerAssociations []FlowServer `json:"serverAssociations,omitempty"`
	// WorkbenchAssociations are Workbenches that it uses.
	WorkbenchAssociations []FlowWorkbench `json:"workbenchAssociations,omitempty"`
	// Metadata is any JSON object.
	// +kubebuilder:pruning:PreserveUnknownFields
	Metadata *runtime.RawExtension `json:"metadata,omitempty"`
	// AgentRuntime is the runtime that works on the flow.
	AgentRuntime *FlowRuntime `json:"agentRuntime,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// FlowServer is an MCPServer of a flow.
type FlowServer struct {
	// MCPServerRef is the MCPServer.
	MCPServerRef ObjectReference `json:"mcpServerRef"`
}

// FlowWorkbench is a Workbench of a flow.
type FlowWorkbench struct {
	// WorkbenchRef is the Workbench.
	WorkbenchRef ObjectReference `json:"workbenchRef"`
}

// FlowRuntime names an AgentRuntime.
type FlowRuntime struct {
	// Cluster is the handle of the runtime's cluster.
	Cluster string `json:"cluster"`
	// Runtime is the name of the runtime.
	Runtime string `json:"runtime"`
}

// PreviewEnvironmentTemplate creates a copy of a service for each pull request
// of a flow.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axpet
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Flow",type=string,JSONPath=`.spec.flowRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PreviewEnvironmentTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PreviewEnvironmentTemplateSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No service is copied: the hub has no previews of pull requests yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// PreviewEnvironmentTemplateSpec says which service is copied, and what is
// different in the copies.
type PreviewEnvironmentTemplateSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// FlowRef is the Flow of the pull requests.
	FlowRef ObjectReference `json:"flowRef"`
	// ReferenceServiceRef is the ServiceDeployment that is copied.
	ReferenceServiceRef ObjectReference `json:"referenceServiceRef"`
	// Template is what is different in the copies.
	Template ServiceTemplate `json:"template"`
	// CommentTemplate is the comment on the pull request, a Liquid template.
	CommentTemplate *string `json:"commentTemplate,omitempty"`
	// ScmConnectionRef is the ScmConnection that writes the comment.
	ScmConnectionRef *ObjectReference `json:"scmConnectionRef,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}
