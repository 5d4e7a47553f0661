package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/operator/flux"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/operator/rights"
	"github.com/axle-cd/axle/operator/schedule"
	"github.com/axle-cd/axle/operator/tenancy"
)

// Config configures the controllers.
type Config struct {
	Clients *tenancy.Clients
	// AdminNamespaces are the namespaces whose objects act with the operator's token.
	AdminNamespaces []string
	// OwnSecrets are those of the control plane, which no object may name.
	OwnSecrets []types.NamespacedName
	// ClusterUID is the uid of the namespace kube-system of the cluster; it is part of
	// what the hub records as the manager.
	ClusterUID string
	// Workers of each kind for one namespace; zero is 8. There are as many again for the
	// other namespaces.
	Workers int
	// Timing is for tests; its zero value is what docs/operator.md says.
	Timing Timing
	// Log is where lines go; nil is slog's default.
	Log *slog.Logger
}

// referenceIndex is the index of the objects of a kind by what they refer to.
const referenceIndex = "axle.references"

// Add adds the controllers of all kinds to a manager. An error says which CRD the
// cluster does not have.
func Add(ctx context.Context, m manager.Manager, c Config) error {
	timing := c.Timing.WithDefaults()
	for _, gvk := range []schema.GroupVersionKind{v1alpha1.GroupVersion.WithKind(rights.CredentialsKind), axlev1alpha1.GroupVersion.WithKind(tenancy.GrantKind)} {
		if _, err := served(m, gvk); err != nil {
			return err
		}
	}
	who, err := tenancy.New(ctx, tenancy.Config{Manager: m, Clients: c.Clients, AdminNamespaces: c.AdminNamespaces, OwnSecrets: c.OwnSecrets, Discover: timing.Discover, Log: c.Log})
	if err != nil {
		return err
	}
	sources, err := flux.New(m, timing.Discover, c.Log)
	if err != nil {
		return err
	}
	for _, k := range all() {
		mapping, err := served(m, k.gvk())
		if err != nil {
			return err
		}
		if err := readable(ctx, m, k); err != nil {
			return err
		}
		r := &reconciler{
			kind: k, cluster: m.GetClient(), direct: m.GetAPIReader(), tenancy: who, flux: sources, learned: &flux.Index{}, clusterUID: c.ClusterUID, timing: timing,
			events: m.GetEventRecorder("axle-operator"), due: schedule.New(timing.Pending),
			namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
		}
		if err := r.add(ctx, m, c.Workers); err != nil {
			return fmt.Errorf("the controller of %s: %w", k.name, err)
		}
	}
	return errors.Join(rights.AddCredentials(m, who, timing), rights.AddGrants(m, timing), addGenerated(ctx, m, who, c.ClusterUID, timing))
}

// served fails for a kind that the cluster does not have.
func served(m manager.Manager, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := m.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the cluster has no kind %s: apply the CRDs first, with kubectl apply --server-side -f deploy/crds: %w", gvk.Kind, err)
	}
	return mapping, nil
}

// readable fails for a kind that the operator may not list: its cache would wait for the
// right without an end, and nothing would say so.
func readable(ctx context.Context, m manager.Manager, k kind) error {
	err := m.GetAPIReader().List(ctx, k.list.DeepCopyObject().(client.ObjectList), client.Limit(1))
	if apierrors.IsForbidden(err) {
		return errcode.New(errcode.Forbidden, "the operator may not read the kind %s: apply the rights of this version first, with kubectl apply -f deploy/operator/rbac.yaml: %w", k.name, err)
	}
	return err
}

// defaultWorkers is how many objects of a kind in one namespace are reconciled at a time.
const defaultWorkers = 8

func (r *reconciler) add(ctx context.Context, m manager.Manager, workers int) error {
	if workers == 0 {
		workers = defaultWorkers
	}
	b := builder.ControllerManagedBy(m).Named(r.name).
		For(r.object, builder.WithPredicates(predicate.Funcs{UpdateFunc: changed})).
		WithOptions(schedule.Options(workers, r.timing))
	if r.namespaced {
		b = b.Watches(&v1alpha1.NamespaceCredentials{}, handler.EnqueueRequestsFromMapFunc(r.tenants))
	}
	if r.references != nil {
		err := m.GetFieldIndexer().IndexField(ctx, r.object, referenceIndex, func(o client.Object) []string {
			var keys []string
			for _, ref := range r.references(o) {
				keys = append(keys, ref.Key())
				if tenancy.Foreign(o.GetNamespace(), ref.At.Namespace) {
					keys = append(keys, reference.Into(ref.At.Namespace))
				}
			}
			return keys
		})
		if err != nil {
			return err
		}
		b = b.Watches(&axlev1alpha1.ReferenceGrant{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return r.indexed(ctx, reference.Into(o.GetNamespace()))
		})).WatchesRawSource(source.Func(r.hear))
	}
	for _, name := range r.refersTo {
		referrers := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request { return r.referrers(ctx, name, o) })
		switch name {
		case reference.Secret, reference.ConfigMap:
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
// see a cache from before it, and send the same again. A finalizer that somebody removed
// is put back.
func changed(e event.UpdateEvent) bool {
	own := func(o client.Object) map[string]string {
		annotations := maps.Clone(o.GetAnnotations())
		delete(annotations, nameAnnotation)
		delete(annotations, tokenSecret)
		delete(annotations, boundAnnotation)
		return annotations
	}
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || !maps.Equal(own(e.ObjectOld), own(e.ObjectNew)) ||
		len(e.ObjectNew.GetFinalizers()) < len(e.ObjectOld.GetFinalizers())
}

// referrers returns the objects of the kind that refer to one that changed.
func (r *reconciler) referrers(ctx context.Context, kind string, o client.Object) []reconcile.Request {
	if made, ok := o.(*axlev1alpha1.Repository); ok {
		ref := value(made.Spec.SourceRef)
		return r.indexed(ctx, reference.ToFlux("", ref.Kind, made.Namespace, ref.Name).Key())
	}
	return r.indexed(ctx, reference.Reference{Kind: kind, At: client.ObjectKeyFromObject(o)}.Key())
}

// indexed returns the objects of the kind with a key in the index of references.
func (r *reconciler) indexed(ctx context.Context, key string) []reconcile.Request {
	return append(r.matching(ctx, client.MatchingFields{referenceIndex: key}), tenancy.Requests(r.learned.Of(key)...)...)
}

// tenants returns the objects of the kind that act with credentials that changed.
func (r *reconciler) tenants(ctx context.Context, o client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, namespace := range o.(*v1alpha1.NamespaceCredentials).Spec.Namespaces {
		requests = append(requests, r.matching(ctx, client.InNamespace(namespace))...)
	}
	return requests
}

func (r *reconciler) matching(ctx context.Context, which client.ListOption) []reconcile.Request {
	list := r.list.DeepCopyObject().(client.ObjectList)
	if err := r.cluster.List(ctx, list, which); err != nil {
		return nil // the wait for what is missing, or the next check, finds it
	}
	return tenancy.Requests(keys(list)...)
}

// hear puts into the queue what changes that the manager's cache does not see are about.
func (r *reconciler) hear(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.flux.Hear(ctx, func(ctx context.Context, of flux.Name) {
		for _, request := range r.indexed(ctx, reference.ToFlux("", of.Kind, of.Namespace, of.Name).Key()) {
			queue.Add(request)
		}
	})
	r.tenancy.Hear(ctx, func(ctx context.Context, c tenancy.Change) {
		key := reference.Into(c.Namespace)
		if c.Kind != tenancy.GrantKind {
			key = reference.Reference{Kind: c.Kind, At: client.ObjectKey{Namespace: c.Namespace, Name: c.Name}}.Key()
		}
		for _, request := range r.indexed(ctx, key) {
			queue.Add(request)
		}
	})
	return nil
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
