package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AgentRuntime is the environment that coding agents run in on a cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle-all,shortName=axart
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AgentRuntime struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec AgentRuntimeSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No coding agent runs: agents do not run coding agents yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// AgentRuntimeSpec says which coding agent runs, and how its pods are created.
type AgentRuntimeSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Default uses this runtime for runs that name none.
	Default *bool `json:"default,omitempty"`
	// TargetNamespace is the namespace of its pods.
	TargetNamespace string `json:"targetNamespace"`
	// Type selects the field of config that is used.
	// +kubebuilder:validation:Enum=CLAUDE;OPENCODE;GEMINI;CODEX;PI;CUSTOM
	Type string `json:"type"`
	// Bindings say who may start runs: the users and groups in create.
	Bindings *Bindings `json:"bindings,omitempty"`
	// Template is a core/v1 PodTemplateSpec of its pods.
	// +kubebuilder:pruning:PreserveUnknownFields
	Template *runtime.RawExtension `json:"template,omitempty"`
	// Config of the coding agent.
	Config *AgentRuntimeConfig `json:"config,omitempty"`
	// AIProxy sends requests to models through the hub.
	AIProxy *bool `json:"aiProxy,omitempty"`
	// StreamingProxy converts streamed answers to a format that the coding agent
	// supports.
	StreamingProxy *bool `json:"streamingProxy,omitempty"`
	// DIND runs a Docker daemon beside each pod.
	DIND *bool `json:"dind,omitempty"`
	// Memory shares knowledge about code between runs.
	Memory *bool `json:"memory,omitempty"`
	// AllowedRepositories are the repositories that runs may use; none means all.
	AllowedRepositories []string `json:"allowedRepositories,omitempty"`
	// Browser that runs may use.
	Browser *AgentBrowser `json:"browser,omitempty"`
	// BootstrapScript runs in the repository before the coding agent starts.
	BootstrapScript *string `json:"bootstrapScript,omitempty"`
	// Git says how commits are signed.
	Git *AgentGit `json:"git,omitempty"`
	// BabysitInterval is the time between two checks of a pull request.
	BabysitInterval *string `json:"babysitInterval,omitempty"`
	// AgentTTL is the maximum lifetime of a pod.
	AgentTTL *string `json:"agentTTL,omitempty"`
	// ScmConnection is the name of the ScmConnection that runs use.
	ScmConnection *string `json:"scmConnection,omitempty"`
	// ExaConnection lets runs search the web with Exa.
	ExaConnection *AgentExa `json:"exaConnection,omitempty"`
	// RepositoryImage is an image with clones of repositories.
	RepositoryImage *string `json:"repositoryImage,omitempty"`
	// Prewarm pulls the image onto nodes before runs need it.
	Prewarm *AgentPrewarm `json:"prewarm,omitempty"`
	// ReadOnlyRootFilesystem makes the root filesystem of its pods read-only.
	ReadOnlyRootFilesystem *bool `json:"readOnlyRootFilesystem,omitempty"`
	// Mise installs tools before a run.
	Mise *AgentMise `json:"mise,omitempty"`
	// MCPServers are MCP servers that runs may use.
	// +listType=map
	// +listMapKey=name
	MCPServers []AgentMCPServer `json:"mcpServers,omitempty"`
	// WorkbenchMCP lets runs use the tools of workbenches.
	WorkbenchMCP *AgentWorkbenchMCP `json:"workbenchMcp,omitempty"`
}

// AgentPrewarm pulls an image onto nodes.
type AgentPrewarm struct {
	// Cron says when: a cron expression with five fields.
	Cron string `json:"cron,omitempty"`
	// Selector of the nodes; unset means all.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// AgentMise installs tools with mise.
type AgentMise struct {
	// Config is the text of mise's configuration.
	Config *string `json:"config,omitempty"`
}

// AgentMCPServer is an MCP server.
type AgentMCPServer struct {
	// Name that the coding agent sees.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// URL of the server.
	// +kubebuilder:validation:MinLength=1
	URL string `json:"url"`
	// AllowedTools of the server; none means all.
	AllowedTools []string `json:"allowedTools,omitempty"`
	// Headers of each request.
	// +listType=map
	// +listMapKey=name
	Headers []AgentMCPHeader `json:"headers,omitempty"`
}

// AgentMCPHeader is a request header.
type AgentMCPHeader struct {
	// Name of the header.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Value of the header.
	Value *string `json:"value,omitempty"`
	// ValueFrom is a core/v1 EnvVarSource for the value of the header.
	// +kubebuilder:pruning:PreserveUnknownFields
	ValueFrom *runtime.RawExtension `json:"valueFrom,omitempty"`
}

// AgentWorkbenchMCP lets runs use the tools of workbenches.
type AgentWorkbenchMCP struct {
	// Enabled turns it on.
	Enabled *bool `json:"enabled,omitempty"`
	// Categories of the tools.
	Categories []string `json:"categories,omitempty"`
}

// AgentRuntimeConfig configures one coding agent.
type AgentRuntimeConfig struct {
	// Claude configures Claude Code.
	Claude *AgentClaude `json:"claude,omitempty"`
	// Opencode configures OpenCode.
	Opencode *AgentOpencode `json:"opencode,omitempty"`
	// Gemini configures Gemini CLI.
	Gemini *AgentGemini `json:"gemini,omitempty"`
	// Codex configures Codex.
	Codex *AgentCodex `json:"codex,omitempty"`
	// PI configures Pi.
	PI *AgentPI `json:"pi,omitempty"`
}

// AgentModel is a model and how to call it.
type AgentModel struct {
	// APIKeySecretRef is a Secret's key that holds the API key.
	APIKeySecretRef *KeySelector `json:"apiKeySecretRef,omitempty"`
	// Model is the name of the model.
	Model *string `json:"model,omitempty"`
	// Endpoint of the API.
	Endpoint *string `json:"endpoint,omitempty"`
	// Timeout of a run.
	Timeout *string `json:"timeout,omitempty"`
}

// AgentClaude configures Claude Code.
type AgentClaude struct {
	AgentModel `json:",inline"`
	// ExtraArgs of its command.
	ExtraArgs []string `json:"extraArgs,omitempty"`
	// BashTimeout is the default timeout of a command that the coding agent runs.
	BashTimeout *string `json:"bashTimeout,omitempty"`
	// BashMaxTimeout is the longest timeout that it may request.
	BashMaxTimeout *string `json:"bashMaxTimeout,omitempty"`
}

// AgentOpencode configures OpenCode.
type AgentOpencode struct {
	// OpenaiCompatible is an API that is compatible with OpenAI.
	OpenaiCompatible *AgentCompatible `json:"openaiCompatible,omitempty"`
	// Provider is the ID of the provider of models.
	// +kubebuilder:validation:MaxLength=128
	Provider *string `json:"provider,omitempty"`
	// Endpoint of the API.
	Endpoint *string `json:"endpoint,omitempty"`
	// Model is the name of the model.
	Model *string `json:"model,omitempty"`
	// TokenSecretRef is a Secret's key that holds the token.
	TokenSecretRef *KeySelector `json:"tokenSecretRef,omitempty"`
	// ExtraArgs are kept for compatibility.
	ExtraArgs []string `json:"extraArgs,omitempty"`
	// Timeout of a run.
	Timeout *string `json:"timeout,omitempty"`
}

// AgentCompatible is an API that is compatible with OpenAI.
type AgentCompatible struct {
	// Endpoint of the API.
	// +kubebuilder:validation:MinLength=1
	Endpoint string `json:"endpoint"`
	// Model is the name of the model.
	Model *string `json:"model,omitempty"`
	// TokenSecretRef is a Secret's key that holds the token.
	TokenSecretRef *KeySelector `json:"tokenSecretRef,omitempty"`
}

// AgentGemini configures Gemini CLI.
type AgentGemini struct {
	AgentModel `json:",inline"`
	// InactivityTimeout ends a run without activity.
	InactivityTimeout *string `json:"inactivityTimeout,omitempty"`
}

// AgentCodex configures Codex.
type AgentCodex struct {
	AgentModel `json:",inline"`
	// Method of the API that is called.
	// +kubebuilder:validation:Enum=CHAT;RESPONSES;AUTO
	Method *string `json:"method,omitempty"`
}

// AgentPI configures Pi.
type AgentPI struct {
	AgentModel `json:",inline"`
	// Provider is the ID of the provider of models.
	Provider *string `json:"provider,omitempty"`
}

// AgentBrowser is a browser that runs may use.
type AgentBrowser struct {
	// Enabled turns it on.
	Enabled bool `json:"enabled"`
	// Browser is the browser to run.
	// +kubebuilder:validation:Enum=chrome;chromium;firefox;selenium-chrome;selenium-chromium;selenium-firefox;selenium-edge;puppeteer;custom
	// +kubebuilder:default=chrome
	Browser *string `json:"browser,omitempty"`
	// Container is a core/v1 Container that runs the browser.
	// +kubebuilder:pruning:PreserveUnknownFields
	Container *runtime.RawExtension `json:"container,omitempty"`
}

// AgentGit says how commits are signed and pushed.
type AgentGit struct {
	// Proxy is the HTTP proxy for connections to the Git server.
	Proxy *string `json:"proxy,omitempty"`
	// SigningKeyRef is a Secret's key that holds the signing key.
	SigningKeyRef *KeySelector `json:"signingKeyRef,omitempty"`
}

// AgentExa lets runs search the web with Exa.
type AgentExa struct {
	// URL of its API.
	URL *string `json:"url,omitempty"`
	// APIKeySecretRef is a Secret's key that holds the API key.
	APIKeySecretRef *KeySelector `json:"apiKeySecretRef,omitempty"`
	// ProxyURL is the HTTP proxy for connections to it.
	ProxyURL *string `json:"proxyUrl,omitempty"`
}

// AgentRun is one run of a coding agent. The agent creates it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axar
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Runtime",type=string,JSONPath=`.spec.runtimeRef.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AgentRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec AgentRunSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No coding agent runs: agents do not run coding agents yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status AgentRunStatus `json:"status,omitempty"`
}

// AgentRunSpec is the task.
type AgentRunSpec struct {
	// RuntimeRef is the AgentRuntime.
	RuntimeRef AgentRuntimeReference `json:"runtimeRef"`
	// Prompt is the task.
	Prompt string `json:"prompt"`
	// Repository that it works in.
	Repository string `json:"repository"`
	// Branch of the repository; unset is the default branch.
	Branch *string `json:"branch,omitempty"`
	// Mode of the run: ANALYZE or WRITE.
	Mode string `json:"mode"`
	// FlowID is the ID of the Flow that the run belongs to.
	FlowID *string `json:"flowId,omitempty"`
	// Language is deprecated.
	Language *string `json:"language,omitempty"`
	// LanguageVersion is deprecated.
	LanguageVersion *string `json:"languageVersion,omitempty"`
}

// AgentRuntimeReference names an AgentRuntime.
type AgentRuntimeReference struct {
	// Name of the AgentRuntime.
	Name string `json:"name"`
}

// AgentRunStatus is the state of the run.
type AgentRunStatus struct {
	Status `json:",inline"`
	// PodRef is its pod.
	PodRef *ObjectReference `json:"podRef,omitempty"`
	// Phase of the run.
	// +kubebuilder:validation:Enum=Pending;Running;Succeeded;Failed;Cancelled
	Phase string `json:"phase,omitempty"`
	// StartTime of the run.
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// EndTime of the run.
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// Error that ended it.
	Error *string `json:"error,omitempty"`
}
