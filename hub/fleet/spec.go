package fleet

// Spec is what a person declares for a service. Its JSON is that of ServiceSpec in
// api/hub/v1, field by field, so that edges convert between the two through JSON.
type Spec struct {
	// Namespace on the cluster; empty is the service's name.
	Namespace string `json:"namespace,omitempty"`
	// Repository by name.
	Repository string      `json:"repository,omitempty"`
	Git        *Git        `json:"git,omitempty"`
	Sources    []Source    `json:"sources,omitempty"`
	Helm       *Helm       `json:"helm,omitempty"`
	Kustomize  *Kustomize  `json:"kustomize,omitempty"`
	Renderers  []Renderer  `json:"renderers,omitempty"`
	SyncConfig *SyncConfig `json:"syncConfig,omitempty"`
	// Configuration holds plain values.
	Configuration map[string]string `json:"configuration,omitempty"`
	// Secrets are write-only: reads return the keys with empty values, and an
	// empty value of a known key keeps the stored value.
	Secrets map[string]string `json:"secrets,omitempty"`
	// SecretRefs are values read from backends, by key.
	SecretRefs map[string]SecretRef `json:"secretRefs,omitempty"`
	// Contexts are bound in order: the later of two with the same key wins.
	Contexts     []string     `json:"contexts,omitempty"`
	Imports      []Import     `json:"imports,omitempty"`
	Dependencies []Dependency `json:"dependencies,omitempty"`
	// Templated defaults to true when nil.
	Templated *bool `json:"templated,omitempty"`
	// Protect refuses deletion.
	Protect bool `json:"protect,omitempty"`
	// Detach leaves the objects on the cluster when the service is deleted.
	Detach   bool   `json:"detach,omitempty"`
	DocsPath string `json:"docsPath,omitempty"`
	// Version is a label for people.
	Version string `json:"version,omitempty"`
	// Adopt takes over objects that others created.
	Adopt bool `json:"adopt,omitempty"`
	// Drift is "report" (the default) or "strict".
	Drift          string `json:"drift,omitempty"`
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// DryRun writes nothing to the cluster; what would change is reported.
	DryRun      bool         `json:"dryRun,omitempty"`
	SyncWindows []SyncWindow `json:"syncWindows,omitempty"`
}

// Git is a folder at a ref.
type Git struct {
	// Ref is a branch, a tag or a full commit id.
	Ref    string   `json:"ref,omitempty"`
	Folder string   `json:"folder,omitempty"`
	Files  []string `json:"files,omitempty"`
	// URL selects a registered repository instead of Repository.
	URL string `json:"url,omitempty"`
	// Submodules includes the files of submodules, LFS the files behind LFS
	// pointers.
	Submodules bool `json:"submodules,omitempty"`
	LFS        bool `json:"lfs,omitempty"`
}

// Source is one of several sources, placed under a path: a folder of a
// repository, or a chart.
type Source struct {
	Path       string `json:"path,omitempty"`
	Repository string `json:"repository,omitempty"`
	Git        *Git   `json:"git,omitempty"`
	// Chart with Version comes from a chart repository: Repository, or the one
	// at URL.
	Chart   string `json:"chart,omitempty"`
	Version string `json:"version,omitempty"`
	URL     string `json:"url,omitempty"`
}

// Helm says how a chart is found and rendered.
type Helm struct {
	URL        string `json:"url,omitempty"`
	Chart      string `json:"chart,omitempty"`
	Version    string `json:"version,omitempty"`
	Release    string `json:"release,omitempty"`
	Repository string `json:"repository,omitempty"`
	Git        *Git   `json:"git,omitempty"`
	// Values is YAML text.
	Values              string   `json:"values,omitempty"`
	ValuesFiles         []string `json:"valuesFiles,omitempty"`
	IgnoreHooks         bool     `json:"ignoreHooks,omitempty"`
	IgnoreCRDs          bool     `json:"ignoreCrds,omitempty"`
	LuaScript           string   `json:"luaScript,omitempty"`
	LuaFile             string   `json:"luaFile,omitempty"`
	LuaFolder           string   `json:"luaFolder,omitempty"`
	KustomizePostrender string   `json:"kustomizePostrender,omitempty"`
	Upgrade             bool     `json:"upgrade,omitempty"`
}

// Kustomize says how kustomizations are built.
type Kustomize struct {
	Path       string `json:"path,omitempty"`
	EnableHelm bool   `json:"enableHelm,omitempty"`
	Envsubst   bool   `json:"envsubst,omitempty"`
}

// Renderer is one further render step.
type Renderer struct {
	Path string `json:"path,omitempty"`
	// Type is AUTO, RAW, HELM, KUSTOMIZE, JSONNET, CUE, EXEC or WASM.
	Type string `json:"type,omitempty"`
	Helm *Helm  `json:"helm,omitempty"`
	// KustomizePostrender is a folder with a kustomization that changes the
	// output of this step.
	KustomizePostrender string   `json:"kustomizePostrender,omitempty"`
	Jsonnet             *Jsonnet `json:"jsonnet,omitempty"`
	Cue                 *Cue     `json:"cue,omitempty"`
	Exec                *Exec    `json:"exec,omitempty"`
	Wasm                *Wasm    `json:"wasm,omitempty"`
}

// Jsonnet says how Jsonnet is evaluated.
type Jsonnet struct {
	File    string            `json:"file,omitempty"`
	TLAs    []JsonnetVariable `json:"tlas,omitempty"`
	ExtVars []JsonnetVariable `json:"extVars,omitempty"`
	Libs    []string          `json:"libs,omitempty"`
}

// JsonnetVariable is a value passed to Jsonnet: a text, unless it is code.
type JsonnetVariable struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
	Code  bool   `json:"code,omitempty"`
}

// Cue says how a CUE package is evaluated.
type Cue struct {
	Package    string            `json:"package,omitempty"`
	Expression string            `json:"expression,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// Exec names a tool that the agent's administrator declared.
type Exec struct {
	Tool       string            `json:"tool,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
}

// Wasm names a module: a file of the service, or one that the agent's
// administrator declared.
type Wasm struct {
	Module     string            `json:"module,omitempty"`
	Tool       string            `json:"tool,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
}

// SyncConfig says how objects are applied.
type SyncConfig struct {
	// CreateNamespace defaults to true when nil.
	CreateNamespace  *bool `json:"createNamespace,omitempty"`
	DeleteNamespace  bool  `json:"deleteNamespace,omitempty"`
	EnforceNamespace bool  `json:"enforceNamespace,omitempty"`
	// RequireOwnership defaults to true when nil.
	RequireOwnership *bool             `json:"requireOwnership,omitempty"`
	Labels           map[string]string `json:"labels,omitempty"`
	Annotations      map[string]string `json:"annotations,omitempty"`
	DiffNormalizers  []DiffNormalizer  `json:"diffNormalizers,omitempty"`
}

// DiffNormalizer names fields that the cluster may change.
type DiffNormalizer struct {
	Name         string   `json:"name,omitempty"`
	Kind         string   `json:"kind,omitempty"`
	Namespace    string   `json:"namespace,omitempty"`
	JSONPointers []string `json:"jsonPointers,omitempty"`
	Backfill     bool     `json:"backfill,omitempty"`
}

// Dependency is a service that must be healthy first.
type Dependency struct {
	Name string `json:"name,omitempty"`
	// Cluster is another cluster by name; empty is the same cluster.
	Cluster string `json:"cluster,omitempty"`
}

// SecretRef points at one value in a backend of the hub.
type SecretRef struct {
	// Backend by name; empty is the default one.
	Backend string `json:"backend,omitempty"`
	Path    string `json:"path,omitempty"`
	// Key is the value's name there; empty uses the secret's own key.
	Key string `json:"key,omitempty"`
}

// Import takes the outputs of a stack.
type Import struct {
	Stack string `json:"stack,omitempty"`
}
