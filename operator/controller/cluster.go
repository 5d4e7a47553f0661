package controller

import (
	"context"
	"maps"
	"time"

	"connectrpc.com/connect"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// clusters has no finalizer: a Cluster is never created or deleted by its object.
func clusters() kind {
	return kind{
		name: "Cluster", object: &v1alpha1.Cluster{}, list: &v1alpha1.ClusterList{}, hub: clusterCalls{},
		common: func(o client.Object) common {
			c := o.(*v1alpha1.Cluster)
			return common{&c.Status.Status, c.Spec.Reconciliation}
		},
	}
}

type clusterCalls struct{}

func foundCluster(c *hubv1.Cluster) *found {
	f := &found{id: c.GetId(), message: c, managed: true, by: c.GetManagedBy(), show: func(o client.Object) {
		status := &o.(*v1alpha1.Cluster).Status
		status.CurrentVersion = optional(c.GetKubernetesVersion())
		status.PingedAt = nil
		if at := c.GetPingedAt(); at > 0 {
			status.PingedAt = optional(time.UnixMicro(at).UTC().Format(time.RFC3339))
		}
	}}
	switch {
	case c.GetPending():
		f.waits = "the cluster waits for approval: axle clusters approve " + c.GetName()
	case !c.GetRegistered():
		f.waits = "no agent has registered for the cluster yet"
	}
	return f
}

func (clusterCalls) read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*found, error) {
	have, err := c.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: item.Name}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundCluster(have.Msg), nil
}

func (clusterCalls) same(_ context.Context, _ *sdk.Client, item *manifest.Item, f *found) (bool, error) {
	have, want := f.message.(*hubv1.Cluster), item.Cluster
	return (!want.GetSetTags() || maps.Equal(have.GetTags(), want.GetTags())) &&
		(!want.GetSetMetadata() || manifest.SameJSON(have.GetMetadata(), want.GetMetadata())), nil
}

func (clusterCalls) write(ctx context.Context, c *sdk.Client, item *manifest.Item, _ *found) (*found, error) {
	answer, err := c.Clusters.Update(ctx, connect.NewRequest(item.Cluster))
	if err != nil {
		return nil, err
	}
	return foundCluster(answer.Msg), nil
}

// remove is never called: the kind has no finalizer.
func (clusterCalls) remove(context.Context, *sdk.Client, client.Object, string, *hubv1.Manager) (bool, error) {
	return true, nil
}

// optional returns nil for the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
