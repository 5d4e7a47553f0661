package manifest

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

func itoa(n int) string { return strconv.Itoa(n) }

// value returns what a pointer points to, or the zero value for nil.
func value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// set returns the names of the fields that are set, sorted.
func set(fields map[string]bool) []string {
	maps.DeleteFunc(fields, func(_ string, isSet bool) bool { return !isSet })
	return slices.Sorted(maps.Keys(fields))
}

func (d document) repository(secrets secretLookup) (*Item, error) {
	var object v1alpha1.GitRepository
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	if object.Spec.URL == "" {
		return nil, errcode.New(errcode.Invalid, "%s: GitRepository %q has no spec.url", d.where, object.Name)
	}
	request := &hubv1.CreateRepositoryRequest{Name: object.Name, Type: "git", Url: object.Spec.URL}
	if ref := object.Spec.CredentialsRef; ref != nil {
		values, err := secrets(ref, object.Namespace, d.where)
		if err != nil {
			return nil, err
		}
		request.Credentials = &hubv1.RepositoryCredentials{
			Username: values["username"], Password: values["password"],
			PrivateKey: values["privateKey"], Passphrase: values["passphrase"],
		}
	}
	return &Item{Kind: d.meta.Kind, Name: object.Name, Where: d.where, Repository: request, NotActing: set(map[string]bool{
		"spec.connectionRef":  object.Spec.ConnectionRef != nil,
		"spec.reconciliation": object.Spec.Reconciliation != nil,
	})}, nil
}

func (d document) cluster() (*Item, error) {
	var object v1alpha1.Cluster
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	handle := value(spec.Handle)
	if handle == "" {
		handle = object.Name
	}
	request := &hubv1.UpdateClusterRequest{Name: handle, Tags: spec.Tags, SetTags: spec.Tags != nil}
	if spec.Metadata != nil {
		request.Metadata, request.SetMetadata = string(spec.Metadata.Raw), true
	}
	return &Item{Kind: d.meta.Kind, Name: handle, Where: d.where, Cluster: request, NotActing: set(map[string]bool{
		"spec.bindings":       spec.Bindings != nil,
		"spec.disableAI":      spec.DisableAI != nil,
		"spec.reconciliation": spec.Reconciliation != nil,
		"spec.version":        spec.Version != nil,
		"spec.providerRef":    spec.ProviderRef != nil,
		"spec.projectRef":     spec.ProjectRef != nil,
		"spec.cloud":          spec.Cloud != "",
		"spec.protect":        spec.Protect != nil,
		"spec.cloudSettings":  spec.CloudSettings != nil,
		"spec.nodePools":      len(spec.NodePools) > 0,
	})}, nil
}

func (d document) service(secrets secretLookup) (*Item, error) {
	var object v1alpha1.ServiceDeployment
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	name, cluster := value(spec.Name), value(spec.Cluster)
	if name == "" {
		name = object.Name
	}
	if cluster == "" && spec.ClusterRef != nil {
		cluster = spec.ClusterRef.Name
	}
	if cluster == "" {
		return nil, errcode.New(errcode.Invalid, "%s: ServiceDeployment %q names no cluster; set spec.cluster or spec.clusterRef", d.where, object.Name)
	}
	out, err := serviceSpec(spec)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%s: ServiceDeployment %q: %w", d.where, object.Name, err)
	}
	if out.Namespace == "" {
		out.Namespace = object.Namespace
	}
	if spec.ConfigurationRef != nil {
		if out.Secrets, err = secrets(spec.ConfigurationRef, object.Namespace, d.where); err != nil {
			return nil, err
		}
	}
	item := &Item{Kind: d.meta.Kind, Name: cluster + "/" + name, Where: d.where, Service: &hubv1.ApplyServiceRequest{
		Ref: &hubv1.ServiceRef{Cluster: cluster, Name: name}, Spec: out,
		ParentId: object.Annotations["config.k8s.io/owning-inventory"],
	}}
	if spec.ProjectRef != nil {
		item.Service.Project = spec.ProjectRef.Name
	}
	item.NotActing = set(map[string]bool{
		"spec.bindings":                spec.Bindings != nil,
		"spec.flowRef":                 spec.FlowRef != nil,
		"spec.agentId":                 spec.AgentID != nil,
		"spec.reconciliation":          spec.Reconciliation != nil,
		"spec.paused":                  spec.Paused != nil,
		"spec.pinnedRevision":          spec.PinnedRevision != nil,
		"spec.helm.valuesFrom":         spec.Helm != nil && spec.Helm.ValuesFrom != nil,
		"spec.helm.valuesConfigMapRef": spec.Helm != nil && spec.Helm.ValuesConfigMapRef != nil,
	})
	return item, nil
}

func serviceSpec(spec v1alpha1.ServiceDeploymentSpec) (*hubv1.ServiceSpec, error) {
	out := &hubv1.ServiceSpec{
		Adopt: value(spec.Adopt), Drift: value(spec.Drift), ServiceAccount: value(spec.ServiceAccount),
		Namespace: value(spec.Namespace), Git: git(spec.Git), Configuration: spec.Configuration,
		Contexts: spec.Contexts, Templated: spec.Templated, Protect: value(spec.Protect), Detach: value(spec.Detach),
		DocsPath: value(spec.DocsPath), Version: value(spec.Version), DryRun: value(spec.DryRun),
	}
	for _, w := range spec.SyncWindows {
		out.SyncWindows = append(out.SyncWindows, &hubv1.SyncWindow{Kind: w.Kind, Schedule: w.Schedule, Duration: w.Duration, TimeZone: value(w.TimeZone), ManualSync: value(w.ManualSync)})
	}
	for key, r := range spec.SecretRefs {
		if out.SecretRefs == nil {
			out.SecretRefs = map[string]*hubv1.SecretRef{}
		}
		out.SecretRefs[key] = &hubv1.SecretRef{Backend: value(r.Backend), Path: r.Path, Key: value(r.Key)}
	}
	if spec.RepositoryRef != nil {
		out.Repository = spec.RepositoryRef.Name
	}
	for _, s := range spec.Sources {
		source := &hubv1.Source{Path: value(s.Path), Git: git(s.Git), Chart: value(s.Chart), Version: value(s.Version), Url: value(s.URL)}
		if s.RepositoryRef != nil {
			source.Repository = s.RepositoryRef.Name
		}
		out.Sources = append(out.Sources, source)
	}
	var err error
	if out.Helm, err = helm(spec.Helm); err != nil {
		return nil, err
	}
	if k := spec.Kustomize; k != nil {
		out.Kustomize = &hubv1.Kustomize{Path: k.Path, EnableHelm: value(k.EnableHelm), Envsubst: value(k.Envsubst)}
	}
	for _, r := range spec.Renderers {
		renderer := &hubv1.Renderer{Path: r.Path, Type: r.Type}
		if r.Helm != nil {
			values, err := valuesText(r.Helm.Values)
			if err != nil {
				return nil, err
			}
			renderer.Helm = &hubv1.Helm{Values: values, ValuesFiles: r.Helm.ValuesFiles, Release: value(r.Helm.Release), IgnoreHooks: value(r.Helm.IgnoreHooks)}
		}
		rareRenderer(renderer, r)
		out.Renderers = append(out.Renderers, renderer)
	}
	out.SyncConfig = syncConfig(spec.SyncConfig)
	for _, i := range spec.Imports {
		out.Imports = append(out.Imports, &hubv1.Import{Stack: i.StackRef.Name})
	}
	for _, dep := range spec.Dependencies {
		out.Dependencies = append(out.Dependencies, &hubv1.Dependency{Name: dep.Name, Cluster: value(dep.Cluster)})
	}
	return out, nil
}

func git(g *v1alpha1.Git) *hubv1.Git {
	if g == nil {
		return nil
	}
	return &hubv1.Git{Ref: g.Ref, Folder: g.Folder, Files: g.Files, Url: value(g.URL), Submodules: value(g.Submodules), Lfs: value(g.LFS)}
}

func helm(h *v1alpha1.ServiceHelm) (*hubv1.Helm, error) {
	if h == nil {
		return nil, nil
	}
	values, err := valuesText(h.Values)
	if err != nil {
		return nil, err
	}
	out := &hubv1.Helm{
		Url: value(h.URL), Chart: value(h.Chart), Version: value(h.Version), Release: value(h.Release), Git: git(h.Git),
		Values: values, ValuesFiles: h.ValuesFiles, IgnoreHooks: value(h.IgnoreHooks), IgnoreCrds: value(h.IgnoreCrds),
		LuaScript: value(h.LuaScript), LuaFile: value(h.LuaFile), LuaFolder: value(h.LuaFolder), KustomizePostrender: value(h.KustomizePostrender),
		Upgrade: value(h.Upgrade),
	}
	if h.RepositoryRef != nil {
		out.Repository = h.RepositoryRef.Name
	} else if h.Repository != nil {
		out.Repository = h.Repository.Name
	}
	return out, nil
}

// valuesText converts values to YAML text for the hub. A string is returned as it
// is.
func valuesText(raw *runtime.RawExtension) (string, error) {
	if raw == nil || len(raw.Raw) == 0 {
		return "", nil
	}
	var written string
	if json.Unmarshal(raw.Raw, &written) == nil {
		return written, nil
	}
	text, err := yaml.JSONToYAML(raw.Raw)
	if err != nil {
		return "", errcode.New(errcode.Invalid, "helm values: %w", err)
	}
	return string(text), nil
}

func syncConfig(s *v1alpha1.SyncConfigAttributes) *hubv1.SyncConfig {
	if s == nil {
		return nil
	}
	out := &hubv1.SyncConfig{
		CreateNamespace: s.CreateNamespace, DeleteNamespace: value(s.DeleteNamespace), EnforceNamespace: value(s.EnforceNamespace),
		RequireOwnership: s.RequireOwnership, Labels: s.Labels, Annotations: s.Annotations,
	}
	for _, n := range s.DiffNormalizers {
		out.DiffNormalizers = append(out.DiffNormalizers, &hubv1.DiffNormalizer{
			Name: value(n.Name), Kind: value(n.Kind), Namespace: value(n.Namespace), JsonPointers: n.JSONPointers, Backfill: value(n.Backfill),
		})
	}
	return out
}
