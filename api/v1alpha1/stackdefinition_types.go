package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StackDefinition defines a type of stack by commands.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axsdef
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type StackDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec StackDefinitionSpec `json:"spec,omitempty"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "Nothing runs: the hub has no stacks yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// StackDefinitionSpec holds the commands.
type StackDefinitionSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Description in plain text.
	Description *string `json:"description,omitempty"`
	// Steps of a run.
	Steps []StackStep `json:"steps,omitempty"`
	// DeleteSteps are the steps of the run that deletes the stack.
	DeleteSteps []StackStep `json:"deleteSteps,omitempty"`
	// Configuration of the tool.
	Configuration *StackConfiguration `json:"configuration,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// StackStep is one command of a run.
type StackStep struct {
	// Cmd is the command.
	Cmd string `json:"cmd"`
	// Args of the command.
	Args []string `json:"args"`
	// Stage of the command.
	// +kubebuilder:validation:Enum=PLAN;VERIFY;APPLY;INIT;DESTROY
	Stage string `json:"stage"`
	// RequireApproval requires a person to approve it first.
	RequireApproval *bool `json:"requireApproval,omitempty"`
}

// CustomStackRun defines commands that users can run in a stack.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axcsr
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Stack",type=string,JSONPath=`.spec.stackRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CustomStackRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec CustomStackRunSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "Nothing runs: the hub has no stacks yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// CustomStackRunSpec holds the commands and the form.
type CustomStackRunSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// StackRef is the InfrastructureStack.
	StackRef *LocalReference `json:"stackRef,omitempty"`
	// Documentation in Markdown.
	Documentation *string `json:"documentation,omitempty"`
	// Commands to run.
	Commands []StackCommand `json:"commands,omitempty"`
	// Configuration is the form to fill in before the run.
	Configuration []FormField `json:"configuration,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// StackCommand is one command.
type StackCommand struct {
	// Cmd is the command.
	Cmd string `json:"cmd"`
	// Args of the command.
	Args []string `json:"args,omitempty"`
	// Dir is the working directory.
	Dir *string `json:"dir,omitempty"`
	// Approve requires a person to approve it first.
	Approve *bool `json:"approve,omitempty"`
}

// StackRunJob runs one run of a stack. The agent creates it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axsrj
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="JobStatus",type=string,JSONPath=`.status.jobStatus`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type StackRunJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RunJobSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "Nothing runs: the hub has no stacks yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status RunJobStatus `json:"status,omitempty"`
}

// RunJobSpec names the run.
type RunJobSpec struct {
	// RunID is the ID of the run in the hub.
	RunID string `json:"runId"`
}

// RunJobStatus is the state of the run's Job.
type RunJobStatus struct {
	Status `json:",inline"`
	// JobRef is the Job.
	JobRef *LocalReference `json:"jobRef,omitempty"`
	// JobStatus is the state of the Job.
	JobStatus string `json:"jobStatus,omitempty"`
}

// FormField is one field of a form.
type FormField struct {
	// Name of the value.
	Name string `json:"name"`
	// Type of the field.
	// +kubebuilder:validation:Enum=STRING;INT;BOOL;JSON;PASSWORD;ENUM;CLUSTER;PROJECT;GROUP;USER;FLOW
	Type string `json:"type"`
	// Condition on another field: the field is shown only if it is true.
	Condition *FormCondition `json:"condition,omitempty"`
	// Default of the value.
	Default *string `json:"default,omitempty"`
	// Documentation in Markdown.
	Documentation *string `json:"documentation,omitempty"`
	// Longform is additional documentation.
	Longform *string `json:"longform,omitempty"`
	// DisplayName of the field; unset is name.
	DisplayName *string `json:"displayName,omitempty"`
	// Optional allows an empty value.
	Optional *bool `json:"optional,omitempty"`
	// Page of the form that shows the field.
	Page *int64 `json:"page,omitempty"`
	// Placeholder of the empty field.
	Placeholder *string `json:"placeholder,omitempty"`
	// Validation of the value.
	Validation *FormValidation `json:"validation,omitempty"`
	// Values of an ENUM.
	Values []string `json:"values,omitempty"`
}

// FormCondition is a condition on another field.
type FormCondition struct {
	// Field to compare.
	Field string `json:"field"`
	// Operation of the comparison.
	// +kubebuilder:validation:Enum=NOT;GT;LT;EQ;GTE;LTE;PREFIX;SUFFIX
	Operation string `json:"operation"`
	// Value to compare with.
	Value *string `json:"value,omitempty"`
}

// FormValidation says which values are valid.
type FormValidation struct {
	// Regex that it must match.
	Regex *string `json:"regex,omitempty"`
	// JSON requires valid JSON.
	JSON *bool `json:"json,omitempty"`
	// UniqBy requires a unique value.
	UniqBy *FormUniqBy `json:"uniqBy,omitempty"`
}

// FormUniqBy requires a unique value.
type FormUniqBy struct {
	// Scope in which the value must be unique.
	// +kubebuilder:validation:Enum=PROJECT;CLUSTER
	Scope string `json:"scope"`
}
