package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Pipeline promotes services through stages, with gates between them.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axpipe
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Pipeline struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PipelineSpec `json:"spec,omitempty"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "Nothing is promoted: the hub has no pipelines yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// PipelineSpec holds the stages and the edges between them.
type PipelineSpec struct {
	// Stages of the pipeline.
	Stages []PipelineStage `json:"stages,omitempty"`
	// Edges between stages.
	Edges []PipelineEdge `json:"edges,omitempty"`
	// FlowRef names the Flow of the pipeline.
	FlowRef *ObjectReference `json:"flowRef,omitempty"`
	// ProjectRef is the Project of the pipeline; unset is default.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Bindings of the pipeline.
	Bindings *Bindings `json:"bindings,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// PipelineStage is one stage.
type PipelineStage struct {
	// Name of the stage.
	Name string `json:"name"`
	// Services of the stage.
	Services []PipelineStageService `json:"services,omitempty"`
}

// PipelineStageService is one service of a stage.
type PipelineStageService struct {
	// ServiceRef is the ServiceDeployment.
	ServiceRef *ObjectReference `json:"serviceRef,omitempty"`
	// Criteria say how it is promoted into the stage.
	Criteria *PipelinePromotion `json:"criteria,omitempty"`
}

// PipelinePromotion says how a service is promoted: from another service, or by
// a pull request.
type PipelinePromotion struct {
	// ServiceRef is the ServiceDeployment that it is promoted from.
	ServiceRef *ObjectReference `json:"serviceRef,omitempty"`
	// PrAutomationRef is the PrAutomation that creates the pull request.
	PrAutomationRef *ObjectReference `json:"prAutomationRef,omitempty"`
	// Repository of the pull request, OWNER/NAME.
	Repository *string `json:"repository,omitempty"`
	// AI lets a model create the pull request.
	AI *PipelinePromotionAI `json:"ai,omitempty"`
	// ConnectionRef is the ScmConnection that creates the pull request.
	ConnectionRef *ObjectReference `json:"connectionRef,omitempty"`
	// Secrets are keys that are copied with the promotion.
	Secrets []string `json:"secrets,omitempty"`
}

// PipelinePromotionAI lets a model create the pull request.
type PipelinePromotionAI struct {
	// Enabled turns it on.
	Enabled *bool `json:"enabled,omitempty"`
	// Prompt for the model, a Liquid template.
	Prompt string `json:"prompt"`
	// Title of the pull request, a Liquid template.
	Title *string `json:"title,omitempty"`
	// Message of the pull request, a Liquid template.
	Message *string `json:"message,omitempty"`
}

// PipelineEdge leads from one stage to another.
type PipelineEdge struct {
	// FromID is the ID of the stage that the edge starts at.
	FromID *string `json:"fromId,omitempty"`
	// ToID is the ID of the stage that the edge leads to.
	ToID *string `json:"toId,omitempty"`
	// From is the name of the stage that the edge starts at.
	From *string `json:"from,omitempty"`
	// To is the name of the stage that the edge leads to.
	To *string `json:"to,omitempty"`
	// Gates that must be open before a promotion.
	Gates []PipelineEdgeGate `json:"gates,omitempty"`
}

// PipelineEdgeGate is one gate of an edge.
type PipelineEdgeGate struct {
	// Name of the gate.
	Name string `json:"name"`
	// Type says what opens it.
	// +kubebuilder:validation:Enum=APPROVAL;WINDOW;JOB;SENTINEL
	Type string `json:"type"`
	// ClusterRef is the Cluster that runs the Job of a gate of type JOB.
	ClusterRef *ObjectReference `json:"clusterRef,omitempty"`
	// Cluster is its handle, instead of clusterRef.
	Cluster *string `json:"cluster,omitempty"`
	// SentinelRef is the Sentinel of a gate of type SENTINEL.
	SentinelRef *ObjectReference `json:"sentinelRef,omitempty"`
	// Spec of a gate of type JOB.
	Spec *PipelineGateJob `json:"spec,omitempty"`
}

// PipelineGateJob is the Job of a gate.
type PipelineGateJob struct {
	// Job that must succeed.
	Job *JobSpec `json:"job,omitempty"`
}

// PipelineContext passes values to a Pipeline, which starts it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axpipectx
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Pipeline",type=string,JSONPath=`.spec.pipelineRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PipelineContext struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PipelineContextSpec `json:"spec,omitempty"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No pipeline is started: the hub has no pipelines yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// PipelineContextSpec are the values.
type PipelineContextSpec struct {
	// PipelineRef is the Pipeline.
	PipelineRef *ObjectReference `json:"pipelineRef,omitempty"`
	// Context is any JSON object.
	// +kubebuilder:pruning:PreserveUnknownFields
	Context *runtime.RawExtension `json:"context,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// PipelineGate is a gate that an agent evaluates. The agent creates it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axgate
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PipelineGate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PipelineGateSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No gate opens: the hub has no pipelines yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status PipelineGateStatus `json:"status,omitempty"`
}

// PipelineGateSpec is the gate.
type PipelineGateSpec struct {
	// ID of the gate in the hub.
	ID string `json:"id"`
	// Name of the gate.
	Name string `json:"name"`
	// Type says what opens it.
	// +kubebuilder:validation:Enum=APPROVAL;WINDOW;JOB
	Type string `json:"type"`
	// GateSpec is the Job of a gate of type JOB.
	GateSpec *AgentGateSpec `json:"gateSpec,omitempty"`
}

// AgentGateSpec is the Job of a gate.
type AgentGateSpec struct {
	// Job is a batch/v1 JobSpec.
	// +kubebuilder:pruning:PreserveUnknownFields
	Job *runtime.RawExtension `json:"job,omitempty"`
}

// PipelineGateStatus is the state of the gate.
type PipelineGateStatus struct {
	Status `json:",inline"`
	// State of the gate.
	// +kubebuilder:validation:Enum=PENDING;OPEN;CLOSED;RUNNING
	State *string `json:"state,omitempty"`
	// JobRef is the Job that runs for it.
	JobRef *NamespacedName `json:"jobRef,omitempty"`
}
