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
