package controller

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// Config configures the controllers.
type Config struct {
	Hub *Hub
	// AdminNamespaces are the namespaces whose objects act with the operator's token.
	AdminNamespaces []string
	// ClusterUID is the uid of the namespace kube-system of the cluster; it is part of
	// what the hub records as the manager.
	ClusterUID string
	// Workers of each kind; zero is 8.
	Workers int
	// Timing is for tests; its zero value is what docs/operator.md says.
	Timing Timing
}

// referenceIndex is the index of the objects of a kind by what they refer to.
const referenceIndex = "axle.references"

// Add adds the controllers of all kinds to a manager. An error says which CRD the
// cluster does not have.
func Add(ctx context.Context, m manager.Manager, c Config) error {
	admins := map[string]bool{}
	for _, namespace := range c.AdminNamespaces {
		admins[namespace] = true
	}
	timing := c.Timing.withDefaults()
	for _, k := range all() {
		gvk := v1alpha1.GroupVersion.WithKind(k.name)
		if _, err := m.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			return errcode.New(errcode.Invalid, "the cluster has no kind %s: apply the CRDs first, with kubectl apply --server-side -f deploy/crds: %w", k.name, err)
		}
		r := &reconciler{
			kind: k, cluster: m.GetClient(), direct: m.GetAPIReader(), hubs: c.Hub, admins: admins, clusterUID: c.ClusterUID, timing: timing,
			events: m.GetEventRecorder("axle-operator"), due: newSchedule(timing.Pending),
		}
		if err := r.add(ctx, m, c.Workers); err != nil {
			return fmt.Errorf("the controller of %s: %w", k.name, err)
		}
	}
	return nil
}

// defaultWorkers is how many objects of a kind are reconciled at a time.
const defaultWorkers = 8

func (r *reconciler) add(ctx context.Context, m manager.Manager, workers int) error {
	if workers == 0 {
		workers = defaultWorkers
	}
	unchecked := true // the name is unique here, but not in a process with two operators
	b := builder.ControllerManagedBy(m).Named(r.name).
		For(r.object, builder.WithPredicates(predicate.Funcs{UpdateFunc: changed})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers, SkipNameValidation: &unchecked,
			RateLimiter: workqueue.TypedRateLimiter[reconcile.Request](newBackoff(r.timing)),
		})
	if r.references != nil {
		err := m.GetFieldIndexer().IndexField(ctx, r.object, referenceIndex, func(o client.Object) []string {
			var keys []string
			for _, ref := range r.references(o) {
				keys = append(keys, ref.key())
			}
			return keys
		})
		if err != nil {
			return err
		}
	}
	for _, name := range r.refersTo {
		referrers := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request { return r.referrers(ctx, name, o) })
		switch name {
		case secretKind, configMapKind:
			// Only names and versions: what is in them is read when it is needed.
			object := &metav1.PartialObjectMetadata{}
			object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(name))
			b = b.WatchesMetadata(object, referrers)
		default:
			k, _ := kindNamed(name)
			b = b.Watches(k.object.DeepCopyObject().(client.Object), referrers)
		}
	}
	return b.Complete(r)
}

// changed reports whether an update changed what an object declares. What the
// operator itself writes (status, finalizer, name) does not: its next reconcile could
// see a cache from before it, and send the same again.
func changed(e event.UpdateEvent) bool {
	own := func(o client.Object) map[string]string {
		annotations := maps.Clone(o.GetAnnotations())
		delete(annotations, nameAnnotation)
		return annotations
	}
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || !maps.Equal(own(e.ObjectOld), own(e.ObjectNew))
}

// referrers returns the objects of the kind that refer to one that changed.
func (r *reconciler) referrers(ctx context.Context, kind string, o client.Object) []reconcile.Request {
	list := r.list.DeepCopyObject().(client.ObjectList)
	ref := reference{kind: kind, at: client.ObjectKeyFromObject(o)}
	if err := r.cluster.List(ctx, list, client.MatchingFields{referenceIndex: ref.key()}); err != nil {
		return nil // the wait for what is missing, or the next check, finds it
	}
	var requests []reconcile.Request
	for _, key := range keys(list) {
		requests = append(requests, reconcile.Request{NamespacedName: key})
	}
	return requests
}

// keys returns the keys of the objects of a list.
func keys(list client.ObjectList) []client.ObjectKey {
	var out []client.ObjectKey
	_ = meta.EachListItem(list, func(o runtime.Object) error { // fails only for what is no list
		out = append(out, client.ObjectKeyFromObject(o.(client.Object)))
		return nil
	})
	return out
}
