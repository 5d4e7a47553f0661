package flux

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/sdk/manifest"
)

// Name is one source.
type Name struct {
	Kind string
	types.NamespacedName
}

// Sources are the sources of one cluster. It is safe for concurrent use.
type Sources struct {
	discovery discovery.DiscoveryInterface
	objects   dynamic.Interface
	metadata  metadata.Interface
	every     time.Duration
	log       *slog.Logger
	// soon asks the owner of the watches for a look.
	soon chan struct{}

	mu     sync.Mutex
	served map[string]watched
	hears  []func(context.Context, Name)
}

// watched is a kind that is served.
type watched struct {
	resource schema.GroupVersionResource
	stop     context.CancelFunc
}

// atMostEvery is the shortest time between two looks at the discovery.
const atMostEvery = 5 * time.Second

// New returns the sources of a manager's cluster, whose watches run with the manager.
// every is the time between two looks for the kinds; zero is 1 min.
func New(m manager.Manager, every time.Duration, log *slog.Logger) (*Sources, error) {
	s := &Sources{every: every, log: log, soon: make(chan struct{}, 1), served: map[string]watched{}}
	if s.every == 0 {
		s.every = time.Minute
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	var err error
	if s.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(m.GetConfig(), m.GetHTTPClient()); err != nil {
		return nil, err
	}
	if s.objects, err = dynamic.NewForConfigAndClient(m.GetConfig(), m.GetHTTPClient()); err != nil {
		return nil, err
	}
	if s.metadata, err = metadata.NewForConfigAndClient(m.GetConfig(), m.GetHTTPClient()); err != nil {
		return nil, err
	}
	// Known from the start, so that no source is missing for a moment.
	if err := s.find(); err != nil {
		s.log.Warn("the kinds of Flux are not read yet", logkey.Error, err)
	}
	return s, m.Add(manager.RunnableFunc(s.run))
}

// Serves reports whether the cluster has a kind.
func (s *Sources) Serves(kind string) bool {
	_, ok := s.resource(kind)
	return ok
}

func (s *Sources) resource(kind string) (schema.GroupVersionResource, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.served[kind]
	return w.resource, ok
}

// Get reads a source from the API server. errcode.NotFound, also while the cluster does
// not have the kind; then it is looked for sooner.
func (s *Sources) Get(ctx context.Context, of Name) (*manifest.FluxSource, error) {
	resource, ok := s.resource(of.Kind)
	if !slices.Contains(manifest.FluxKinds, of.Kind) {
		return nil, errcode.New(errcode.Invalid, "sourceRef.kind %q is none of %s", of.Kind, strings.Join(manifest.FluxKinds, ", "))
	}
	if !ok {
		select {
		case s.soon <- struct{}{}:
		default: // a look is due already
		}
		return nil, errcode.New(errcode.NotFound, "the cluster has no kind %s of Flux (%s)", of.Kind, manifest.FluxGroup)
	}
	object, err := s.objects.Resource(resource).Namespace(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, errcode.New(errcode.NotFound, "%s %s of Flux does not exist", of.Kind, of.NamespacedName)
	case apierrors.IsForbidden(err):
		return nil, errcode.New(errcode.Forbidden, "the operator may not read %s %s of Flux: apply deploy/operator/rbac.yaml of this version", of.Kind, of.NamespacedName)
	case err != nil:
		return nil, err
	}
	text, err := json.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	return manifest.ReadFlux(text, of.NamespacedName.String())
}

// Hear calls f for each source that comes, goes or changes what it declares, until the
// context ends.
func (s *Sources) Hear(ctx context.Context, f func(context.Context, Name)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hears = append(s.hears, func(_ context.Context, of Name) {
		if ctx.Err() == nil {
			f(ctx, of)
		}
	})
}

func (s *Sources) tell(ctx context.Context, of Name) {
	s.mu.Lock()
	hears := slices.Clone(s.hears)
	s.mu.Unlock()
	for _, f := range hears {
		f(ctx, of)
	}
}

// run owns the watches: it looks at the discovery, and starts and ends them.
func (s *Sources) run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		if err := s.find(); err != nil && ctx.Err() == nil {
			s.log.Warn("the kinds of Flux cannot be looked up", logkey.Error, err)
		}
		s.watch(ctx, &running)
		if jitter.Wait(ctx, min(s.every, atMostEvery)) != nil {
			return nil
		}
		timer := time.NewTimer(jitter.Around(s.every, s.every/2))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-s.soon:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// find looks up which kinds are served, in which version: the one that the API server
// prefers and that has the kind.
func (s *Sources) find() error {
	groups, err := s.discovery.ServerGroups()
	if err != nil {
		return err
	}
	now := map[string]schema.GroupVersionResource{}
	for _, group := range groups.Groups {
		if group.Name != manifest.FluxGroup {
			continue
		}
		for _, version := range group.Versions { // the preferred one is the first
			list, err := s.discovery.ServerResourcesForGroupVersion(version.GroupVersion)
			if apierrors.IsNotFound(err) {
				continue // the group goes
			}
			if err != nil {
				return err
			}
			for _, r := range list.APIResources {
				if _, known := now[r.Kind]; !known && slices.Contains(manifest.FluxKinds, r.Kind) && slices.Contains(r.Verbs, "watch") {
					now[r.Kind] = schema.GroupVersionResource{Group: manifest.FluxGroup, Version: version.Version, Resource: r.Name}
				}
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind, w := range s.served {
		if now[kind] != w.resource {
			if w.stop != nil {
				w.stop()
			}
			delete(s.served, kind)
		}
	}
	for kind, resource := range now {
		if _, known := s.served[kind]; !known {
			s.served[kind] = watched{resource: resource}
		}
	}
	return nil
}

// watch starts the watches of kinds that have none.
func (s *Sources) watch(ctx context.Context, running *sync.WaitGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind, w := range s.served {
		if w.stop != nil {
			continue
		}
		inner, stop := context.WithCancel(ctx)
		w.stop = stop
		s.served[kind] = w
		informer := metadatainformer.NewFilteredMetadataInformer(s.metadata, w.resource, metav1.NamespaceAll, 0, toolscache.Indexers{}, nil).Informer()
		// They fail only on informers that have started.
		_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *toolscache.Reflector, err error) {
			s.log.Warn("sources of Flux are not watched", "kind", kind, logkey.Error, err)
		})
		_ = informer.SetTransform(func(o any) (any, error) {
			if object, ok := o.(*metav1.PartialObjectMetadata); ok {
				return &metav1.PartialObjectMetadata{TypeMeta: object.TypeMeta, ObjectMeta: metav1.ObjectMeta{
					Namespace: object.Namespace, Name: object.Name, UID: object.UID, Generation: object.Generation, ResourceVersion: object.ResourceVersion,
				}}, nil
			}
			return o, nil
		})
		tell := func(o any) {
			if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			if object, ok := o.(*metav1.PartialObjectMetadata); ok {
				s.tell(inner, Name{kind, types.NamespacedName{Namespace: object.Namespace, Name: object.Name}})
			}
		}
		_, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: tell, DeleteFunc: tell, UpdateFunc: func(before, after any) {
			a, ok := before.(*metav1.PartialObjectMetadata)
			b, also := after.(*metav1.PartialObjectMetadata)
			if !ok || !also || a.UID != b.UID || a.Generation != b.Generation {
				tell(after)
			}
		}})
		if err != nil {
			s.log.Warn("sources of Flux are not watched", "kind", kind, logkey.Error, err)
			continue
		}
		running.Go(func() { informer.RunWithContext(inner) })
	}
}
