package fleetapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/fleet/watch"
	"github.com/axle-cd/axle/hub/identity"
)

// slowAfter is how long a message may wait for a reader that reads nothing.
const slowAfter = 20 * time.Second

// Streams are the open streams.
type Streams interface {
	Open(ctx context.Context, caller identity.Principal, topics watch.Topics, token string) (*watch.Stream, error)
	SetTopics(ctx context.Context, caller identity.Principal, id string, topics watch.Topics) error
}

type controllerKey struct{}

// Cuttable lets Watch cut a reader that reads nothing.
func Cuttable(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), controllerKey{}, http.NewResponseController(w))))
	})
}

// untilCut gives send some time. Afterwards the connection has no deadline any more: it
// may serve other calls.
func untilCut(ctx context.Context, send func() error) error {
	c, ok := ctx.Value(controllerKey{}).(*http.ResponseController)
	if !ok {
		return errors.New("fleetapi: Watch is served without Cuttable")
	}
	if err := c.SetWriteDeadline(time.Now().Add(slowAfter)); err != nil {
		return err
	}
	return errors.Join(send(), c.SetWriteDeadline(time.Time{}))
}

// Watch implements hubv1connect.FleetHandler.
func (s *API) Watch(ctx context.Context, r *connect.Request[hubv1.WatchFleetRequest], out *connect.ServerStream[hubv1.WatchFleetResponse]) error {
	caller, _ := identity.FromContext(ctx)
	asked := r.Msg.GetTopics()
	stream, err := s.Streams.Open(ctx, caller, topics(asked), r.Msg.GetResumeToken())
	if errors.Is(err, watch.ErrTooOld) {
		return connect.NewError(connect.CodeOutOfRange, err)
	}
	if err != nil {
		return err
	}
	defer stream.Close()
	for sequence := int64(1); ; sequence++ {
		b, err := stream.Next(ctx)
		if ctx.Err() != nil || errors.Is(err, watch.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		message := &hubv1.WatchFleetResponse{StreamId: stream.ID, Sequence: sequence, ResumeToken: b.At.String(), At: s.now(), Gone: b.Gone, Hints: b.Hints, ListAgain: b.Again}
		if message.Services, err = s.services(ctx, b.Services); err != nil {
			return err
		}
		if message.Clusters, err = s.clusters(ctx, b.Clusters); err != nil {
			return err
		}
		if message.ServiceList, err = s.Listed(ctx, b.ServiceList, asked.GetServiceList().GetBrief()); err != nil {
			return err
		}
		listed, err := s.clusters(ctx, b.ClusterList)
		if err != nil {
			return err
		}
		for _, row := range listed {
			message.ClusterList = append(message.ClusterList, row.GetCluster())
		}
		if err := untilCut(ctx, func() error { return out.Send(message) }); err != nil {
			return err
		}
	}
}

// SetTopics implements hubv1connect.FleetHandler.
func (s *API) SetTopics(ctx context.Context, r *connect.Request[hubv1.SetTopicsRequest]) (*connect.Response[hubv1.SetTopicsResponse], error) {
	caller, _ := identity.FromContext(ctx)
	return connect.NewResponse(&hubv1.SetTopicsResponse{}), s.Streams.SetTopics(ctx, caller, r.Msg.GetStreamId(), topics(r.Msg.GetTopics()))
}

func topics(t *hubv1.Topics) watch.Topics {
	out := watch.Topics{Services: t.GetServiceIds(), Clusters: t.GetClusterIds(), Hints: t.GetHints()}
	if t.GetServiceList() != nil {
		filter := ListedServices(t.GetServiceList())
		out.ServiceList = &filter
	}
	if t.GetClusterList() != nil {
		filter := ListedClusters(t.GetClusterList())
		out.ClusterList = &filter
	}
	return out
}
