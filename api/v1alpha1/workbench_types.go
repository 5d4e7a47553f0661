package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Workbench is a set of tools and permissions for AI models.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axwb
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Workbench struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec WorkbenchSpec `json:"spec,omitempty"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No model runs: the hub has no workbenches yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// WorkbenchSpec describes the workbench.
type WorkbenchSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Description in plain text.
	Description *string `json:"description,omitempty"`
	// SystemPrompt for the models.
	SystemPrompt *string `json:"systemPrompt,omitempty"`
	// ProjectRef is the Project of the workbench; unset is default.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// RepositoryRef names the GitRepository of the skills.
	RepositoryRef *ObjectReference `json:"repositoryRef,omitempty"`
	// AgentRuntime as CLUSTER/NAME.
	AgentRuntime *string `json:"agentRuntime,omitempty"`
	// Configuration says what models may do.
	Configuration *WorkbenchConfiguration `json:"configuration,omitempty"`
	// Skills are files with instructions.
	Skills *WorkbenchSkills `json:"skills,omitempty"`
	// Bindings of the workbench.
	Bindings *Bindings `json:"bindings,omitempty"`
	// ToolRefs are the WorkbenchTools.
	ToolRefs []ObjectReference `json:"toolRefs,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// WorkbenchConfiguration says what models may do.
type WorkbenchConfiguration struct {
	// Coding lets them write code.
	Coding *WorkbenchCoding `json:"coding,omitempty"`
	// Infrastructure lets them read what runs.
	Infrastructure *WorkbenchInfrastructure `json:"infrastructure,omitempty"`
	// Observability lets them read logs and metrics.
	Observability *WorkbenchObservability `json:"observability,omitempty"`
}

// WorkbenchCoding lets models write code.
type WorkbenchCoding struct {
	// Mode of their runs.
	// +kubebuilder:validation:Enum=ANALYZE;WRITE
	Mode *string `json:"mode,omitempty"`
	// Repositories that they may use.
	Repositories []string `json:"repositories,omitempty"`
}

// WorkbenchInfrastructure lets models read what runs.
type WorkbenchInfrastructure struct {
	// Services may be read.
	Services *bool `json:"services,omitempty"`
	// Stacks may be read.
	Stacks *bool `json:"stacks,omitempty"`
	// Kubernetes may be read.
	Kubernetes *bool `json:"kubernetes,omitempty"`
}

// WorkbenchObservability lets models read logs and metrics.
type WorkbenchObservability struct {
	// Logs may be read.
	Logs *bool `json:"logs,omitempty"`
	// Metrics may be read.
	Metrics *bool `json:"metrics,omitempty"`
}

// WorkbenchSkills are files with instructions.
type WorkbenchSkills struct {
	// Ref is the folder of the files.
	Ref *WorkbenchSkillsRef `json:"ref,omitempty"`
	// Files to use.
	Files []string `json:"files,omitempty"`
}

// WorkbenchSkillsRef is a folder of a repository at a ref.
type WorkbenchSkillsRef struct {
	// Ref is a branch, a tag or a full commit id.
	// +kubebuilder:validation:MinLength=1
	Ref string `json:"ref"`
	// Folder inside the repository.
	// +kubebuilder:validation:MinLength=1
	Folder string `json:"folder"`
	// Files to use.
	Files []string `json:"files,omitempty"`
}

// WorkbenchCron runs a prompt on a Workbench on a schedule.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axwbc
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Workbench",type=string,JSONPath=`.spec.workbenchRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type WorkbenchCron struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec WorkbenchCronSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No model runs: the hub has no workbenches yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// WorkbenchCronSpec is the prompt and its schedule.
type WorkbenchCronSpec struct {
	// WorkbenchRef is the Workbench.
	WorkbenchRef ObjectReference `json:"workbenchRef"`
	// Crontab is a cron expression with five fields.
	// +kubebuilder:validation:MinLength=1
	Crontab string `json:"crontab"`
	// Prompt to run.
	Prompt *string `json:"prompt,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// WorkbenchPrompt is a saved prompt of a Workbench.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axwbp
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Workbench",type=string,JSONPath=`.spec.workbenchRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type WorkbenchPrompt struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec WorkbenchPromptSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No model runs: the hub has no workbenches yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// WorkbenchPromptSpec is the prompt.
type WorkbenchPromptSpec struct {
	// WorkbenchRef is the Workbench.
	WorkbenchRef ObjectReference `json:"workbenchRef"`
	// Title of the prompt.
	Title *string `json:"title,omitempty"`
	// Category of the prompt.
	Category *string `json:"category,omitempty"`
	// Prompt is the text.
	// +kubebuilder:validation:MinLength=1
	Prompt string `json:"prompt"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// WorkbenchWebhook runs a prompt on a Workbench when a webhook arrives.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axwbw
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Workbench",type=string,JSONPath=`.spec.workbenchRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type WorkbenchWebhook struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec WorkbenchWebhookSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No model runs: the hub has no workbenches yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// WorkbenchWebhookSpec is the prompt, and the webhooks that it runs for.
type WorkbenchWebhookSpec struct {
	// WorkbenchRef is the Workbench.
	WorkbenchRef ObjectReference `json:"workbenchRef"`
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// WebhookName is the name of a webhook of monitors.
	WebhookName *string `json:"webhookName,omitempty"`
	// IssueWebhookName is the name of a webhook of issues.
	IssueWebhookName *string `json:"issueWebhookName,omitempty"`
	// Matches is a condition on deliveries.
	Matches *WorkbenchMatches `json:"matches,omitempty"`
	// Prompt to run.
	Prompt *string `json:"prompt,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// WorkbenchMatches is a condition on deliveries.
type WorkbenchMatches struct {
	// Regex that its body must match.
	Regex *string `json:"regex,omitempty"`
	// Substring that its body must contain.
	Substring *string `json:"substring,omitempty"`
	// CaseInsensitive ignores upper and lower case.
	CaseInsensitive *bool `json:"caseInsensitive,omitempty"`
}

// WorkbenchJobModes are options of a run on a Workbench.
type WorkbenchJobModes struct {
	// Plan makes the model plan first.
	Plan *bool `json:"plan,omitempty"`
	// Verification verifies the result.
	Verification *bool `json:"verification,omitempty"`
	// Model to use; unset is the hub's.
	Model *WorkbenchJobModel `json:"model,omitempty"`
	// Coding says how code is written.
	Coding *WorkbenchJobCoding `json:"coding,omitempty"`
	// Budget of the run.
	Budget *WorkbenchJobBudget `json:"budget,omitempty"`
	// Kubernetes says what may be done in clusters.
	Kubernetes *WorkbenchJobKubernetes `json:"kubernetes,omitempty"`
}

// WorkbenchJobModel is a model.
type WorkbenchJobModel struct {
	// Provider of the model.
	// +kubebuilder:validation:Enum=OPENAI;ANTHROPIC;OLLAMA;AZURE;BEDROCK;VERTEX;OPENAI_COMPATIBLE;XAI
	Provider string `json:"provider"`
	// Model is the name of the model.
	// +kubebuilder:validation:MinLength=1
	Model string `json:"model"`
}

// WorkbenchJobCoding says how code is written.
type WorkbenchJobCoding struct {
	// Babysit follows the pull request until it is merged.
	Babysit *bool `json:"babysit,omitempty"`
	// Approval requires a person to approve.
	Approval *bool `json:"approval,omitempty"`
	// Review reviews the pull request.
	Review *bool `json:"review,omitempty"`
}

// WorkbenchJobBudget limits a run.
type WorkbenchJobBudget struct {
	// Cost is the maximum cost, a decimal number.
	// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)?$`
	Cost *string `json:"cost,omitempty"`
	// Tokens is the maximum number of tokens.
	// +kubebuilder:validation:Minimum=0
	Tokens *int64 `json:"tokens,omitempty"`
}

// WorkbenchJobKubernetes says what models may do in clusters.
type WorkbenchJobKubernetes struct {
	// Update allows updates of objects.
	Update *bool `json:"update,omitempty"`
	// Delete allows deletion of objects.
	Delete *bool `json:"delete,omitempty"`
	// Exec allows commands in pods.
	Exec *bool `json:"exec,omitempty"`
	// Drain allows draining nodes.
	Drain *bool `json:"drain,omitempty"`
	// ExcludeNamespaces are namespaces without access.
	ExcludeNamespaces []string `json:"excludeNamespaces,omitempty"`
	// RequireNamespaces limit access to these namespaces.
	RequireNamespaces []string `json:"requireNamespaces,omitempty"`
}
