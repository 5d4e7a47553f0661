package credentials

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	"github.com/axle-cd/axle/operator/tenancy"
)

// grants says of each ReferenceGrant that it is in force. Package tenancy reads grants
// itself: what they allow does not wait for their status.
type grants struct{ cluster client.Client }

func addGrants(m manager.Manager, options controller.Options) error {
	return builder.ControllerManagedBy(m).Named(tenancy.GrantKind).For(&axlev1alpha1.ReferenceGrant{}).
		WithOptions(options).Complete(&grants{m.GetClient()})
}

// Reconcile implements reconcile.Reconciler.
func (r *grants) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := &axlev1alpha1.ReferenceGrant{}
	if err := r.cluster.Get(ctx, request.NamespacedName, object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	before, status := object.DeepCopy(), &object.Status
	status.ObservedGeneration = object.Generation
	meta.RemoveStatusCondition(&status.Conditions, supported)
	set(object, &status.Conditions, ready, metav1.ConditionTrue, ready, "the references that it allows are followed")
	if equality.Semantic.DeepEqual(before, object) {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(r.cluster.Status().Patch(ctx, object, client.MergeFrom(before)))
}
