package observe

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/telemetry"
)

const (
	// requestsAtOnce are the requests that stores are asked at once, and reviewsAtOnce the
	// people whose namespaces are looked up.
	requestsAtOnce, reviewsAtOnce = 24, 4
)

// Viewer is the person who asks.
type Viewer struct {
	// User and Groups are what the API server knows of the person.
	User   string
	Groups []string
	// Allowed reports whether the agent's policy lets the person read a path.
	Allowed func(path string) bool
}

// Observer answers the questions. It keeps no clients: most agents are never asked.
type Observer struct {
	conf              *rest.Config
	requests, reviews *pool.Places
}

// New returns an Observer that reads with the rights of the configuration, and whose pools
// the set has.
func New(conf *rest.Config, pools *pool.Set) *Observer {
	return &Observer{
		conf: conf,
		requests: pools.Places(pool.Spec{
			Name: "telemetry_requests", Of: "requests of metrics and logs", Size: requestsAtOnce, Queue: 200, Within: telemetry.Within / 3, Retry: 5 * time.Second,
		}),
		reviews: pools.Places(pool.Spec{
			Name: "namespace_reviews", Of: "looks at who sees which namespaces", Size: reviewsAtOnce, Share: 1, Queue: 100, Within: reviewWithin / 2, Retry: 5 * time.Second,
		}),
	}
}

// Get makes one request of a store's API. The body of the answer is to be closed.
func (o *Observer) Get(ctx context.Context, viewer Viewer, q *agentv1.ObserveRequest) (*http.Response, error) {
	service, err := asked(q)
	if err != nil {
		return nil, err
	}
	follows, err := service.Type.Check(q.GetPath(), q.GetQuery())
	if err != nil {
		return nil, err
	}
	place, err := o.requests.Wait(ctx, pool.Caller{Name: viewer.User})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, telemetry.Limit(follows))
	end := func() {
		cancel()
		place.Leave()
	}
	response, err := o.get(ctx, service, q)
	if err != nil {
		end()
		return nil, err
	}
	response.Body = telemetry.Bounded(ctx, response.Body, service.String(), follows, end)
	return response, nil
}

// asked reads which service a question is about.
func asked(q *agentv1.ObserveRequest) (telemetry.Service, error) {
	s := q.GetService()
	service := telemetry.Service{Type: telemetry.Type(s.GetType()), Namespace: s.GetNamespace(), Name: s.GetName(), Port: s.GetPort(), Scheme: s.GetScheme(), PathPrefix: s.GetPathPrefix()}
	return service, service.Check()
}

func (o *Observer) get(ctx context.Context, service telemetry.Service, q *agentv1.ObserveRequest) (*http.Response, error) {
	base, _, err := rest.DefaultServerUrlFor(o.conf)
	if err != nil {
		return nil, errcode.New(errcode.Internal, "the API server's address: %w", err)
	}
	transport, err := rest.TransportFor(o.conf)
	if err != nil {
		return nil, errcode.New(errcode.Internal, "the way to the API server: %w", err)
	}
	u := url.URL{Scheme: base.Scheme, Host: base.Host, Path: strings.TrimSuffix(base.Path, "/") + service.ProxyPath(q.GetPath()), RawQuery: q.GetQuery()}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the request for %s cannot be made", service)
	}
	request.Header.Set("Accept", "application/json")
	// What is compressed is not what was bounded.
	request.Header.Set("Accept-Encoding", "identity")
	if tenant := q.GetTenant(); tenant != "" {
		request.Header.Set("X-Scope-OrgID", tenant)
	}
	// RoundTrip follows no redirect.
	response, err := transport.RoundTrip(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, telemetry.Late(service.String(), false)
		}
		return nil, errcode.New(errcode.Unavailable, "the agent cannot reach its API server: %w", err)
	}
	return response, nil
}
