package tenancy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/metadata/metadatainformer"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

// maxWatched bounds the namespaces that are watched besides the admin ones.
const maxWatched = 500

// watch sets up what runs with the manager.
func (t *Tenancy) watch(ctx context.Context) error {
	for _, object := range []client.Object{&v1alpha1.NamespaceCredentials{}, &axlev1alpha1.ReferenceGrant{}} {
		informer, err := t.manager.GetCache().GetInformer(ctx, object)
		if err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
		if _, err := informer.AddEventHandler(handle(func(client.Object) { t.count() })); err != nil {
			return err
		}
	}
	// In the cache from the start, so that no reference is refused before it is read.
	if err := t.addGateway(ctx); err != nil {
		return err
	}
	return errors.Join(t.manager.Add(manager.RunnableFunc(t.watchNamespaces)), t.manager.Add(manager.RunnableFunc(t.awaitGateway)))
}

// handle calls f for each object that is added, changed or deleted.
func handle(f func(client.Object)) toolscache.ResourceEventHandler {
	one := func(o any) {
		if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = gone.Obj
		}
		if object, ok := o.(client.Object); ok {
			f(object)
		}
	}
	return toolscache.ResourceEventHandlerFuncs{AddFunc: one, UpdateFunc: func(_, o any) { one(o) }, DeleteFunc: one}
}

// count asks for a comparison of the watches with what is needed.
func (t *Tenancy) count() {
	select {
	case t.recount <- struct{}{}:
	default: // one is due already
	}
}

// addGateway watches the ReferenceGrants of Gateway API, if the cluster has them.
func (t *Tenancy) addGateway(ctx context.Context) error {
	_, err := t.manager.GetRESTMapper().RESTMapping(gatewayGrant.GroupKind(), gatewayGrant.Version)
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the kind %s: %w", gatewayGrant.GroupKind(), err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gatewayGrant)
	informer, err := t.manager.GetCache().GetInformer(ctx, object)
	if err != nil {
		return fmt.Errorf("watch %s: %w", gatewayGrant.GroupKind(), err)
	}
	t.gateway.Store(true)
	_, err = informer.AddEventHandler(handle(func(o client.Object) {
		t.count()
		t.tell(ctx, Change{GrantKind, o.GetNamespace(), o.GetName()})
	}))
	return err
}

// awaitGateway looks for the ReferenceGrants of Gateway API until they are there.
func (t *Tenancy) awaitGateway(ctx context.Context) error {
	for !t.gateway.Load() {
		if jitter.Wait(ctx, jitter.Around(t.discover, t.discover/2)) != nil {
			return nil
		}
		if err := t.addGateway(ctx); err != nil && ctx.Err() == nil {
			t.log.Warn("the ReferenceGrants of Gateway API are not read", logkey.Error, err)
		}
	}
	return nil
}

// watchNamespaces owns a watch of Secrets and ConfigMaps in each namespace outside of
// the admin ones from where objects act, or where a grant allows such references. The
// operator needs rights in these namespaces only.
func (t *Tenancy) watchNamespaces(ctx context.Context) error {
	var running sync.WaitGroup
	watches := map[string]context.CancelFunc{}
	defer running.Wait()
	defer func() {
		for _, stop := range watches {
			stop()
		}
	}()
	for {
		needed, err := t.needed(ctx)
		if err != nil {
			return err
		}
		for namespace, stop := range watches {
			if !slices.Contains(needed, namespace) {
				stop()
				delete(watches, namespace)
			}
		}
		for _, namespace := range needed {
			if watches[namespace] == nil {
				inner, stop := context.WithCancel(ctx)
				watches[namespace] = stop
				t.watchNamespace(inner, &running, namespace)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.recount:
		}
	}
}

// needed are the namespaces to watch, in order.
func (t *Tenancy) needed(ctx context.Context) ([]string, error) {
	found := map[string]bool{}
	var credentials v1alpha1.NamespaceCredentialsList
	if err := t.cluster.List(ctx, &credentials); err != nil {
		return nil, err
	}
	for i := range credentials.Items {
		for _, namespace := range named(&credentials.Items[i]) {
			found[namespace] = true
		}
	}
	var ours axlev1alpha1.ReferenceGrantList
	if err := t.cluster.List(ctx, &ours); err != nil {
		return nil, err
	}
	for _, grant := range ours.Items {
		if grantsValues(grant.Spec) {
			found[grant.Namespace] = true
		}
	}
	if t.gateway.Load() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gatewayGrant.GroupVersion().WithKind(GrantKind + "List"))
		if err := t.manager.GetCache().List(ctx, list); err != nil {
			return nil, err
		}
		for _, grant := range list.Items {
			found[grant.GetNamespace()] = true
		}
	}
	maps.DeleteFunc(found, func(namespace string, _ bool) bool { return t.Admin(namespace) })
	all := slices.Sorted(maps.Keys(found))
	if len(all) > maxWatched {
		t.log.Warn("too many namespaces are watched: changes of Secrets and ConfigMaps in others are found at the next check", "namespaces", len(all), "watched", maxWatched)
		all = all[:maxWatched]
	}
	return all, nil
}

// grantsValues reports whether a grant is about Secrets or ConfigMaps.
func grantsValues(spec axlev1alpha1.ReferenceGrantSpec) bool {
	return slices.ContainsFunc(spec.To, func(o axlev1alpha1.ReferenceGrantTo) bool { return o.Group == "" })
}

// watchNamespace watches the names of Secrets and ConfigMaps until the context ends.
func (t *Tenancy) watchNamespace(ctx context.Context, running *sync.WaitGroup, namespace string) {
	for kind, resource := range map[string]string{"Secret": "secrets", "ConfigMap": "configmaps"} {
		informer := metadatainformer.NewFilteredMetadataInformer(t.metadata, corev1.SchemeGroupVersion.WithResource(resource), namespace, 0, toolscache.Indexers{}, nil).Informer()
		warn := sync.OnceFunc(func() {
			t.log.Warn("the operator may not watch: bind the ClusterRole axle-operator-tenant to its ServiceAccount in the namespace", "kind", kind, "namespace", namespace)
		})
		// They fail only on informers that have started.
		_ = informer.SetWatchErrorHandlerWithContext(func(context.Context, *toolscache.Reflector, error) { warn() })
		_ = informer.SetTransform(func(o any) (any, error) {
			if object, ok := o.(*metav1.PartialObjectMetadata); ok {
				return &metav1.PartialObjectMetadata{TypeMeta: object.TypeMeta, ObjectMeta: metav1.ObjectMeta{
					Namespace: object.Namespace, Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion,
				}}, nil
			}
			return o, nil
		})
		_, err := informer.AddEventHandler(handle(func(o client.Object) { t.tell(ctx, Change{kind, o.GetNamespace(), o.GetName()}) }))
		if err != nil {
			t.log.Warn("a namespace is not watched", "kind", kind, "namespace", namespace, logkey.Error, err)
			continue
		}
		running.Go(func() { informer.RunWithContext(ctx) })
	}
}
