// Package observeapi answers Observability and Metrics: it translates the questions of people
// about the metrics, logs and alerts of clusters for hub/observe, and its answers.
//
// It decides nothing: the hub's gate says who may read a cluster, and hub/observe limits what
// each caller sees of it. hub/console calls it.
//
// Invariants: texts of stores are single lines of plain text; no answer has a credential.
package observeapi

import (
	"context"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/observe"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
	"github.com/axle-cd/axle/internal/telemetry"
)

// API answers the calls.
type API struct {
	// Observer is nil on a hub that reaches no clusters.
	Observer *observe.Observer
	// Find returns a cluster by name.
	Find   func(ctx context.Context, name string) (fleet.Cluster, error)
	Caller func(ctx context.Context) identity.Principal
}

// Ask begins a question of a caller at an address about a cluster.
func (a *API) Ask(ctx context.Context, peer connect.Peer, cluster, source string, of telemetry.Type) (observe.Ask, error) {
	if a.Observer == nil {
		return observe.Ask{}, errcode.New(errcode.Unavailable, "this hub reaches no clusters")
	}
	c, err := a.Find(ctx, cluster)
	if err != nil {
		return observe.Ask{}, err
	}
	return observe.Ask{
		Caller: observe.Caller{Principal: a.Caller(ctx), Source: address.Host(peer.Addr)}, Type: of, Source: source,
		Cluster: observe.Cluster{ID: c.ID, Name: c.Name, Handle: c.Handle, ProjectID: c.ProjectID},
	}, nil
}

// Sources implements hubv1connect.ObservabilityHandler.
func (a *API) Sources(ctx context.Context, r *connect.Request[hubv1.ObservabilitySourcesRequest]) (*connect.Response[hubv1.ObservabilitySourcesResponse], error) {
	of := telemetry.Type(r.Msg.GetType())
	if of != "" && of.Title() == "" {
		return nil, errcode.New(errcode.Invalid, "type: %.40q is not %s", of, rule.Or(rule.TelemetryTypes))
	}
	ask, err := a.Ask(ctx, r.Peer(), r.Msg.GetCluster(), "", of)
	if err != nil {
		return nil, err
	}
	listing, err := a.Observer.Sources(ctx, ask.Caller, ask.Cluster, of)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ObservabilitySourcesResponse{Namespaces: Namespaces(listing.Namespaces), Notices: listing.Notices}
	for _, s := range listing.Sources {
		out.Sources = append(out.Sources, Source(s))
	}
	return connect.NewResponse(out), nil
}

// Source is a store as people see it.
func Source(s observe.Source) *hubv1.ObservabilitySource {
	return &hubv1.ObservabilitySource{Name: s.Name, Type: string(s.Type), At: s.At, Declared: s.Declared, Used: s.Used}
}

// Namespaces are what a caller sees.
func Namespaces(n observe.Namespaces) *hubv1.ObservabilityNamespaces {
	return &hubv1.ObservabilityNamespaces{All: n.All, Names: n.Names, LeftOut: int32(n.LeftOut)}
}

// at is a time of a request; 0 is none.
func at(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return clock.FromMicros(micros)
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return clock.Micros(t)
}
