package agentapi

import (
	"cmp"
	"slices"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/fleet"
)

// specMessage converts everything of a service but its files.
func specMessage(a fleet.AgentSpec) *agentv1.ServiceSpec {
	v, spec := a.Service, a.Service.Spec
	return &agentv1.ServiceSpec{
		Id: v.ID, Name: v.Name, Namespace: v.Namespace, SpecDigest: v.SpecDigest, Project: v.Project,
		Entry: v.Desired.Entry, Render: renderMessage(spec, v.Parts), SyncConfig: syncMessage(spec.SyncConfig),
		Configuration: a.Configuration, Secrets: a.Secrets, Contexts: a.Contexts, Imports: a.Imports, Hidden: a.Hidden, Dependencies: dependencyMessages(spec.Dependencies),
		Cluster: &agentv1.ClusterData{
			Id: a.Cluster.ID, Handle: a.Cluster.Handle, Name: a.Cluster.Name, Tags: a.Cluster.Tags,
			Metadata: a.Cluster.Metadata, Distro: a.Cluster.Distro, KubernetesMinor: a.Cluster.KubernetesMinor,
		},
		Adopt: spec.Adopt, Protect: spec.Protect, Drift: spec.Drift, ServiceAccount: cmp.Or(spec.ServiceAccount, v.Limits.ServiceAccount),
		Display: &agentv1.Display{
			Revision: v.Revision, SourceRevision: v.Desired.SourceRevision, Message: v.Desired.Message,
			Author: v.Desired.Author, CommittedAt: v.Desired.CommittedAt, CreatedAt: a.RevisionCreatedAt,
		},
		PruneApproval: v.PruneApproval, SyncRequest: v.SyncRequest, SyncResources: v.SyncResources,
		DryRun: spec.DryRun, DiffRequest: v.DiffRequest, SyncWindows: allWindows(spec, v.Limits), Tenancy: tenancyMessage(v.Limits),
	}
}

func renderMessage(spec fleet.Spec, parts []fleet.Part) *agentv1.Render {
	out := &agentv1.Render{Helm: helmMessage(spec.Helm), Templated: spec.Templated}
	if out.Helm != nil && fleet.HasChartPart(parts) {
		out.Helm.ChartPath = fleet.ChartPath
	}
	if k := spec.Kustomize; k != nil {
		out.Kustomize = &agentv1.Kustomize{Path: k.Path, EnableHelm: k.EnableHelm, Envsubst: k.Envsubst}
	}
	for _, r := range spec.Renderers {
		out.Renderers = append(out.Renderers, rendererMessage(r))
	}
	return out
}

func helmMessage(h *fleet.Helm) *agentv1.Helm {
	if h == nil {
		return nil
	}
	return &agentv1.Helm{
		Release: h.Release, Values: h.Values, ValuesFiles: h.ValuesFiles, IgnoreHooks: h.IgnoreHooks, IgnoreCrds: h.IgnoreCRDs,
		LuaScript: h.LuaScript, LuaFile: h.LuaFile, LuaFolder: h.LuaFolder, KustomizePostrender: h.KustomizePostrender,
		Upgrade: h.Upgrade,
	}
}

func rendererMessage(r fleet.Renderer) *agentv1.Renderer {
	out := &agentv1.Renderer{Path: r.Path, Type: r.Type, Helm: helmMessage(r.Helm), KustomizePostrender: r.KustomizePostrender}
	if j := r.Jsonnet; j != nil {
		out.Jsonnet = &agentv1.Jsonnet{File: j.File, Tlas: jsonnetMessages(j.TLAs), ExtVars: jsonnetMessages(j.ExtVars), Libs: j.Libs}
	}
	if c := r.Cue; c != nil {
		out.Cue = &agentv1.Cue{Package: c.Package, Expression: c.Expression, Tags: c.Tags}
	}
	if e := r.Exec; e != nil {
		out.Exec = &agentv1.Exec{Tool: e.Tool, Parameters: e.Parameters}
	}
	if w := r.Wasm; w != nil {
		out.Wasm = &agentv1.Wasm{Module: w.Module, Tool: w.Tool, Parameters: w.Parameters}
	}
	return out
}

func jsonnetMessages(all []fleet.JsonnetVariable) []*agentv1.JsonnetVariable {
	out := make([]*agentv1.JsonnetVariable, 0, len(all))
	for _, v := range all {
		out = append(out, &agentv1.JsonnetVariable{Name: v.Name, Value: v.Value, Code: v.Code})
	}
	return out
}

func syncMessage(c *fleet.SyncConfig) *agentv1.SyncConfig {
	if c == nil {
		return nil
	}
	out := &agentv1.SyncConfig{
		CreateNamespace: c.CreateNamespace, DeleteNamespace: c.DeleteNamespace, EnforceNamespace: c.EnforceNamespace,
		RequireOwnership: c.RequireOwnership, Labels: c.Labels, Annotations: c.Annotations,
	}
	for _, d := range c.DiffNormalizers {
		out.DiffNormalizers = append(out.DiffNormalizers, &agentv1.DiffNormalizer{
			Name: d.Name, Kind: d.Kind, Namespace: d.Namespace, JsonPointers: d.JSONPointers, Backfill: d.Backfill,
		})
	}
	return out
}

// tenancyMessage returns nil where nothing is limited, which is the agent's
// default.
func tenancyMessage(l fleet.Limits) *agentv1.Tenancy {
	if len(l.Namespaces)+len(l.Kinds) == 0 && !l.ClusterScoped {
		return nil
	}
	return &agentv1.Tenancy{Namespaces: l.Namespaces, Kinds: l.Kinds, ClusterScoped: l.ClusterScoped, Closed: len(l.Namespaces) > 0}
}

// allWindows returns a service's windows with those of its project and of the
// hub.
func allWindows(spec fleet.Spec, l fleet.Limits) []*agentv1.SyncWindow {
	return slices.Concat(windowMessages("", spec.SyncWindows), windowMessages("project", l.SyncWindows), windowMessages("hub", l.HubWindows))
}

func windowMessages(level string, all []fleet.SyncWindow) []*agentv1.SyncWindow {
	out := make([]*agentv1.SyncWindow, 0, len(all))
	for _, w := range all {
		out = append(out, &agentv1.SyncWindow{Kind: w.Kind, Schedule: w.Schedule, Duration: w.Duration, TimeZone: w.TimeZone, ManualSync: w.ManualSync, Level: level})
	}
	return out
}

func dependencyMessages(all []fleet.Dependency) []*agentv1.Dependency {
	out := make([]*agentv1.Dependency, 0, len(all))
	for _, d := range all {
		out = append(out, &agentv1.Dependency{Name: d.Name, Cluster: d.Cluster})
	}
	return out
}
