package kube

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

// The served kinds are read this long after an event for the first time, then after
// twice that, up to the last delay.
const (
	servedMin = 2 * time.Second
	servedMax = 16 * time.Second
)

// Run watches the kinds that define what is served, metadata only, and calls changed
// when the set changed.
func (k *Cluster) Run(ctx context.Context, changed func()) error {
	events := make(chan struct{}, 1)
	var watches sync.WaitGroup
	defer watches.Wait()
	for _, r := range []schema.GroupVersionResource{
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	} {
		watches.Go(func() { k.Watch(ctx, r, events) })
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-events:
		}
		k.look(ctx, events, changed)
	}
}

// look reads the served kinds after an event until the set changes, or has been the
// same for long enough. A CRD's events arrive together with its APIService's, and the
// API server needs a moment to serve it; a busy one needs longer. An event that
// arrives meanwhile restarts the wait.
func (k *Cluster) look(ctx context.Context, events <-chan struct{}, changed func()) {
	for wait := servedMin; wait <= servedMax; wait *= 2 {
		select {
		case <-ctx.Done():
			return
		case <-k.Clock.After(wait):
		}
		more := false
		select {
		case <-events:
			more = true
		default:
		}
		other, err := k.servesOther(ctx)
		if other {
			changed()
		}
		switch {
		case more:
			wait = servedMin / 2
		case other:
			return
		case err != nil:
			wait /= 2 // this event says nothing
		}
	}
}

// servesOther reads the served kinds again, if they were read before, and reports
// whether the set differs from the one last reported: other readers in between report
// nothing.
func (k *Cluster) servesOther(ctx context.Context) (bool, error) {
	k.mu.Lock()
	known := k.served != nil
	k.stale = true
	k.mu.Unlock()
	if !known {
		return false, nil
	}
	now, err := k.Serves(ctx)
	if err != nil {
		return false, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.told
	k.told = now.Caps
	return !slices.Equal(before.APIVersions, now.Caps.APIVersions) || before.KubernetesVersion != now.Caps.KubernetesVersion, nil
}

// Watch pokes events when objects of one kind are added, deleted, or change their
// generation. It reopens the watch where it ended, so that an idle cluster costs only
// an open connection.
func (k *Cluster) Watch(ctx context.Context, r schema.GroupVersionResource, events chan<- struct{}) {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	state := &watchState{known: map[string]incarnation{}}
	for {
		start := k.Clock.Now()
		err := k.watchOnce(ctx, r, state, events)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			k.Log.Debug("the watch of served APIs ended", logkey.Kind, r.Resource, logkey.Error, err)
			state.version = ""
		}
		if k.Clock.Now().Sub(start) > time.Minute {
			backoff.Reset()
		}
		select {
		case <-ctx.Done():
			return
		case <-k.Clock.After(backoff.Next()):
		}
	}
}

type watchState struct {
	version string
	known   map[string]incarnation
}

// incarnation identifies one version of an object's specification.
type incarnation struct {
	uid        types.UID
	generation int64
}

func (k *Cluster) watchOnce(ctx context.Context, r schema.GroupVersionResource, state *watchState, events chan<- struct{}) error {
	w, err := k.metadata.Resource(r).Watch(ctx, metav1.ListOptions{ResourceVersion: state.version, AllowWatchBookmarks: true})
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			state.version = ""
			return nil // too old: open it again
		}
		object, err := meta.Accessor(event.Object)
		if err != nil {
			return err
		}
		state.version = object.GetResourceVersion()
		if event.Type == watch.Bookmark || !state.news(event.Type, object) {
			continue
		}
		select {
		case events <- struct{}{}:
		default:
		}
	}
	return nil
}

// news ignores status updates: an APIService has several a minute.
func (s *watchState) news(kind watch.EventType, object metav1.Object) bool {
	if kind == watch.Deleted {
		delete(s.known, object.GetName())
		return true
	}
	known, now := s.known[object.GetName()], incarnation{object.GetUID(), object.GetGeneration()}
	s.known[object.GetName()] = now
	return known != now
}
