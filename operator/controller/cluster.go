package controller

import (
	"time"

	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/sdk/declare"
)

// clusters has no finalizer: a Cluster is never created or deleted by its object.
func clusters() kind {
	return kind{
		name: "Cluster", object: &v1alpha1.Cluster{}, list: &v1alpha1.ClusterList{}, hub: declared{Kind: declare.Clusters, show: showCluster},
		common: func(o client.Object) common {
			c := o.(*v1alpha1.Cluster)
			return common{&c.Status.Status, c.Spec.Reconciliation}
		},
	}
}

func showCluster(o client.Object, m proto.Message) {
	c, status := m.(*hubv1.Cluster), &o.(*v1alpha1.Cluster).Status
	status.CurrentVersion = optional(c.GetKubernetesVersion())
	status.PingedAt = nil
	if at := c.GetPingedAt(); at > 0 {
		status.PingedAt = optional(time.UnixMicro(at).UTC().Format(time.RFC3339))
	}
}

// optional returns nil for the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
