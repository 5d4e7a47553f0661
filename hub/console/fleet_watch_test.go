package console_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/fleet"
)

// watcher is an open stream.
type watcher struct {
	stream *connect.ServerStreamForClient[hubv1.WatchFleetResponse]
	id     string
	cancel context.CancelFunc
}

// watching opens a stream and reads its first message.
func watching(t *testing.T, c clients, q *hubv1.WatchFleetRequest) (*watcher, *hubv1.WatchFleetResponse) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	stream, err := c.fleet.Watch(ctx, connect.NewRequest(q))
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = stream.Close() // it ended with the context
	})
	w := &watcher{stream: stream, cancel: cancel}
	first := w.next(t)
	w.id = first.GetStreamId()
	return w, first
}

func (w *watcher) next(t *testing.T) *hubv1.WatchFleetResponse {
	t.Helper()
	if !w.stream.Receive() {
		t.Fatalf("the stream ended: %v", w.stream.Err())
	}
	return w.stream.Msg()
}

// until reads until a message is as it should be, and returns all of them.
func (w *watcher) until(t *testing.T, is func(*hubv1.WatchFleetResponse) bool) (all []*hubv1.WatchFleetResponse) {
	t.Helper()
	for {
		m := w.next(t)
		all = append(all, m)
		if is(m) {
			return all
		}
	}
}

func (b *fleetBed) id(t *testing.T, cluster, name string) string {
	t.Helper()
	return must(t, b.admin.services.Get, &hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: cluster, Name: name}}).GetId()
}

func TestWatchSendsWhatChanged(t *testing.T) {
	b := newFleetBed(t)
	id := b.id(t, "edge-shop", "web")
	list := must(t, b.admin.fleet.QueryServices, &hubv1.QueryServicesRequest{})
	w, first := watching(t, b.admin, &hubv1.WatchFleetRequest{
		Topics: &hubv1.Topics{ServiceIds: []string{id}, Hints: []string{"services"}}, ResumeToken: list.GetResumeToken(),
	})
	if first.GetSequence() != 1 || len(first.GetServices()) != 1 || first.GetServices()[0].GetVerdict() != "Healthy" {
		t.Fatalf("the first message is %v", first)
	}
	b.reports(t, "edge-shop", "web", fleet.Failed, fleet.Degraded)
	got := w.until(t, func(m *hubv1.WatchFleetResponse) bool {
		return len(m.GetServices()) == 1 && m.GetServices()[0].GetVerdict() == "Failed"
	})
	if last := got[len(got)-1]; !slices.Contains(last.GetHints(), "services") || last.GetResumeToken() == first.GetResumeToken() || last.GetSequence() != int64(1+len(got)) {
		t.Errorf("the change is told by %v", last)
	}
	// New topics are sent as they are; what is not there is gone.
	must(t, b.admin.fleet.SetTopics, &hubv1.SetTopicsRequest{StreamId: w.id, Topics: &hubv1.Topics{ClusterIds: []string{b.clusters["edge-shop"], "clu_none"}}})
	got = w.until(t, func(m *hubv1.WatchFleetResponse) bool { return len(m.GetClusters()) == 1 })
	if last := got[len(got)-1]; last.GetClusters()[0].GetVerdict() != "Failed" || !slices.Equal(last.GetGone(), []string{"clu_none"}) {
		t.Errorf("new topics are told by %v", last)
	}
	b.silence(t, "edge-shop")
	w.until(t, func(m *hubv1.WatchFleetResponse) bool {
		return len(m.GetClusters()) == 1 && m.GetClusters()[0].GetVerdict() == "Stale"
	})
}

// Whoever watches an id of another project learns no more than that it is not there,
// whether it is or not.
func TestAForeignerWatchesNothing(t *testing.T) {
	b := newFleetBed(t)
	foreign, own := b.id(t, "edge-shop", "web"), b.id(t, "edge-lab", "web")
	topics := &hubv1.Topics{ServiceIds: []string{foreign, own, "svc_none"}, ClusterIds: []string{b.clusters["edge-shop"]}, Hints: []string{"services", "clusters", "fleet"}}
	w, first := watching(t, b.reader, &hubv1.WatchFleetRequest{Topics: topics, ResumeToken: must(t, b.reader.fleet.QueryServices, &hubv1.QueryServicesRequest{}).GetResumeToken()})
	gone := []string{foreign, "svc_none", b.clusters["edge-shop"]}
	slices.Sort(gone)
	if !slices.Equal(first.GetGone(), gone) || len(first.GetServices()) != 1 || first.GetServices()[0].GetId() != own || len(first.GetClusters()) != 0 {
		t.Fatalf("the first message is %v", first)
	}
	b.reports(t, "edge-shop", "web", fleet.Failed, fleet.Degraded)
	b.reports(t, "edge-lab", "web", fleet.Drifted, fleet.Healthy)
	for _, m := range w.until(t, func(m *hubv1.WatchFleetResponse) bool {
		return len(m.GetServices()) == 1 && m.GetServices()[0].GetVerdict() == "Drifted"
	}) {
		if len(m.GetGone())+len(m.GetClusters()) != 0 {
			t.Errorf("a foreigner is told %v", m)
		}
		if len(m.GetHints()) > 0 && len(m.GetServices()) == 0 {
			t.Errorf("a foreigner is given the hint %v", m)
		}
	}
	// Nor may they touch another's stream.
	other, _ := watching(t, b.admin, &hubv1.WatchFleetRequest{})
	if err := fails(t, b.reader.fleet.SetTopics, &hubv1.SetTopicsRequest{StreamId: other.id}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("got %v", err)
	}
}

func TestRightsAreCheckedWhileAStreamIsOpen(t *testing.T) {
	b := newFleetBed(t)
	own := b.id(t, "edge-lab", "web")
	w, _ := watching(t, b.reader, &hubv1.WatchFleetRequest{Topics: &hubv1.Topics{ServiceIds: []string{own}}})
	made := must(t, b.reader.tokens.Create, &hubv1.CreateTokenRequest{Name: "short", Scopes: []string{"read"}})
	short, _ := watching(t, clientsOf(b.URL, made.GetSecret()), &hubv1.WatchFleetRequest{})
	must(t, b.reader.tokens.Revoke, &hubv1.RevokeTokenRequest{Id: made.GetToken().GetId()})
	revoked := time.Now()
	for short.stream.Receive() {
	}
	// Without the look at open streams it would end with its heartbeat, after 15 s.
	if took := time.Since(revoked); connect.CodeOf(short.stream.Err()) != connect.CodeUnauthenticated || took > 13*time.Second {
		t.Errorf("the stream of a revoked token ended after %s: %v", took, short.stream.Err())
	}
	// A binding that is gone takes the row away, and with the last one the stream. What was
	// sent before may be read only now.
	must(t, b.admin.bindings.Delete, &hubv1.DeleteBindingRequest{SubjectKind: "user", Subject: "reader@example.com", Actions: []string{"read"}, Place: &hubv1.Place{Project: "lab"}})
	deleted := time.Now().UnixMicro()
	for w.stream.Receive() {
		if m := w.stream.Msg(); len(m.GetServices()) > 0 && m.GetAt() > deleted {
			t.Errorf("a row is sent to whom may not read it: %v", m)
		}
	}
	if code := connect.CodeOf(w.stream.Err()); code != connect.CodePermissionDenied {
		t.Errorf("the stream ended with %v", w.stream.Err())
	}
}

func TestStreamsAreLimited(t *testing.T) {
	b := newFleetBed(t)
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprint("svc_", i)
	}
	opened := func(q *hubv1.WatchFleetRequest) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		stream, err := b.admin.fleet.Watch(ctx, connect.NewRequest(q))
		if err != nil {
			return err
		}
		stream.Receive()
		err = stream.Err()
		cancel()
		_ = stream.Close() // it ended with the context
		return err
	}
	var err error
	before := b.Parts().Feed.Position()
	before.Incarnation = strings.Repeat("0", len(before.Incarnation))
	for want, q := range map[connect.Code]*hubv1.WatchFleetRequest{
		connect.CodeInvalidArgument: {Topics: &hubv1.Topics{ServiceIds: many}},
		connect.CodeOutOfRange:      {ResumeToken: before.String()},
	} {
		if err = opened(q); connect.CodeOf(err) != want {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	for range 20 {
		watching(t, b.admin, &hubv1.WatchFleetRequest{})
	}
	if err := opened(&hubv1.WatchFleetRequest{}); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("the 21st stream: %v", err)
	}
	// Another's are not counted, and a stopping hub does not wait for any of them.
	watching(t, b.reader, &hubv1.WatchFleetRequest{})
	began := time.Now()
	if err := b.Stop(); err != nil {
		t.Error(err)
	}
	// Requests in flight would have 7 s.
	if took := time.Since(began); took >= 7*time.Second {
		t.Errorf("the hub stopped after %s", took)
	}
}

// A list that is followed sends whole services as List does, only its own, and says what
// it no longer has.
func TestWatchFollowsAList(t *testing.T) {
	b := newFleetBed(t)
	list := &hubv1.ListServicesRequest{Health: []string{"Degraded"}, Brief: true}
	topics := &hubv1.Topics{ServiceList: list, ClusterList: &hubv1.ListClustersRequest{Project: "shop"}}
	w, first := watching(t, b.admin, &hubv1.WatchFleetRequest{Topics: topics})
	stranger, _ := watching(t, b.reader, &hubv1.WatchFleetRequest{Topics: topics})
	if len(first.GetServiceList())+len(first.GetClusterList())+len(first.GetGone()) != 0 {
		t.Errorf("the first message is %v", first)
	}
	if got := must(t, b.admin.services.List, list); len(got.GetServices()) != 0 || got.GetResumeToken() == "" {
		t.Errorf("before: %v", got)
	}
	id := b.id(t, "edge-shop", "web")
	b.reports(t, "edge-shop", "web", fleet.Failed, fleet.Degraded)
	got := w.until(t, func(m *hubv1.WatchFleetResponse) bool { return len(m.GetServiceList()) == 1 })
	row := got[len(got)-1].GetServiceList()[0]
	if s := must(t, b.admin.services.List, list).GetServices(); len(s) != 1 || s[0].GetId() != id || row.GetId() != id || row.GetSpec().GetRepository() != "shop-config" || row.GetSpec().GetNamespace() != "" || row.GetAppliedDigest() == "" {
		t.Errorf("the list has %v, the stream %v", s, row)
	}
	b.reports(t, "edge-lab", "web", fleet.Synced, fleet.Progressing)
	b.reports(t, "edge-shop", "web", fleet.Synced, fleet.Healthy)
	w.until(t, func(m *hubv1.WatchFleetResponse) bool { return slices.Contains(m.GetGone(), id) })
	// Somebody who may read another project learns of nothing of this.
	b.reports(t, "edge-lab", "web", fleet.Synced, fleet.Degraded)
	for _, m := range stranger.until(t, func(m *hubv1.WatchFleetResponse) bool { return len(m.GetServiceList()) > 0 }) {
		if len(m.GetGone())+len(m.GetClusterList()) > 0 {
			t.Errorf("a stranger is sent %v", m)
		}
		for _, s := range m.GetServiceList() {
			if s.GetProject() != "lab" {
				t.Errorf("a stranger is sent %s/%s", s.GetCluster(), s.GetName())
			}
		}
	}
	// A cluster that falls silent changes the row of the cluster.
	b.silence(t, "edge-shop")
	w.until(t, func(m *hubv1.WatchFleetResponse) bool {
		return slices.ContainsFunc(m.GetClusterList(), func(c *hubv1.Cluster) bool { return c.GetName() == "edge-shop" && c.GetFreshness() == "Stale" })
	})
	if err := fails(t, b.admin.fleet.SetTopics, &hubv1.SetTopicsRequest{StreamId: w.id, Topics: topics}); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("lists in SetTopics: %v", err)
	}
	if err := fails(t, b.admin.services.List, &hubv1.ListServicesRequest{Health: []string{"Broken"}}); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("an unknown word: %v", err)
	}
	if got := must(t, b.admin.clusters.List, &hubv1.ListClustersRequest{Freshness: []string{"Stale"}}).GetClusters(); len(got) != 1 || got[0].GetName() != "edge-shop" {
		t.Errorf("stale clusters: %v", got)
	}
}
