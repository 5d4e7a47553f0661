package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ServiceDeployment is a service: it says what runs on one cluster, and from
// which source.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.cluster`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type ServiceDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ServiceDeploymentSpec `json:"spec"`
	// +optional
	Status ServiceDeploymentStatus `json:"status,omitempty"`
}

// ServiceDeploymentSpec says what should run, and how.
type ServiceDeploymentSpec struct {
	// Name in the hub; unset is metadata.name.
	// +optional
	Name *string `json:"name,omitempty"`
	// Namespace on the cluster; unset is the object's own.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// ClusterRef names a Cluster object.
	// +optional
	ClusterRef *ObjectReference `json:"clusterRef,omitempty"`
	// Cluster is the cluster's handle, instead of clusterRef.
	// +optional
	Cluster *string `json:"cluster,omitempty"`
	// Version is a label for people.
	// +optional
	Version *string `json:"version,omitempty"`
	// Protect refuses deletion.
	// +optional
	Protect *bool `json:"protect,omitempty"`
	// DryRun writes nothing to the cluster; what would change is reported.
	// +optional
	DryRun *bool `json:"dryRun,omitempty"`
	// Adopt takes over objects of the cluster that another tool or a person made;
	// unset refuses them.
	// +optional
	Adopt *bool `json:"adopt,omitempty"`
	// Drift says what happens to changes that people make on the cluster: report
	// leaves them, strict reverts them. Unset is report.
	// +optional
	// +kubebuilder:validation:Enum=report;strict
	Drift *string `json:"drift,omitempty"`
	// ServiceAccount on the cluster that the agent acts as, NAME or
	// NAMESPACE/NAME; unset is the project's, or the agent's own.
	// +optional
	ServiceAccount *string `json:"serviceAccount,omitempty"`
	// SyncWindows say when new revisions may be applied, and when not.
	// +optional
	SyncWindows []SyncWindow `json:"syncWindows,omitempty"`
	// Detach leaves the objects on the cluster when this object is deleted.
	// +optional
	Detach *bool `json:"detach,omitempty"`
	// DocsPath is a folder of documentation. Does not act yet.
	// +optional
	DocsPath *string `json:"docsPath,omitempty"`
	// Bindings do not act yet.
	// +optional
	Bindings *Bindings `json:"bindings,omitempty"`
	// FlowRef does not act yet.
	// +optional
	FlowRef *ObjectReference `json:"flowRef,omitempty"`
	// AgentID is kept for compatibility and has no effect.
	// +optional
	AgentID *string `json:"agentId,omitempty"`

	// RepositoryRef names the GitRepository of git.
	// +optional
	RepositoryRef *ObjectReference `json:"repositoryRef,omitempty"`
	// Git is the folder that is delivered.
	// +optional
	Git *Git `json:"git,omitempty"`
	// Sources are more folders, each under its own path. Does not act yet.
	// +optional
	Sources []Source `json:"sources,omitempty"`
	// Renderers run after the default one, in order; later objects win.
	// +optional
	Renderers []Renderer `json:"renderers,omitempty"`
	// +optional
	Helm *ServiceHelm `json:"helm,omitempty"`
	// +optional
	Kustomize *ServiceKustomize `json:"kustomize,omitempty"`
	// +optional
	SyncConfig *SyncConfigAttributes `json:"syncConfig,omitempty"`

	// Configuration are plain values for templates.
	// +optional
	Configuration map[string]string `json:"configuration,omitempty"`
	// ConfigurationRef is a Secret with secret values for templates.
	// +optional
	ConfigurationRef *corev1.SecretReference `json:"configurationRef,omitempty"`
	// SecretRefs are values that the hub reads from one of its backends, by the
	// key that templates see.
	// +optional
	SecretRefs map[string]BackendReference `json:"secretRefs,omitempty"`
	// Contexts are names of shared values, in order: the later one wins.
	// +optional
	Contexts []string `json:"contexts,omitempty"`
	// Imports are outputs by name.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="imports cannot be changed"
	Imports []ServiceImport `json:"imports,omitempty"`
	// Templated runs Liquid over *.liquid files; unset is true.
	// +optional
	// +kubebuilder:default=true
	Templated *bool `json:"templated,omitempty"`
	// Dependencies are services of the same cluster that must be healthy first.
	// +optional
	Dependencies []ServiceDependency `json:"dependencies,omitempty"`
	// +optional
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// BackendReference is one value of a secret in a backend of the hub.
type BackendReference struct {
	// Backend is a name from axle backends list; unset is the default one.
	// +optional
	Backend *string `json:"backend,omitempty"`
	// Path is the path of the secret in the backend.
	Path string `json:"path"`
	// Key is the value's name there; unset is the key that templates see.
	// +optional
	Key *string `json:"key,omitempty"`
}

// SyncWindow is a recurring period in which syncs are allowed or denied. A deny
// window wins; where there are allow windows, one must be open.
type SyncWindow struct {
	// +kubebuilder:validation:Enum=allow;deny
	Kind string `json:"kind"`
	// Schedule is a cron expression with five fields, for the window's start.
	Schedule string `json:"schedule"`
	// Duration is how long it lasts, such as 1h30m.
	Duration string `json:"duration"`
	// TimeZone is a name such as Europe/Berlin; unset is UTC.
	// +optional
	TimeZone *string `json:"timeZone,omitempty"`
	// ManualSync allows syncs that a person requests.
	// +optional
	ManualSync *bool `json:"manualSync,omitempty"`
}

// Source is one more folder or chart of a service.
type Source struct {
	// Path in the delivered tree; unset is its root.
	// +optional
	Path *string `json:"path,omitempty"`
	// +optional
	RepositoryRef *ObjectReference `json:"repositoryRef,omitempty"`
	// +optional
	Git *Git `json:"git,omitempty"`
	// Chart of repositoryRef, or of the repository at url, instead of git.
	// +optional
	Chart *string `json:"chart,omitempty"`
	// Version of the chart, or a range; unset is the newest.
	// +optional
	Version *string `json:"version,omitempty"`
	// URL of a chart repository, which need not be registered.
	// +optional
	URL *string `json:"url,omitempty"`
}

// Renderer makes manifests of one folder of the delivered tree.
type Renderer struct {
	Path string `json:"path"`
	// +kubebuilder:validation:Enum=AUTO;RAW;HELM;KUSTOMIZE;JSONNET;CUE;EXEC;WASM
	Type string `json:"type"`
	// +optional
	Helm *HelmMinimal `json:"helm,omitempty"`
	// KustomizePostrender is a folder with a kustomization that changes the
	// objects of this step.
	// +optional
	KustomizePostrender *string `json:"kustomizePostrender,omitempty"`
	// +optional
	Jsonnet *RendererJsonnet `json:"jsonnet,omitempty"`
	// +optional
	Cue *RendererCue `json:"cue,omitempty"`
	// +optional
	Exec *RendererExec `json:"exec,omitempty"`
	// +optional
	Wasm *RendererWasm `json:"wasm,omitempty"`
}

// RendererJsonnet says how Jsonnet is evaluated. The service's configuration,
// cluster and service are external variables of these names.
type RendererJsonnet struct {
	// File in the renderer's folder; unset is main.jsonnet if it exists,
	// otherwise every *.jsonnet file of the folder.
	// +optional
	File *string `json:"file,omitempty"`
	// TLAs are top level arguments.
	// +optional
	TLAs []JsonnetVariable `json:"tlas,omitempty"`
	// ExtVars are external variables.
	// +optional
	ExtVars []JsonnetVariable `json:"extVars,omitempty"`
	// Libs are folders to import from.
	// +optional
	Libs []string `json:"libs,omitempty"`
}

// JsonnetVariable is one value passed to Jsonnet.
type JsonnetVariable struct {
	Name string `json:"name"`
	// +optional
	Value string `json:"value,omitempty"`
	// Code means that the value is Jsonnet and not a text.
	// +optional
	Code *bool `json:"code,omitempty"`
}

// RendererCue says how a CUE package is evaluated.
type RendererCue struct {
	// Package is required when the folder holds several.
	// +optional
	Package *string `json:"package,omitempty"`
	// Expression with the objects; unset is everything that is exported.
	// +optional
	Expression *string `json:"expression,omitempty"`
	// Tags are values of @tag attributes, in addition to the configuration.
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
}

// RendererExec names a tool that the agent's administrator declared.
type RendererExec struct {
	Tool string `json:"tool"`
	// Parameters are passed to the tool on its standard input.
	// +optional
	Parameters map[string]string `json:"parameters,omitempty"`
}

// RendererWasm names a module: a file of the service, or one that the agent's
// administrator declared.
type RendererWasm struct {
	// Module is a file in the renderer's folder.
	// +optional
	Module *string `json:"module,omitempty"`
	// Tool is a module of the agent.
	// +optional
	Tool *string `json:"tool,omitempty"`
	// Parameters are passed to the module on its standard input.
	// +optional
	Parameters map[string]string `json:"parameters,omitempty"`
}

// HelmMinimal are the Helm settings of a renderer.
type HelmMinimal struct {
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
	// +optional
	ValuesFiles []string `json:"valuesFiles,omitempty"`
	// +optional
	Release *string `json:"release,omitempty"`
	// +optional
	IgnoreHooks *bool `json:"ignoreHooks,omitempty"`
}

// ServiceHelm says which chart to use, and with which values.
type ServiceHelm struct {
	// URL of a chart repository, https or oci. Does not act yet.
	// +optional
	URL *string `json:"url,omitempty"`
	// Chart in the repository. Does not act yet.
	// +optional
	Chart *string `json:"chart,omitempty"`
	// Version or range of the chart. Does not act yet.
	// +optional
	Version *string `json:"version,omitempty"`
	// Release name; unset is the service's name.
	// +optional
	Release *string `json:"release,omitempty"`
	// Repository names a Flux HelmRepository. Does not act yet.
	// +optional
	Repository *NamespacedName `json:"repository,omitempty"`
	// RepositoryRef names a GitRepository that holds the chart, for a service
	// without git of its own.
	// +optional
	RepositoryRef *ObjectReference `json:"repositoryRef,omitempty"`
	// Git is the chart's folder in repositoryRef.
	// +optional
	Git *Git `json:"git,omitempty"`
	// Values override every file.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
	// ValuesFiles are files of the delivered tree; later ones win.
	// +optional
	ValuesFiles []string `json:"valuesFiles,omitempty"`
	// ValuesFrom is a Secret, every key a YAML document of values. Does not
	// act yet.
	// +optional
	ValuesFrom *corev1.SecretReference `json:"valuesFrom,omitempty"`
	// ValuesConfigMapRef is a key of a ConfigMap with values. Does not act yet.
	// +optional
	ValuesConfigMapRef *corev1.ConfigMapKeySelector `json:"valuesConfigMapRef,omitempty"`
	// IgnoreHooks leaves the chart's hooks out.
	// +optional
	IgnoreHooks *bool `json:"ignoreHooks,omitempty"`
	// IgnoreCrds leaves the chart's crds folder out.
	// +optional
	IgnoreCrds *bool `json:"ignoreCrds,omitempty"`
	// LuaScript produces values, which override all others.
	// +optional
	LuaScript *string `json:"luaScript,omitempty"`
	// LuaFile is a file with such a script.
	// +optional
	LuaFile *string `json:"luaFile,omitempty"`
	// LuaFolder is a folder of such scripts.
	// +optional
	LuaFolder *string `json:"luaFolder,omitempty"`
	// KustomizePostrender is a folder with a kustomization that changes the
	// rendered objects.
	// +optional
	KustomizePostrender *string `json:"kustomizePostrender,omitempty"`
	// Upgrade makes templates see an upgrade instead of an install, for charts
	// that render differently then. The setting applies for the life of the
	// service.
	// +optional
	Upgrade *bool `json:"upgrade,omitempty"`
}

// ServiceKustomize says where the kustomization is.
type ServiceKustomize struct {
	// Path of the kustomization in the delivered tree.
	// +optional
	Path string `json:"path,omitempty"`
	// EnableHelm inflates helmCharts.
	// +optional
	EnableHelm *bool `json:"enableHelm,omitempty"`
	// Envsubst replaces ${NAME} in texts with values of the service's
	// configuration.
	// +optional
	Envsubst *bool `json:"envsubst,omitempty"`
}

// SyncConfigAttributes say how objects are applied.
type SyncConfigAttributes struct {
	// CreateNamespace creates the service's namespace; unset is true.
	// +optional
	// +kubebuilder:default=true
	CreateNamespace *bool `json:"createNamespace,omitempty"`
	// DeleteNamespace deletes it with the service.
	// +optional
	// +kubebuilder:default=false
	DeleteNamespace *bool `json:"deleteNamespace,omitempty"`
	// EnforceNamespace puts everything into the service's namespace and refuses
	// cluster-scoped objects.
	// +optional
	// +kubebuilder:default=false
	EnforceNamespace *bool `json:"enforceNamespace,omitempty"`
	// RequireOwnership refuses objects of another service; unset is true.
	// +optional
	// +kubebuilder:default=true
	RequireOwnership *bool `json:"requireOwnership,omitempty"`
	// Labels of the namespace.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the namespace.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// DiffNormalizers name fields that others may set: the cluster's value is
	// kept.
	// +optional
	DiffNormalizers []DiffNormalizer `json:"diffNormalizers,omitempty"`
}

// DiffNormalizer names fields of some objects that others may set.
type DiffNormalizer struct {
	// +optional
	Name *string `json:"name,omitempty"`
	// +optional
	Kind *string `json:"kind,omitempty"`
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// +optional
	JSONPointers []string `json:"jsonPointers,omitempty"`
	// Backfill copies the live value into the applied object.
	// +optional
	Backfill *bool `json:"backfill,omitempty"`
}

// ServiceImport takes the outputs of a stack.
type ServiceImport struct {
	StackRef ObjectReference `json:"stackRef"`
}

// ServiceDependency is a service that must be healthy first.
type ServiceDependency struct {
	Name string `json:"name"`
	// Cluster of the dependency; unset is the same. Does not act yet.
	// +optional
	Cluster *string `json:"cluster,omitempty"`
}

// ServiceDeploymentStatus is the state of the service in the hub.
type ServiceDeploymentStatus struct {
	Status `json:",inline"`
	// +optional
	Components []ServiceComponent `json:"components,omitempty"`
	// +optional
	Errors []ServiceError `json:"errors,omitempty"`
}

// ServiceComponent is one object of the service on its cluster.
type ServiceComponent struct {
	// +optional
	ID string `json:"id,omitempty"`
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	Group *string `json:"group,omitempty"`
	// +optional
	Kind string `json:"kind,omitempty"`
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// +optional
	Version *string `json:"version,omitempty"`
	// State is RUNNING, PENDING, FAILED or PAUSED.
	// +optional
	State *string `json:"state,omitempty"`
	// +optional
	Synced bool `json:"synced,omitempty"`
}

// ServiceError is an error of the service.
type ServiceError struct {
	Source  string `json:"source"`
	Message string `json:"message"`
}

// ServiceDeploymentList is a list of ServiceDeployment.
//
// +kubebuilder:object:root=true
type ServiceDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServiceDeployment `json:"items"`
}
