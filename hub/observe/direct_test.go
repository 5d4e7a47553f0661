package observe_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/hub/observe"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/telemetry"
	"github.com/axle-cd/axle/test/stores"
)

// directAgents stand for the agent of a cluster in whose place a test says what a person sees;
// its stores are asked at their own addresses, or answer what the test says. test/proxy has the
// agent's own part.
type directAgents struct {
	sees     observe.Namespaces
	services map[string]*stores.Store
	answers  map[telemetry.Type]string
}

var _ observe.Agents = (*directAgents)(nil)

var wellKnown = map[telemetry.Type]telemetry.Service{
	telemetry.Alertmanager: {Type: telemetry.Alertmanager, Namespace: "monitoring", Name: "alertmanager", Port: "9093", Scheme: "http"},
	telemetry.Prometheus:   {Type: telemetry.Prometheus, Namespace: "monitoring", Name: "prometheus", Port: "9090", Scheme: "http"},
}

func (a *directAgents) Up(string) bool { return true }

func (a *directAgents) Services(context.Context, observe.Caller, observe.Cluster) (all []telemetry.Service, err error) {
	for of, service := range wellKnown {
		if _, ok := a.answers[of]; ok || a.services[service.Name] != nil {
			all = append(all, service)
		}
	}
	return all, nil
}

func (a *directAgents) Namespaces(context.Context, observe.Caller, observe.Cluster) (observe.Namespaces, error) {
	return a.sees, nil
}

func (a *directAgents) While(ctx context.Context, _ observe.Caller, _ observe.Cluster) (context.Context, func(), error) {
	return ctx, func() {}, nil
}

func (a *directAgents) Get(ctx context.Context, _ observe.Caller, _ observe.Cluster, s telemetry.Service, path, rawQuery, _ string) (*observe.Answer, error) {
	if body, ok := a.answers[s.Type]; ok {
		return &observe.Answer{Status: http.StatusOK, ContentType: "application/json", Body: io.NopCloser(strings.NewReader(body))}, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.services[s.Name].URL()+path+"?"+rawQuery, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "%s: %w", s, err)
	}
	return &observe.Answer{Status: response.StatusCode, ContentType: response.Header.Get("Content-Type"), Body: response.Body}, nil
}

// noObjects is a hub on which nothing is declared.
type noObjects struct{}

func (noObjects) ObjectsNaming(context.Context, string, string, int) ([]objects.Object, error) {
	return nil, nil
}
func (noObjects) ObjectSecret(context.Context, string) (string, error)  { return "", nil }
func (noObjects) PutObjectSecret(context.Context, string, string) error { return nil }

type noSeal struct{}

func (noSeal) Seal(plain []byte, _ string) string       { return string(plain) }
func (noSeal) Open(sealed, _ string) ([]byte, error)    { return []byte(sealed), nil }
func noProject(context.Context, string) (string, error) { return "", nil }
func noTransport(*tls.Config) *http.Transport           { return &http.Transport{} }

func alertObserver(t *testing.T, agents observe.Agents, links ...observe.LinkSettings) *observe.Observer {
	t.Helper()
	o, err := observe.New(observe.Config{Store: noObjects{}, Links: links, Agents: agents, Sealer: noSeal{}, ProjectOf: noProject, Transport: noTransport})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o
}
