package agentapi

import (
	"cmp"
	"slices"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
)

// specMessage returns everything of a service but its files.
func specMessage(a fleet.AgentSpec) *agentv1.ServiceSpec {
	v := a.Service
	out := agentv1.Deliver(delivered(v))
	out.Id, out.Name, out.Namespace, out.Project = v.ID, v.Name, v.Namespace, v.Project
	out.SpecDigest, out.Entry = v.SpecDigest, v.Desired.Entry
	out.Configuration, out.Secrets, out.Contexts, out.Imports, out.Hidden = a.Configuration, a.Secrets, a.Contexts, a.Imports, a.Hidden
	out.Cluster = &agentv1.ClusterData{
		Id: a.Cluster.ID, Handle: a.Cluster.Handle, Name: a.Cluster.Name, Tags: a.Cluster.Tags,
		Metadata: a.Cluster.Metadata, Distro: a.Cluster.Distro, KubernetesMinor: a.Cluster.KubernetesMinor,
	}
	out.Display = &agentv1.Display{
		Revision: v.Revision, SourceRevision: v.Desired.SourceRevision, Message: v.Desired.Message,
		Author: v.Desired.Author, CommittedAt: v.Desired.CommittedAt, CreatedAt: a.RevisionCreatedAt,
	}
	out.PruneApproval, out.DiffRequest = v.PruneApproval, v.DiffRequest
	out.SyncRequest, out.SyncResources = v.SyncRequest, v.SyncResources
	out.Tenancy, out.MakesCluster = tenancyMessage(v.Limits, v.ProjectID), a.MakesCluster
	for _, r := range a.Replacing {
		out.ReplaceMachines = append(out.ReplaceMachines, &agentv1.MachineReplacement{Uid: r.UID, Pool: r.Pool})
	}
	return out
}

// delivered returns a service's spec with what its sources, its project and the hub
// add to it.
func delivered(v fleet.Service) fleet.Spec {
	spec := v.Spec
	spec.ServiceAccount = cmp.Or(spec.ServiceAccount, v.Limits.ServiceAccount)
	spec.SyncWindows = slices.Concat(spec.SyncWindows, windowsOf("project", v.Limits.SyncWindows), windowsOf("hub", v.Limits.HubWindows))
	if spec.Helm != nil && fleet.HasChartPart(v.Parts) {
		helm := *spec.Helm
		helm.ChartPath = fleet.ChartPath
		spec.Helm = &helm
	}
	return spec
}

func windowsOf(level string, all []fleet.SyncWindow) []fleet.SyncWindow {
	all = slices.Clone(all)
	for i := range all {
		all[i].Level = level
	}
	return all
}

// tenancyMessage returns nil where nothing is limited, which is the agent's
// default.
func tenancyMessage(l fleet.Limits, projectID string) *agentv1.Tenancy {
	administrators := identity.ForAdministrators(projectID)
	if len(l.Namespaces)+len(l.Kinds) == 0 && !l.ClusterScoped && !administrators {
		return nil
	}
	return &agentv1.Tenancy{Namespaces: l.Namespaces, Kinds: l.Kinds, ClusterScoped: l.ClusterScoped, Closed: len(l.Namespaces) > 0, Administrators: administrators}
}
