package controller

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/declare"
	"github.com/axle-cd/axle/sdk/manifest"
)

// detachAnnotation with the value "true" leaves the machines of a cluster whose object is
// deleted.
const detachAnnotation = kinds.Axle + "/detach"

// clusters never creates or deletes a cluster by its object, and gives that no finalizer,
// except for one with a Provider: the hub makes that cluster from a template.
func clusters() kind {
	made := func(o client.Object) bool { return manifest.MadeByProvider(o.(*v1alpha1.Cluster)) }
	return kind{
		name: "Cluster", protection: "cluster", guards: made, object: &v1alpha1.Cluster{}, list: &v1alpha1.ClusterList{}, hub: clusterCalls{declared{Kind: declare.Clusters, show: showCluster}},
		instead: func(name string) string {
			return "Cluster " + name + ": connect it first, with axle clusters connect " + name
		},
		refersTo: []string{"Provider", "Project"},
		references: func(o client.Object) []reference.Reference {
			if spec := o.(*v1alpha1.Cluster).Spec; made(o) {
				return append(reference.ToGlobal("spec.providerRef", "Provider", spec.ProviderRef), reference.ToGlobal("spec.projectRef", "Project", spec.ProjectRef)...)
			}
			return nil
		},
		resolve: func(o client.Object, r reference.Resolved) { r.Project(o.(*v1alpha1.Cluster).Spec.ProjectRef) },
	}
}

// clusterCalls are those of declared, except that a cluster of a template leaves the hub with
// its object.
type clusterCalls struct{ declared }

func (clusterCalls) remove(ctx context.Context, c *sdk.Client, o client.Object, name string, by *hubv1.Manager) (bool, error) {
	return leave(ctx, c, name, by, o.GetAnnotations()[detachAnnotation] == "true", "with the annotation "+detachAnnotation+": \"true\"")
}

// providers are nothing in the hub: Clusters that name one are made from the template of its
// name.
func providers() kind {
	return kind{
		name: "Provider", object: &v1alpha1.Provider{}, list: &v1alpha1.ProviderList{}, hub: providerCalls{},
		instead: func(name string) string {
			return "cluster template " + name + ": an administrator registers it, with axle clusters templates apply " + name
		},
	}
}

// providerCalls only read.
type providerCalls struct{}

func (providerCalls) read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*found, error) {
	have, err := c.ClusterTemplates.Get(ctx, connect.NewRequest(&hubv1.GetClusterTemplateRequest{Name: item.Name}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	f := &found{id: have.Msg.GetId(), message: have.Msg}
	if len(have.Msg.GetSettings().GetManagementClusters()) == 0 {
		f.waits = "cluster template " + item.Name + " names no management clusters: an administrator adds them"
	}
	return f, nil
}

func (providerCalls) same(context.Context, *sdk.Client, *manifest.Item, *found) (bool, error) {
	return true, nil
}

func (providerCalls) write(_ context.Context, _ *sdk.Client, _ *manifest.Item, have *found) (*found, error) {
	return have, nil
}

func (providerCalls) remove(context.Context, *sdk.Client, client.Object, string, *hubv1.Manager) (bool, error) {
	return true, nil
}

func showCluster(o client.Object, m proto.Message) {
	c, status := m.(*hubv1.Cluster), &o.(*v1alpha1.Cluster).Status
	status.CurrentVersion, status.ClusterAPI = optional(c.GetKubernetesVersion()), clusterAPI(c)
	status.PingedAt = nil
	if at := c.GetPingedAt(); at > 0 {
		status.PingedAt = optional(time.UnixMicro(at).UTC().Format(time.RFC3339))
	}
}

// clusterAPI is the state of a cluster from a template, nil for another one.
func clusterAPI(c *hubv1.Cluster) *v1alpha1.ClusterAPIStatus {
	o := c.GetOrigin()
	if o == nil {
		return nil
	}
	s := o.GetState()
	out := &v1alpha1.ClusterAPIStatus{
		Phase: s.GetPhase(), Message: s.GetMessage(), Template: o.GetTemplate(), Commit: o.GetCommit(), Version: o.GetVersion(),
		ManagementCluster: o.GetManagementCluster(), Namespace: o.GetNamespace(), Unmet: s.GetUnmet(),
	}
	machines := func(m *hubv1.MadeMachines) v1alpha1.ClusterAPIMachines {
		return v1alpha1.ClusterAPIMachines{Name: m.GetName(), Phase: m.GetPhase(), Desired: m.GetDesired(), Ready: m.GetReady(), UpToDate: m.GetUpToDate(), Versions: m.GetVersions()}
	}
	if m := s.GetControlPlane(); m != nil {
		of := machines(m)
		out.ControlPlane = &of
	}
	for _, m := range s.GetPools() {
		out.Pools = append(out.Pools, machines(m))
	}
	for _, c := range s.GetConditions() {
		out.Conditions = append(out.Conditions, v1alpha1.ClusterAPICondition{Type: c.GetType(), Status: c.GetStatus(), Reason: c.GetReason(), Message: c.GetMessage()})
	}
	return out
}

// optional returns nil for the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
