package tracing_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tracing"
)

// collected is a collector that keeps the names of spans with their parents.
type collected struct {
	mu    sync.Mutex
	spans map[string]string // name to parent's name
	trace map[string]bool
}

func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(raw, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	names := map[string]string{}
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				names[string(s.GetSpanId())] = s.GetName()
				c.trace[string(s.GetTraceId())] = true
			}
			for _, s := range scope.GetSpans() {
				c.spans[s.GetName()] = names[string(s.GetParentSpanId())]
			}
		}
	}
}

func TestOneTraceSpansTwoReplicas(t *testing.T) {
	c := &collected{spans: map[string]string{}, trace: map[string]bool{}}
	server := httptest.NewServer(c)
	defer server.Close()
	end, err := tracing.Setup(t.Context(), tracing.Config{Endpoint: server.URL, Ratio: 1, Service: "hub", Instance: "a"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, outer := tracing.Start(t.Context(), "poll")
	header := http.Header{}
	tracing.ToHeader(ctx, header)
	_, inner := tracing.Start(tracing.FromHeader(context.Background(), header), "look upstream")
	inner.Set("kind", "git")
	inner.End(errcode.New(errcode.Unavailable, "upstream is away"))
	outer.End(nil)
	end()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.trace) != 1 || c.spans["look upstream"] != "poll" {
		t.Errorf("spans with parents %v in %d traces", c.spans, len(c.trace))
	}
	// After the end nothing is sent and nothing breaks.
	_, late := tracing.Start(t.Context(), "late")
	late.End(nil)
}

func TestNothingIsPaidWithoutACollector(t *testing.T) {
	end, err := tracing.Setup(t.Context(), tracing.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		_, s := tracing.Start(ctx, "poll")
		s.Set("a", "b")
		s.End(nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestBadSettingsAreRefused(t *testing.T) {
	for _, c := range []tracing.Config{{Endpoint: "collector:4318"}, {Endpoint: "http://c:4318", Ratio: 2}} {
		if _, err := tracing.Setup(t.Context(), c); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
