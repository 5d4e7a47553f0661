package world_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/world"
)

// operated is how many services an operation of these tests changes.
const operated = 200

// A hub that is killed in the middle of an operation goes on after its start: each
// service is changed exactly once, and none is left out.
func TestOperationGoesOnAfterAKill(t *testing.T) {
	for name, test := range map[string]struct {
		config world.Config
		hub    func(s *cdn) *world.Hub
	}{
		"SQLite":   {world.Config{}, func(s *cdn) *world.Hub { return s.Hub }},
		"Postgres": {world.Config{Replicas: 1}, func(s *cdn) *world.Hub { return s.Replicated.Hubs[0].Hub }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCDN(t, test.config)
			hub := test.hub(s)
			id := s.syncAll()
			// Without pauses in proportion to the answers: the kill is to come in the middle.
			s.must(eventually.WaitEvery(t.Context(), patience, 20*time.Millisecond, func() error {
				o, err := s.progress(id)
				if err == nil && o.GetDone() == 0 {
					err = errors.New("no service is done")
				}
				return err
			}))
			s.must(hub.Kill())
			killed := time.Now().UnixMicro()
			s.must(hub.Start(t.Context()))
			var o *hubv1.Operation
			s.until("the operation ends", func() (err error) {
				if o, err = s.progress(id); err == nil && o.GetState() == "Running" {
					err = errors.New("it runs")
				}
				return err
			})
			if o.GetState() != "Done" || o.GetDone() != operated || o.GetFailed() != 0 {
				t.Errorf("ended as %v", o)
			}
			s.checkSyncedOnce(killed)
		})
	}
}

// syncAll makes a cluster with services, and starts an operation that syncs them.
func (s *cdn) syncAll() (id string) {
	s.t.Helper()
	_, err := s.api.Clusters.Create(s.t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "edge"}))
	s.must(err)
	s.upstream("fleet")
	var ids []string
	for i := range operated {
		made, err := s.api.Services.Create(s.t.Context(), connect.NewRequest(&hubv1.CreateServiceRequest{
			Ref: &hubv1.ServiceRef{Cluster: "edge", Name: fmt.Sprintf("app-%03d", i)}, Spec: &hubv1.ServiceSpec{Repository: "fleet", Git: &hubv1.Git{Ref: "main", Folder: "app"}},
		}))
		s.must(err)
		ids = append(ids, made.Msg.GetId())
	}
	o, err := s.api.Operations.Start(s.t.Context(), connect.NewRequest(&hubv1.StartOperationRequest{Action: "sync", ServiceIds: ids}))
	s.must(err)
	return o.Msg.GetId()
}

func (s *cdn) progress(id string) (*hubv1.Operation, error) {
	o, err := s.api.Operations.Get(s.t.Context(), connect.NewRequest(&hubv1.GetOperationRequest{Id: id}))
	if err != nil {
		return nil, err
	}
	return o.Msg, nil
}

// checkSyncedOnce counts the events of each service, and how many were made before and
// after the kill: the operation was under way.
func (s *cdn) checkSyncedOnce(killed int64) {
	s.t.Helper()
	events, err := s.api.Events.List(s.t.Context(), connect.NewRequest(&hubv1.ListEventsRequest{Limit: 1000}))
	s.must(err)
	times, before, after := map[string]int{}, 0, 0
	for _, e := range events.Msg.GetEvents() {
		switch {
		case e.GetKind() != "service.sync_requested":
			continue
		case e.GetAt() <= killed:
			before++
		default:
			after++
		}
		times[e.GetObject()]++
	}
	if len(times) != operated {
		s.t.Errorf("%d services have an event", len(times))
	}
	for object, n := range times {
		if n != 1 {
			s.t.Errorf("%s was synced %d times", object, n)
		}
	}
	if before == 0 || after == 0 {
		s.t.Errorf("%d changes before the kill and %d after it: it interrupted nothing", before, after)
	}
}
