package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// InfrastructureStack runs infrastructure as code on a cluster, as Jobs.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axstack
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.cluster`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type InfrastructureStack struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec InfrastructureStackSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "Nothing runs: the hub has no stacks yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// InfrastructureStackSpec says what runs, where and when.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.cluster) && size(self.cluster) > 0 && has(self.clusterRef) && has(self.clusterRef.name) && size(self.clusterRef.name) > 0)",message="name the cluster by cluster or by clusterRef, not by both"
// +kubebuilder:validation:XValidation:rule="!has(self.repositoryRef) || !has(self.repositoryRef.name) || !has(self.git) || !has(self.git.url)",message="name the repository by repositoryRef or by git.url, not by both"
type InfrastructureStackSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Type is the tool that runs.
	// +kubebuilder:validation:Enum=TERRAFORM;TERRAGRUNT;PULUMI;ANSIBLE;CUSTOM
	Type string `json:"type"`
	// ClusterRef is the Cluster that it runs on.
	ClusterRef *ObjectReference `json:"clusterRef,omitempty"`
	// Cluster is its handle, instead of clusterRef.
	Cluster *string `json:"cluster,omitempty"`
	// RepositoryRef names the GitRepository of git.
	RepositoryRef *ObjectReference `json:"repositoryRef,omitempty"`
	// Git is the folder that it runs in.
	Git *Git `json:"git,omitempty"`
	// Workdir is the folder inside git in which commands run.
	Workdir *string `json:"workdir,omitempty"`
	// Interval between two checks for a change, a Go duration.
	// +kubebuilder:default="5m"
	Interval *string `json:"interval,omitempty"`
	// Approval requires a person to approve before anything is changed.
	Approval *bool `json:"approval,omitempty"`
	// ManageState stores Terraform's state in the hub.
	ManageState *bool `json:"manageState,omitempty"`
	// Detach destroys nothing when this object is deleted.
	Detach *bool `json:"detach,omitempty"`
	// Actor is the e-mail of the user or service account that runs act as.
	Actor *string `json:"actor,omitempty"`
	// ProjectRef is the Project of the stack; unset is default.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Bindings of the stack.
	Bindings *Bindings `json:"bindings,omitempty"`
	// Tags of the stack.
	Tags map[string]string `json:"tags,omitempty"`
	// AgentID is kept for compatibility.
	AgentID *string `json:"agentId,omitempty"`
	// Configuration of the tool.
	Configuration *StackConfiguration `json:"configuration,omitempty"`
	// Cron starts runs on a schedule.
	Cron *StackCron `json:"cron,omitempty"`
	// Environment are environment variables of the run.
	Environment []StackEnvironment `json:"environment,omitempty"`
	// Files are Secrets that are mounted into the run.
	Files []StackFile `json:"files,omitempty"`
	// Variables is any JSON object, passed to the tool as its variables.
	// +kubebuilder:pruning:PreserveUnknownFields
	Variables *runtime.RawExtension `json:"variables,omitempty"`
	// JobSpec changes the Job of a run.
	JobSpec *JobSpec `json:"jobSpec,omitempty"`
	// StackDefinitionRef is the StackDefinition of a stack of type CUSTOM.
	StackDefinitionRef *ObjectReference `json:"stackDefinitionRef,omitempty"`
	// ScmConnectionRef is the ScmConnection that comments on pull requests.
	ScmConnectionRef *ObjectReference `json:"scmConnectionRef,omitempty"`
	// ObservableMetrics are monitors that can cancel a run.
	ObservableMetrics []StackMetric `json:"observableMetrics,omitempty"`
	// PolicyEngine evaluates plans.
	PolicyEngine *StackPolicyEngine `json:"policyEngine,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// StackConfiguration configures the tool of a stack.
type StackConfiguration struct {
	// Image of the run; unset is the tool's default image.
	Image *string `json:"image,omitempty"`
	// Version of the tool.
	Version *string `json:"version,omitempty"`
	// Tag of the image.
	Tag *string `json:"tag,omitempty"`
	// Hooks are commands after a stage.
	Hooks []StackHook `json:"hooks,omitempty"`
	// Terraform are settings of Terraform or OpenTofu.
	Terraform *StackTerraform `json:"terraform,omitempty"`
	// Terragrunt are settings of Terragrunt.
	Terragrunt *StackTerragrunt `json:"terragrunt,omitempty"`
	// Pulumi are settings of Pulumi.
	Pulumi *StackPulumi `json:"pulumi,omitempty"`
	// Ansible are settings of Ansible.
	Ansible *StackAnsible `json:"ansible,omitempty"`
	// AIApproval lets a model approve a run by rules.
	AIApproval *StackAIApproval `json:"aiApproval,omitempty"`
}

// StackHook is a command after a stage.
type StackHook struct {
	// Cmd is the command.
	Cmd string `json:"cmd"`
	// Args of the command.
	Args []string `json:"args,omitempty"`
	// AfterStage is the stage after which it runs.
	// +kubebuilder:validation:Enum=INIT;PLAN;VERIFY;APPLY;DESTROY
	AfterStage string `json:"afterStage"`
}

// StackTerragrunt are settings of Terragrunt, and of Terraform.
type StackTerragrunt struct {
	// Parallelism is the number of concurrent operations.
	Parallelism *int64 `json:"parallelism,omitempty"`
	// Refresh reads the actual state before a plan.
	Refresh *bool `json:"refresh,omitempty"`
	// ApproveEmpty approves plans without a change.
	ApproveEmpty *bool `json:"approveEmpty,omitempty"`
}

// StackTerraform are settings of Terraform or OpenTofu.
type StackTerraform struct {
	StackTerragrunt `json:",inline"`
	// Tofu runs OpenTofu.
	Tofu *bool `json:"tofu,omitempty"`
	// TofuRegistry downloads providers from OpenTofu's registry.
	TofuRegistry *bool `json:"tofuRegistry,omitempty"`
}

// StackPulumi are settings of Pulumi.
type StackPulumi struct {
	// Parallel is the number of concurrent operations.
	Parallel *int64 `json:"parallel,omitempty"`
	// Refresh reads the actual state before a plan.
	Refresh *bool `json:"refresh,omitempty"`
	// ApproveEmpty approves plans without a change.
	ApproveEmpty *bool `json:"approveEmpty,omitempty"`
	// Stack is the name of the Pulumi stack.
	Stack *string `json:"stack,omitempty"`
	// BackendURL is the URL of the state's backend.
	BackendURL *string `json:"backendUrl,omitempty"`
}

// StackAnsible are settings of Ansible.
type StackAnsible struct {
	// Playbook to run.
	Playbook *string `json:"playbook,omitempty"`
	// Inventory to use.
	Inventory *string `json:"inventory,omitempty"`
	// AdditionalArgs of the command.
	AdditionalArgs []string `json:"additionalArgs,omitempty"`
	// PrivateKeyFile is the SSH key.
	PrivateKeyFile *string `json:"privateKeyFile,omitempty"`
	// ConfigFile is Ansible's configuration file.
	ConfigFile *string `json:"configFile,omitempty"`
	// SupportsCheck means that the playbook supports check mode.
	SupportsCheck *bool `json:"supportsCheck,omitempty"`
	// DeletePlaybook runs when the stack is deleted.
	DeletePlaybook *string `json:"deletePlaybook,omitempty"`
}

// StackAIApproval lets a model approve a run by rules.
type StackAIApproval struct {
	// Enabled turns it on.
	Enabled bool `json:"enabled"`
	// Git is the folder with the rules.
	Git Git `json:"git"`
	// File with the rules.
	File string `json:"file"`
	// IgnoreCancel continues where the model would cancel.
	IgnoreCancel *bool `json:"ignoreCancel,omitempty"`
}

// StackCron starts runs on a schedule.
type StackCron struct {
	// Crontab is a cron expression with five fields.
	Crontab string `json:"crontab,omitempty"`
	// AutoApprove approves these runs without asking.
	AutoApprove *bool `json:"autoApprove,omitempty"`
	// Overrides of the configuration in these runs.
	Overrides *StackOverrides `json:"overrides,omitempty"`
	// TrackRef uses the newest commit of the ref instead of the last run's.
	TrackRef *bool `json:"trackRef,omitempty"`
}

// StackOverrides are settings of scheduled runs.
type StackOverrides struct {
	// Terraform are settings of Terraform or OpenTofu.
	Terraform *StackTerraform `json:"terraform,omitempty"`
	// Terragrunt are settings of Terragrunt.
	Terragrunt *StackTerragrunt `json:"terragrunt,omitempty"`
	// Pulumi are settings of Pulumi.
	Pulumi *StackPulumi `json:"pulumi,omitempty"`
}

// StackEnvironment is an environment variable of a run.
type StackEnvironment struct {
	// Name of the variable.
	Name string `json:"name"`
	// Value of the variable.
	Value *string `json:"value,omitempty"`
	// SecretKeyRef is a key of a Secret that holds the value.
	SecretKeyRef *KeySelector `json:"secretKeyRef,omitempty"`
	// ConfigMapRef is a key of a ConfigMap that holds the value.
	ConfigMapRef *KeySelector `json:"configMapRef,omitempty"`
}

// StackFile is a Secret that is mounted into a run.
type StackFile struct {
	// MountPath of the Secret.
	MountPath string `json:"mountPath,omitempty"`
	// SecretRef is the Secret.
	SecretRef LocalReference `json:"secretRef,omitempty"`
}

// StackMetric is a monitor that can cancel a run.
type StackMetric struct {
	// Identifier of the monitor.
	Identifier string `json:"identifier"`
	// ObservabilityProviderRef is the ObservabilityProvider of the monitor.
	ObservabilityProviderRef ObjectReference `json:"observabilityProviderRef"`
}

// StackPolicyEngine evaluates plans.
type StackPolicyEngine struct {
	// Type of the engine.
	// +kubebuilder:validation:Enum=TRIVY
	Type string `json:"type"`
	// CustomPolicies loads policies from git.
	CustomPolicies *bool `json:"customPolicies,omitempty"`
	// MaxSeverity is the highest severity that a run may have.
	// +kubebuilder:validation:Enum=UNKNOWN;LOW;MEDIUM;HIGH;CRITICAL;NONE
	MaxSeverity *string `json:"maxSeverity,omitempty"`
	// RepositoryRef names the GitRepository of git; unset is the stack's.
	RepositoryRef *ObjectReference `json:"repositoryRef,omitempty"`
	// Git is the folder with the policies.
	Git *Git `json:"git,omitempty"`
}
