package scale

import (
	"context"
	"strings"
	"sync"

	"github.com/axle-cd/axle/agent/tunnel"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// watched answers the hub's requests in the place of a cluster: each is a watch
// on which nothing happens until it is told to.
type watched struct {
	mu      sync.Mutex
	streams map[string]chan struct{} // by namespace
}

// ServeStream is tunnel.Handler.
func (w *watched) ServeStream(ctx context.Context, s *tunnel.Stream) {
	namespace := namespaceOf(s.Head().GetRequestUri())
	happens := make(chan struct{}, 1)
	w.mu.Lock()
	if w.streams == nil {
		w.streams = map[string]chan struct{}{}
	}
	w.streams[namespace] = happens
	w.mu.Unlock()
	err := s.Answer(&agentv1.StreamAnswer{Status: 200, Headers: []*agentv1.StreamHeader{{Name: "Content-Type", Values: []string{"application/json"}}}})
	for err == nil {
		select {
		case <-happens:
			if _, err = s.Write([]byte(`{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1"}}}` + "\n")); err == nil {
				err = s.Flush()
			}
		case <-ctx.Done():
			return
		}
	}
}

// happen sends an event on the watch of a namespace; there is none is no error.
func (w *watched) happen(namespace string) {
	w.mu.Lock()
	happens := w.streams[namespace]
	w.mu.Unlock()
	select {
	case happens <- struct{}{}:
	default:
	}
}

// namespaceOf cuts the namespace out of a path.
func namespaceOf(uri string) string {
	_, rest, _ := strings.Cut(uri, "/namespaces/")
	name, _, _ := strings.Cut(rest, "/")
	return name
}
