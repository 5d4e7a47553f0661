package rights

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	"github.com/axle-cd/axle/operator/condition"
	"github.com/axle-cd/axle/operator/schedule"
	"github.com/axle-cd/axle/operator/tenancy"
)

// grants says of each ReferenceGrant that it is in force. Package tenancy reads grants
// itself: what they allow does not wait for their status.
type grants struct{ cluster client.Client }

// AddGrants adds the controller of ReferenceGrants to a manager.
func AddGrants(m manager.Manager, timing schedule.Timing) error {
	return builder.ControllerManagedBy(m).Named(tenancy.GrantKind).For(&axlev1alpha1.ReferenceGrant{}).
		WithOptions(schedule.Options(1, timing)).Complete(&grants{m.GetClient()})
}

// Reconcile implements reconcile.Reconciler.
func (r *grants) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := &axlev1alpha1.ReferenceGrant{}
	if err := r.cluster.Get(ctx, request.NamespacedName, object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	before, status := object.DeepCopy(), &object.Status
	status.ObservedGeneration = object.Generation
	meta.RemoveStatusCondition(&status.Conditions, condition.Supported)
	condition.Set(object, &status.Conditions, condition.Ready, true, condition.Ready, "the references that it allows are followed")
	if equality.Semantic.DeepEqual(before, object) {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(r.cluster.Status().Patch(ctx, object, client.MergeFrom(before)))
}
