package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// ServiceTemplate describes a service, wherever it runs. ServiceDeployment and
// the kinds that create services share it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.repositoryRef) || !has(self.repositoryRef.name) || !has(self.git) || !has(self.git.url)",message="name the repository by repositoryRef or by git.url, not by both"
// +kubebuilder:validation:XValidation:rule="!has(self.git) || has(self.git.ref) || has(self.sourceRef)",message="git.ref is required, unless sourceRef names a source that has one"
type ServiceTemplate struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Namespace on the cluster; unset is the object's own.
	Namespace *string `json:"namespace,omitempty"`
	// Protect refuses deletion.
	Protect *bool `json:"protect,omitempty"`
	// DryRun writes nothing to the cluster; what would change is reported.
	DryRun *bool `json:"dryRun,omitempty"`
	// Adopt takes over objects of the cluster that another tool or a person made; unset refuses them.
	Adopt *bool `json:"adopt,omitempty"`
	// Drift says what happens to changes that people make on the cluster: report
	// leaves them, strict reverts them. Unset is report.
	// +kubebuilder:validation:Enum=report;strict
	Drift *string `json:"drift,omitempty"`
	// ServiceAccount on the cluster that the agent acts as, NAME or
	// NAMESPACE/NAME; unset is the project's, or the agent's own.
	ServiceAccount *string `json:"serviceAccount,omitempty"`
	// SyncWindows say when new revisions may be applied, and when not.
	SyncWindows []SyncWindow `json:"syncWindows,omitempty"`

	// RepositoryRef names the GitRepository of git.
	RepositoryRef *ObjectReference `json:"repositoryRef,omitempty"`
	// SourceRef names a source of Flux (GitRepository, OCIRepository, HelmRepository
	// or Bucket), and wins over repositoryRef. Without git.ref, that of the source is used.
	SourceRef *ObjectReference `json:"sourceRef,omitempty"`
	// Git is the folder that is delivered. Files that relative references outside
	// the folder point to are delivered with it.
	Git *Git `json:"git,omitempty"`
	// Sources are additional folders and charts, each under its own path.
	// +kubebuilder:validation:MaxItems=32
	Sources []Source `json:"sources,omitempty"`
	// Renderers run after the default one, in order; later objects win.
	Renderers []Renderer `json:"renderers,omitempty"`
	// Helm says which chart to use, and with which values.
	Helm *ServiceHelm `json:"helm,omitempty"`
	// Kustomize says where the kustomization is.
	Kustomize *ServiceKustomize `json:"kustomize,omitempty"`
	// SyncConfig says how objects are applied.
	SyncConfig *SyncConfigAttributes `json:"syncConfig,omitempty"`

	// Configuration are plain values for templates.
	Configuration map[string]string `json:"configuration,omitempty"`
	// ConfigurationRef is a Secret with secret values for templates.
	ConfigurationRef *SecretReference `json:"configurationRef,omitempty"`
	// SecretRefs are values that the hub reads from one of its backends, by the key that templates see.
	SecretRefs map[string]BackendReference `json:"secretRefs,omitempty"`
	// Contexts are names of shared values, in order: the later one wins.
	Contexts []string `json:"contexts,omitempty"`
	// Imports are outputs by name.
	Imports []ServiceImport `json:"imports,omitempty"`
	// Templated runs Liquid over *.liquid files.
	// +kubebuilder:default=true
	Templated *bool `json:"templated,omitempty"`
	// Dependencies are services that must be healthy first.
	Dependencies []ServiceDependency `json:"dependencies,omitempty"`
}

// BackendReference is one value of a secret in a backend of the hub.
type BackendReference struct {
	// Backend is a name from axle backends list; unset is the default one.
	Backend *string `json:"backend,omitempty"`
	// Path is the path of the secret in the backend.
	Path string `json:"path"`
	// Key is the value's name there; unset is the key that templates see.
	Key *string `json:"key,omitempty"`
}

// Source is an additional folder or chart of a service.
// +kubebuilder:validation:XValidation:rule="!has(self.git) || has(self.git.ref) || has(self.sourceRef)",message="git.ref is required, unless sourceRef names a source that has one"
type Source struct {
	// Path in the delivered tree; unset is the service's own folder.
	Path *string `json:"path,omitempty"`
	// RepositoryRef names the repository of git or chart.
	RepositoryRef *ObjectReference `json:"repositoryRef,omitempty"`
	// SourceRef names a source of Flux, and wins over repositoryRef.
	SourceRef *ObjectReference `json:"sourceRef,omitempty"`
	// Git is the folder.
	Git *Git `json:"git,omitempty"`
	// Chart of repositoryRef, or of the repository at url, instead of git.
	Chart *string `json:"chart,omitempty"`
	// Version of the chart, or a range; unset is the newest.
	Version *string `json:"version,omitempty"`
	// URL of a chart repository, which need not be registered.
	URL *string `json:"url,omitempty"`
}

// Renderer makes manifests of one folder of the delivered tree.
type Renderer struct {
	// Path of the folder in the delivered tree.
	Path string `json:"path"`
	// Type of the renderer.
	// +kubebuilder:validation:Enum=AUTO;RAW;HELM;KUSTOMIZE;JSONNET;CUE;EXEC;WASM
	Type string `json:"type"`
	// Helm are the Helm settings.
	Helm *HelmMinimal `json:"helm,omitempty"`
	// KustomizePostrender is a folder with a kustomization that changes the objects of this step.
	KustomizePostrender *string `json:"kustomizePostrender,omitempty"`
	// Jsonnet says how Jsonnet is evaluated.
	Jsonnet *RendererJsonnet `json:"jsonnet,omitempty"`
	// Cue says how a CUE package is evaluated.
	Cue *RendererCue `json:"cue,omitempty"`
	// Exec is a tool that the agent's administrator declared.
	Exec *RendererExec `json:"exec,omitempty"`
	// Wasm is a module: a file of the service, or one that the agent's administrator declared.
	Wasm *RendererWasm `json:"wasm,omitempty"`
}

// RendererJsonnet says how Jsonnet is evaluated. The service's configuration,
// cluster and service are external variables of these names.
type RendererJsonnet struct {
	// File in the renderer's folder; unset is main.jsonnet if it exists, otherwise
	// every *.jsonnet file of the folder.
	File *string `json:"file,omitempty"`
	// TLAs are top level arguments.
	TLAs []JsonnetVariable `json:"tlas,omitempty"`
	// ExtVars are external variables.
	ExtVars []JsonnetVariable `json:"extVars,omitempty"`
	// Libs are folders to import from.
	Libs []string `json:"libs,omitempty"`
}

// JsonnetVariable is one value passed to Jsonnet.
type JsonnetVariable struct {
	// Name of the variable.
	Name string `json:"name"`
	// Value of the variable, a text.
	Value string `json:"value,omitempty"`
	// Code means that the value is Jsonnet and not a text.
	Code *bool `json:"code,omitempty"`
}

// RendererCue says how a CUE package is evaluated.
type RendererCue struct {
	// Package is required when the folder holds several.
	Package *string `json:"package,omitempty"`
	// Expression with the objects; unset is everything that is exported.
	Expression *string `json:"expression,omitempty"`
	// Tags are values of @tag attributes, in addition to the configuration.
	Tags map[string]string `json:"tags,omitempty"`
}

// RendererExec names a tool that the agent's administrator declared.
type RendererExec struct {
	// Tool is the name of the declared tool.
	Tool string `json:"tool"`
	// Parameters are passed to the tool on its standard input.
	Parameters map[string]string `json:"parameters,omitempty"`
}

// RendererWasm names a module: a file of the service, or one that the agent's
// administrator declared.
type RendererWasm struct {
	// Module is a file in the renderer's folder.
	Module *string `json:"module,omitempty"`
	// Tool is a module of the agent.
	Tool *string `json:"tool,omitempty"`
	// Parameters are passed to the module on its standard input.
	Parameters map[string]string `json:"parameters,omitempty"`
}

// HelmMinimal are the Helm settings of a renderer.
type HelmMinimal struct {
	// Values override every file: an object, or YAML in a string.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
	// ValuesFiles are files of the delivered tree; later ones win.
	ValuesFiles []string `json:"valuesFiles,omitempty"`
	// Release name; unset is the service's name.
	Release *string `json:"release,omitempty"`
	// IgnoreHooks leaves the chart's hooks out.
	IgnoreHooks *bool `json:"ignoreHooks,omitempty"`
}

// ServiceHelm says which chart to use, and with which values.
type ServiceHelm struct {
	// URL of a chart repository, https or oci. If the project registered it, its
	// credentials are used; otherwise none are.
	URL *string `json:"url,omitempty"`
	// Chart in the repository.
	Chart *string `json:"chart,omitempty"`
	// Version or range of the chart; unset is the newest.
	Version *string `json:"version,omitempty"`
	// Release name; unset is the service's name.
	Release *string `json:"release,omitempty"`
	// Repository names a HelmRepository of Flux, or else a chart repository of the hub by its name alone.
	Repository *NamespacedName `json:"repository,omitempty"`
	// RepositoryRef names a GitRepository that holds the chart, for a service without git of its own.
	RepositoryRef *ObjectReference `json:"repositoryRef,omitempty"`
	// Git is the chart's folder in repositoryRef.
	Git *Git `json:"git,omitempty"`
	// Values override every file.
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
	// ValuesFiles are files of the delivered tree; later ones win.
	ValuesFiles []string `json:"valuesFiles,omitempty"`
	// ValuesFrom is a Secret in which every key holds a YAML document of values; of two
	// with the same value, the key that sorts last wins. They override Values, and are
	// secrets of the service.
	ValuesFrom *SecretReference `json:"valuesFrom,omitempty"`
	// ValuesConfigMapRef is a key of a ConfigMap with values, in the namespace of the
	// object. Values override them.
	ValuesConfigMapRef *KeySelector `json:"valuesConfigMapRef,omitempty"`
	// IgnoreHooks leaves the chart's hooks out.
	IgnoreHooks *bool `json:"ignoreHooks,omitempty"`
	// IgnoreCrds leaves the chart's crds folder out.
	IgnoreCrds *bool `json:"ignoreCrds,omitempty"`
	// LuaScript produces values, which override all others.
	LuaScript *string `json:"luaScript,omitempty"`
	// LuaFile is a file with such a script.
	LuaFile *string `json:"luaFile,omitempty"`
	// LuaFolder is a folder of such scripts.
	LuaFolder *string `json:"luaFolder,omitempty"`
	// KustomizePostrender is a folder with a kustomization that changes the rendered objects.
	KustomizePostrender *string `json:"kustomizePostrender,omitempty"`
	// Upgrade makes templates see an upgrade instead of an install, for charts
	// that render differently then. The setting applies for the life of the service.
	Upgrade *bool `json:"upgrade,omitempty"`
}

// ServiceKustomize says where the kustomization is.
type ServiceKustomize struct {
	// Path of the kustomization in the delivered tree; unset is its root.
	Path string `json:"path,omitempty"`
	// EnableHelm inflates helmCharts; the hub fetches those of chart repositories.
	// Without it such a kustomization is refused.
	EnableHelm *bool `json:"enableHelm,omitempty"`
	// Envsubst replaces ${NAME} in texts with values of the service's configuration.
	Envsubst *bool `json:"envsubst,omitempty"`
}

// SyncConfigAttributes say how objects are applied.
type SyncConfigAttributes struct {
	// CreateNamespace creates the service's namespace.
	// +kubebuilder:default=true
	CreateNamespace *bool `json:"createNamespace,omitempty"`
	// DeleteNamespace deletes it with the service.
	// +kubebuilder:default=false
	DeleteNamespace *bool `json:"deleteNamespace,omitempty"`
	// EnforceNamespace puts everything into the service's namespace and refuses cluster-scoped objects.
	// +kubebuilder:default=false
	EnforceNamespace *bool `json:"enforceNamespace,omitempty"`
	// RequireOwnership refuses objects of another service.
	// +kubebuilder:default=true
	RequireOwnership *bool `json:"requireOwnership,omitempty"`
	// Labels of the namespace.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the namespace.
	Annotations map[string]string `json:"annotations,omitempty"`
	// DiffNormalizers name fields that others may set: the cluster's value is kept.
	DiffNormalizers []DiffNormalizer `json:"diffNormalizers,omitempty"`
	// Prune deletes objects that the service no longer renders; unset is true. With
	// false they stay on the cluster and in the service's inventory, and its status names them.
	Prune *bool `json:"prune,omitempty"`
}

// DiffNormalizer names fields of some objects that others may set.
type DiffNormalizer struct {
	// Name of the objects, with the wildcards * and ?; unset matches any.
	Name *string `json:"name,omitempty"`
	// Kind of the objects, with the wildcards * and ?; unset matches any.
	Kind *string `json:"kind,omitempty"`
	// Namespace of the objects, with the wildcards * and ?; unset matches any.
	Namespace *string `json:"namespace,omitempty"`
	// JSONPointers are paths of fields: a JSON pointer such as /spec/replicas, a
	// jq path, or manager:NAME for all fields that a field manager has set.
	JSONPointers []string `json:"jsonPointers,omitempty"`
	// Backfill copies the live value into the applied object.
	Backfill *bool `json:"backfill,omitempty"`
}

// ServiceImport imports the outputs of a stack.
type ServiceImport struct {
	// StackRef names the stack, or another source of outputs with this name.
	StackRef ObjectReference `json:"stackRef"`
}

// ServiceDependency is a service that must be healthy first.
type ServiceDependency struct {
	// Name of the service.
	Name string `json:"name"`
	// Cluster of the service; unset is the same cluster.
	Cluster *string `json:"cluster,omitempty"`
}
