package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Observer watches for new versions outside the fleet and starts actions for
// them.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axobs
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.target.type`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Observer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ObserverSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "Nothing is watched: the hub has no observers yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// ObserverSpec says what to watch, when, and what to do.
type ObserverSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Crontab says when it checks: a cron expression with five fields.
	Crontab string `json:"crontab"`
	// Initial is the first known version.
	Initial *string `json:"initial,omitempty"`
	// Target to watch.
	Target ObserverTarget `json:"target"`
	// Actions to start for a new version.
	Actions []ObserverAction `json:"actions,omitempty"`
	// ProjectRef is the Project of the observer; unset is default.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// ObserverTarget is the source of new versions; only the field of its type is
// used.
type ObserverTarget struct {
	// Type of the target.
	// +kubebuilder:validation:Enum=OCI;HELM;GIT;ADDON;EKS_ADDON
	Type string `json:"type"`
	// Format is a regular expression with a group that captures the version.
	Format *string `json:"format,omitempty"`
	// Order in which versions are compared.
	// +kubebuilder:validation:Enum=SEMVER;LATEST;RENOVATE
	Order string `json:"order"`
	// Renovate are options of the order RENOVATE.
	Renovate *ObserverRenovate `json:"renovate,omitempty"`
	// Helm is a chart of a chart repository.
	Helm *ObserverHelm `json:"helm,omitempty"`
	// OCI is a repository of an OCI registry.
	OCI *ObserverOCI `json:"oci,omitempty"`
	// Git is a Git repository.
	Git *ObserverGit `json:"git,omitempty"`
	// Addon is an add-on of the compatibility tables.
	Addon *ObserverAddon `json:"addon,omitempty"`
	// EKSAddon is an EKS add-on.
	EKSAddon *ObserverAddon `json:"eksAddon,omitempty"`
}

// ObserverRenovate are options of the order RENOVATE.
type ObserverRenovate struct {
	// IgnoreUnstable ignores pre-releases.
	IgnoreUnstable *bool `json:"ignoreUnstable,omitempty"`
}

// ObserverHelm is a chart of a chart repository.
type ObserverHelm struct {
	// URL of the chart repository.
	URL string `json:"url"`
	// Chart is the name of the chart.
	Chart string `json:"chart"`
	// Provider selects the field of auth that is used.
	// +kubebuilder:validation:Enum=BASIC;BEARER;GCP;AZURE;AWS
	Provider *string `json:"provider,omitempty"`
	// Auth says how to log in.
	Auth *HelmRepositoryAuth `json:"auth,omitempty"`
}

// ObserverOCI is a repository of an OCI registry.
type ObserverOCI struct {
	// URL of the repository.
	URL string `json:"url"`
	// Provider selects the field of auth that is used.
	// +kubebuilder:validation:Enum=BASIC;BEARER;GCP;AZURE;AWS
	Provider *string `json:"provider,omitempty"`
	// Auth says how to log in.
	Auth *HelmRepositoryAuth `json:"auth,omitempty"`
}

// ObserverGit is a Git repository.
type ObserverGit struct {
	// GitRepositoryRef is the GitRepository.
	GitRepositoryRef ObjectReference `json:"gitRepositoryRef"`
	// Type says what is watched in the repository.
	// +kubebuilder:validation:Enum=TAGS
	Type string `json:"type"`
	// Filter of the tags.
	Filter *ObserverGitFilter `json:"filter,omitempty"`
}

// ObserverGitFilter selects tags.
type ObserverGitFilter struct {
	// Regex that a tag must match.
	Regex *string `json:"regex,omitempty"`
}

// ObserverAddon is an add-on.
type ObserverAddon struct {
	// Name of the add-on.
	Name string `json:"name"`
	// KubernetesVersion that the add-on must support.
	KubernetesVersion *string `json:"kubernetesVersion,omitempty"`
	// KubernetesVersions that the add-on must all support.
	KubernetesVersions []string `json:"kubernetesVersions,omitempty"`
}

// ObserverAction is an action for a new version.
type ObserverAction struct {
	// Type of the action.
	// +kubebuilder:validation:Enum=PIPELINE;PR;AGENT
	Type string `json:"type"`
	// Configuration of the action; only the field of its type is used.
	Configuration ObserverConfiguration `json:"configuration"`
}

// ObserverConfiguration is the configuration of an action.
type ObserverConfiguration struct {
	// PR creates a pull request.
	PR *ObserverPR `json:"pr,omitempty"`
	// Pipeline starts a Pipeline with a context.
	Pipeline *ObserverPipeline `json:"pipeline,omitempty"`
	// Agent starts a coding agent.
	Agent *ObserverAgent `json:"agent,omitempty"`
}

// ObserverPR is a pull request. In its texts, $value is replaced by the
// version.
type ObserverPR struct {
	// PrAutomationRef is the PrAutomation that creates it.
	PrAutomationRef *ObjectReference `json:"prAutomationRef,omitempty"`
	// AI lets a model help.
	AI *PromptConfiguration `json:"ai,omitempty"`
	// Repository of the pull request; unset is the automation's.
	Repository *string `json:"repository,omitempty"`
	// BranchTemplate is a template for the name of the branch.
	BranchTemplate *string `json:"branchTemplate,omitempty"`
	// Context is any JSON object, passed to the automation.
	// +kubebuilder:pruning:PreserveUnknownFields
	Context *runtime.RawExtension `json:"context,omitempty"`
	// Actor is the e-mail of the user that the pull request is created for.
	Actor *string `json:"actor,omitempty"`
}

// PromptConfiguration lets a model help.
type PromptConfiguration struct {
	// Enabled turns it on.
	Enabled *bool `json:"enabled,omitempty"`
	// Prompt for the model.
	Prompt string `json:"prompt"`
}

// ObserverPipeline starts a Pipeline with a context.
type ObserverPipeline struct {
	// PipelineRef is the Pipeline.
	PipelineRef ObjectReference `json:"pipelineRef"`
	// Context is any JSON object. In its texts, $value is replaced by the version.
	// +kubebuilder:pruning:PreserveUnknownFields
	Context *runtime.RawExtension `json:"context,omitempty"`
}

// ObserverAgent starts a coding agent.
type ObserverAgent struct {
	// Runtime is the name of the AgentRuntime.
	Runtime string `json:"runtime"`
	// Prompt for the model.
	Prompt string `json:"prompt"`
	// Repository that the coding agent works in.
	Repository string `json:"repository"`
	// Cluster is the handle of the runtime's cluster.
	Cluster *string `json:"cluster,omitempty"`
}
