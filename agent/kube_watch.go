package agent

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

// watch pokes events when objects of one kind come, change their generation or
// go. It opens the watch again where it ended, so an idle cluster costs an open
// connection and nothing else.
func (k *kube) watch(ctx context.Context, r schema.GroupVersionResource, events chan<- struct{}) {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	state := &watchState{generations: map[string]int64{}}
	for {
		start := k.clock.Now()
		err := k.watchOnce(ctx, r, state, events)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			k.log.Debug("the watch of what is served broke", logkey.Kind, r.Resource, logkey.Error, err)
			state.version = ""
		}
		if k.clock.Now().Sub(start) > time.Minute {
			backoff.Reset()
		}
		select {
		case <-ctx.Done():
			return
		case <-k.clock.After(backoff.Next()):
		}
	}
}

type watchState struct {
	version     string
	generations map[string]int64
}

func (k *kube) watchOnce(ctx context.Context, r schema.GroupVersionResource, state *watchState, events chan<- struct{}) error {
	w, err := k.metadata.Resource(r).Watch(ctx, metav1.ListOptions{ResourceVersion: state.version, AllowWatchBookmarks: true})
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			state.version = ""
			return nil // too old: open it anew
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

// news leaves status updates out: an APIService has several a minute.
func (s *watchState) news(kind watch.EventType, object metav1.Object) bool {
	known, seen := s.generations[object.GetName()]
	if kind == watch.Deleted {
		delete(s.generations, object.GetName())
		return true
	}
	s.generations[object.GetName()] = object.GetGeneration()
	return !seen || known != object.GetGeneration()
}
