package hub_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// spans keeps what a hub sends to a collector: names with their parents' ids.
type spans struct {
	mu     sync.Mutex
	names  map[string]string // by id
	parent map[string]string // id of the parent, by name
}

func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(raw, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s.names[string(span.GetSpanId())] = span.GetName()
				s.parent[span.GetName()] = string(span.GetParentSpanId())
			}
		}
	}
}

// under returns nil when a span was sent, below another or below none.
func (s *spans) under(name, parent string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, sent := s.parent[name]
	if !sent || s.names[id] != parent {
		return fmt.Errorf("span %q was sent: %v, below %q", name, sent, s.names[id])
	}
	return nil
}

// Traces show how a read of upstream went and what a request did.
func TestTracesFollowALookAtUpstream(t *testing.T) {
	sent := &spans{names: map[string]string{}, parent: map[string]string{}}
	server := httptest.NewServer(sent)
	defer server.Close()
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = git.Close() })
	if err := git.Create(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	if _, err := git.Commit(t.Context(), "shop", "main", "first", map[string]gitserver.Content{"cm.yaml": "a: b"}); err != nil {
		t.Fatal(err)
	}
	h := hubtest.New(t, hubtest.Config{Hub: hub.Config{TraceEndpoint: server.URL, TraceRatio: 1, AllowHTTPUpstreams: true}})
	if _, err := h.Parts().Cache.CreateRepository(t.Context(), gitcache.Repository{Name: "shop", URL: git.URL("shop")}, gitcache.Credentials{}); err != nil {
		t.Fatal(err)
	}
	get(t, http.DefaultClient, h.URL+"/ext/v1/nothing")
	for name, parent := range map[string]string{"list refs and fetch": "look upstream", "evaluate sources": "look upstream", "GET /ext/v1/nothing": ""} {
		eventually.For(t, limit, "the span "+name, func() error { return sent.under(name, parent) })
	}
}
