package specv1

// Spec is what a person declares for a service. JSON names are those of the
// ServiceDeployment kind, so that one YAML has one meaning in Git, in the
// CLI and here. References are by name within the hub.
type Spec struct {
	// Namespace on the cluster; empty is the service's name.
	Namespace string `json:"namespace,omitempty" hub:"1"`
	// Repository by name.
	Repository string     `json:"repository,omitempty" hub:"2"`
	Git        *Git       `json:"git,omitempty" hub:"3"`
	Sources    []Source   `json:"sources,omitempty" hub:"4"`
	Helm       *Helm      `json:"helm,omitempty" hub:"5" agent:"Render"`
	Kustomize  *Kustomize `json:"kustomize,omitempty" hub:"6" agent:"Render"`
	// Renderers are further render steps, in order.
	Renderers  []Renderer  `json:"renderers,omitempty" hub:"7" agent:"Render"`
	SyncConfig *SyncConfig `json:"syncConfig,omitempty" hub:"8" agent:"ServiceSpec"`
	// Configuration holds plain values.
	Configuration map[string]string `json:"configuration,omitempty" hub:"9" agent:"ServiceSpec"`
	// Secrets are write-only: reads return the keys with empty values, and an
	// empty value of a known key keeps the stored value.
	Secrets map[string]string `json:"secrets,omitempty" hub:"10"`
	// SecretRefs are values that are read from a backend when the configuration
	// is made, by key.
	SecretRefs map[string]SecretRef `json:"secretRefs,omitempty" hub:"30"`
	// Contexts are bound in order: the later of two with the same key wins.
	Contexts     []string     `json:"contexts,omitempty" hub:"11" agent:"ServiceSpec"`
	Imports      []Import     `json:"imports,omitempty" hub:"12" agent:"ServiceSpec"`
	Dependencies []Dependency `json:"dependencies,omitempty" hub:"13" agent:"ServiceSpec"`
	// Templated runs Liquid over *.liquid files; unset is true.
	Templated *bool `json:"templated,omitempty" hub:"14" agent:"Render"`
	// Protect refuses deletion.
	Protect bool `json:"protect,omitempty" hub:"15" agent:"ServiceSpec"`
	// Detach leaves the objects on the cluster when the service is deleted.
	Detach bool `json:"detach,omitempty" hub:"16"`
	// DocsPath is a folder of documentation; it has no effect yet.
	DocsPath string `json:"docsPath,omitempty" hub:"17"`
	// Version is a label for people; it has no effect.
	Version string `json:"version,omitempty" hub:"18"`
	// Adopt takes over objects that others created.
	Adopt bool `json:"adopt,omitempty" hub:"19" agent:"ServiceSpec"`
	// Drift is "report" (the default) or "strict".
	Drift string `json:"drift,omitempty" hub:"20" agent:"ServiceSpec"`
	// ServiceAccount to act as; empty is the agent's own.
	ServiceAccount string `json:"serviceAccount,omitempty" hub:"21" agent:"ServiceSpec"`
	// DryRun writes nothing to the cluster; what would change is reported.
	DryRun bool `json:"dryRun,omitempty" hub:"22" agent:"ServiceSpec"`
	// SyncWindows say when the service may be synced, and when not.
	SyncWindows []SyncWindow `json:"syncWindows,omitempty" hub:"23" agent:"ServiceSpec"`
}

// SecretRef points at one value of one secret of a backend of the hub.
type SecretRef struct {
	// Backend by name; empty is the default one.
	Backend string `json:"backend,omitempty" hub:"1"`
	Path    string `json:"path,omitempty" hub:"2"`
	// Key is the value's name there; empty uses the secret's own key.
	Key string `json:"key,omitempty" hub:"3"`
}

// Git is a folder at a ref.
type Git struct {
	// Ref is a branch, a tag or a full commit id.
	Ref    string   `json:"ref,omitempty" hub:"1"`
	Folder string   `json:"folder,omitempty" hub:"2"`
	Files  []string `json:"files,omitempty" hub:"3"`
	// URL of a registered repository, instead of Repository.
	URL string `json:"url,omitempty" hub:"4"`
	// Submodules includes the files of submodules, LFS the files behind LFS
	// pointers.
	Submodules bool `json:"submodules,omitempty" hub:"5"`
	LFS        bool `json:"lfs,omitempty" hub:"6"`
}

// Source is one of several sources, a folder of a repository or a chart, whose
// files are placed under a path. Two sources may share a path but not a file.
type Source struct {
	Path       string `json:"path,omitempty" hub:"1"`
	Repository string `json:"repository,omitempty" hub:"2"`
	Git        *Git   `json:"git,omitempty" hub:"3"`
	// Chart of Repository, or of the repository at URL, instead of Git.
	Chart string `json:"chart,omitempty" hub:"4"`
	// Version of the chart, or a range; empty is the newest.
	Version string `json:"version,omitempty" hub:"5"`
	URL     string `json:"url,omitempty" hub:"6"`
}

// Helm says how a chart is found and rendered.
type Helm struct {
	URL        string `json:"url,omitempty" hub:"1"`
	Chart      string `json:"chart,omitempty" hub:"2"`
	Version    string `json:"version,omitempty" hub:"3"`
	Release    string `json:"release,omitempty" hub:"4" agent:"1"`
	Repository string `json:"repository,omitempty" hub:"5"`
	Git        *Git   `json:"git,omitempty" hub:"6"`
	// Values is YAML text.
	Values      string   `json:"values,omitempty" hub:"7" agent:"2"`
	ValuesFiles []string `json:"valuesFiles,omitempty" hub:"8" agent:"3"`
	IgnoreHooks bool     `json:"ignoreHooks,omitempty" hub:"9" agent:"4"`
	IgnoreCRDs  bool     `json:"ignoreCrds,omitempty" hub:"10" agent:"5"`
	// ChartPath is the path of the part that is the chart, when it is not the
	// service's own folder. Values files are then searched in that folder first.
	// Only the hub sets it, for agents.
	ChartPath string `json:"chartPath,omitempty" agent:"6"`
	// LuaScript, LuaFile and LuaFolder produce values, which override all others.
	LuaScript string `json:"luaScript,omitempty" hub:"11" agent:"7"`
	LuaFile   string `json:"luaFile,omitempty" hub:"12" agent:"8"`
	LuaFolder string `json:"luaFolder,omitempty" hub:"13" agent:"9"`
	// KustomizePostrender is a folder with a kustomization that changes the
	// rendered objects.
	KustomizePostrender string `json:"kustomizePostrender,omitempty" hub:"14" agent:"10"`
	// Upgrade makes the chart see an upgrade instead of an install.
	Upgrade bool `json:"upgrade,omitempty" hub:"15" agent:"11"`
}

// Kustomize says how kustomizations are built.
type Kustomize struct {
	Path       string `json:"path,omitempty" hub:"1" agent:"1"`
	EnableHelm bool   `json:"enableHelm,omitempty" hub:"2" agent:"2"`
	Envsubst   bool   `json:"envsubst,omitempty" hub:"3" agent:"3"`
}

// Renderer is one further render step.
type Renderer struct {
	Path string `json:"path,omitempty" hub:"1" agent:"1"`
	// Type is AUTO, RAW, HELM, KUSTOMIZE, JSONNET, CUE, EXEC or WASM.
	Type string `json:"type,omitempty" hub:"2" agent:"2"`
	Helm *Helm  `json:"helm,omitempty" hub:"3" agent:"3"`
	// KustomizePostrender is a folder with a kustomization that changes the
	// objects of this step.
	KustomizePostrender string   `json:"kustomizePostrender,omitempty" hub:"4" agent:"4"`
	Jsonnet             *Jsonnet `json:"jsonnet,omitempty" hub:"5" agent:"5"`
	Cue                 *Cue     `json:"cue,omitempty" hub:"6" agent:"6"`
	Exec                *Exec    `json:"exec,omitempty" hub:"7" agent:"7"`
	Wasm                *Wasm    `json:"wasm,omitempty" hub:"8" agent:"8"`
}

// Jsonnet says how Jsonnet files are evaluated. The service's configuration,
// cluster and service are external variables of these names.
type Jsonnet struct {
	// File is the one to evaluate; empty is main.jsonnet if it exists, otherwise
	// every *.jsonnet file of the folder.
	File string `json:"file,omitempty" hub:"1" agent:"1"`
	// TLAs are top level arguments.
	TLAs []JsonnetVariable `json:"tlas,omitempty" hub:"2" agent:"2"`
	// ExtVars are external variables.
	ExtVars []JsonnetVariable `json:"extVars,omitempty" hub:"3" agent:"3"`
	// Libs are folders to import from, in the service's folder or in its files'
	// root.
	Libs []string `json:"libs,omitempty" hub:"4" agent:"4"`
}

// JsonnetVariable is a value passed to Jsonnet.
type JsonnetVariable struct {
	Name  string `json:"name,omitempty" hub:"1" agent:"1"`
	Value string `json:"value,omitempty" hub:"2" agent:"2"`
	// Code means that the value is Jsonnet, not a text.
	Code bool `json:"code,omitempty" hub:"3" agent:"3"`
}

// Cue says how a CUE package is evaluated.
type Cue struct {
	// Package is required when the folder holds several.
	Package string `json:"package,omitempty" hub:"1" agent:"1"`
	// Expression with the objects; empty is everything that the package exports.
	Expression string `json:"expression,omitempty" hub:"2" agent:"2"`
	// Tags are values of @tag attributes, in addition to the service's
	// configuration.
	Tags map[string]string `json:"tags,omitempty" hub:"3" agent:"3"`
}

// Exec names a tool that the agent's administrator declared.
type Exec struct {
	Tool       string            `json:"tool,omitempty" hub:"1" agent:"1"`
	Parameters map[string]string `json:"parameters,omitempty" hub:"2" agent:"2"`
}

// Wasm names a WebAssembly module: a file of the service, or one that the
// agent's administrator declared.
type Wasm struct {
	Module     string            `json:"module,omitempty" hub:"1" agent:"1"`
	Tool       string            `json:"tool,omitempty" hub:"2" agent:"2"`
	Parameters map[string]string `json:"parameters,omitempty" hub:"3" agent:"3"`
}

// SyncConfig says how objects are applied.
type SyncConfig struct {
	// CreateNamespace creates the service's namespace; unset is true.
	CreateNamespace  *bool `json:"createNamespace,omitempty" hub:"1" agent:"1"`
	DeleteNamespace  bool  `json:"deleteNamespace,omitempty" hub:"2" agent:"2"`
	EnforceNamespace bool  `json:"enforceNamespace,omitempty" hub:"3" agent:"3"`
	// RequireOwnership refuses objects of another service; unset is true.
	RequireOwnership *bool `json:"requireOwnership,omitempty" hub:"4" agent:"4"`
	// Labels and Annotations are those of the namespace.
	Labels          map[string]string `json:"labels,omitempty" hub:"5" agent:"5"`
	Annotations     map[string]string `json:"annotations,omitempty" hub:"6" agent:"6"`
	DiffNormalizers []DiffNormalizer  `json:"diffNormalizers,omitempty" hub:"7" agent:"7"`
	// Prune deletes objects that are no longer rendered; unset is true. With false
	// they stay in the service's inventory.
	Prune *bool `json:"prune,omitempty" hub:"8" agent:"8"`
}

// DiffNormalizer names fields that the cluster may change.
type DiffNormalizer struct {
	Name         string   `json:"name,omitempty" hub:"1" agent:"1"`
	Kind         string   `json:"kind,omitempty" hub:"2" agent:"2"`
	Namespace    string   `json:"namespace,omitempty" hub:"3" agent:"3"`
	JSONPointers []string `json:"jsonPointers,omitempty" hub:"4" agent:"4"`
	Backfill     bool     `json:"backfill,omitempty" hub:"5" agent:"5"`
}

// Dependency is a service that must be healthy first.
type Dependency struct {
	Name string `json:"name,omitempty" hub:"1" agent:"1"`
	// Cluster is another cluster by name, which the hub enforces; empty is the
	// same cluster.
	Cluster string `json:"cluster,omitempty" hub:"2" agent:"2"`
}

// Import takes the outputs of a stack.
type Import struct {
	Stack string `json:"stack,omitempty" hub:"1" agent:"ServiceSpec"`
}

// SyncWindow is a recurring period in which syncs are allowed or denied. A deny
// window wins; where there are allow windows, one must be open.
type SyncWindow struct {
	// Kind is allow or deny.
	Kind string `json:"kind,omitempty" hub:"1" agent:"1"`
	// Schedule is a cron expression with five fields, for the window's start.
	Schedule string `json:"schedule,omitempty" hub:"2" agent:"2"`
	// Duration is how long it lasts, such as "1h30m".
	Duration string `json:"duration,omitempty" hub:"3" agent:"3"`
	// TimeZone is an IANA name; empty is UTC.
	TimeZone string `json:"timeZone,omitempty" hub:"4" agent:"4"`
	// ManualSync lets a sync that a person requests pass.
	ManualSync bool `json:"manualSync,omitempty" hub:"5" agent:"5"`
	// Level is the owner of the window: empty for the service, "project" or
	// "hub". The windows of each level are evaluated separately, and all levels
	// must allow a sync. Only the hub sets it, for agents.
	Level string `json:"level,omitempty" agent:"6"`
}
