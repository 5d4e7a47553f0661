package liveapi

import (
	"context"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/ownertree"
	"github.com/axle-cd/axle/internal/podlogs"
)

// slowAfter is how long lines may wait for a caller who reads nothing.
const slowAfter = 30 * time.Second

// SearchLogs implements hubv1connect.ClusterAPIHandler.
func (a *API) SearchLogs(ctx context.Context, r *connect.Request[hubv1.SearchLogsRequest], out *connect.ServerStream[hubv1.SearchLogsResponse]) error {
	m := r.Msg
	search, err := searchOf(m)
	if err != nil {
		return err
	}
	q, err := a.query(ctx, r.Peer().Addr, m.GetCluster(), "", nil)
	if err != nil {
		return err
	}
	q.Paced = true
	// Send the headers at once: the first line may take long.
	if err := out.Send(nil); err != nil {
		return err
	}
	if m.GetService() != "" {
		tree, err := a.Tree(ctx, r.Peer().Addr, &hubv1.ServiceRef{Cluster: m.GetCluster(), Name: m.GetService()})
		if err != nil {
			return err
		}
		if search.Workloads = workloadsOf(tree.Roots, nil); len(search.Workloads) == 0 {
			return errcode.New(errcode.NotFound, "service %s/%s has no pods that you may see; axle services tree %s/%s shows its objects", m.GetCluster(), m.GetService(), m.GetCluster(), m.GetService())
		}
	}
	send := func(b podlogs.Batch) error {
		watchdog := time.AfterFunc(slowAfter, q.cut)
		defer watchdog.Stop()
		return out.Send(batchOf(b))
	}
	if m.GetStore() != nil {
		return a.Stored(ctx, r.Peer(), m, search, send)
	}
	return search.Run(ctx, reader{a.Clusters, q}, send)
}

func (q Query) cut() {
	if q.Cut != nil {
		q.Cut()
	}
}

// searchOf checks a request.
func searchOf(m *hubv1.SearchLogsRequest) (s podlogs.Search, err error) {
	workload := m.GetNamespace() != "" || m.GetKind() != "" || m.GetName() != ""
	switch {
	case m.GetTailLines() < 0 || m.GetTailLines() > podlogs.MaxTail:
		return s, errcode.New(errcode.Invalid, "tail_lines is %d; ask for 1 to %d lines, or 0 for all", m.GetTailLines(), podlogs.MaxTail)
	case m.GetSince() < 0 || m.GetUntil() < 0:
		return s, errcode.New(errcode.Invalid, "since and until are microseconds since 1970 UTC, or 0 for no bound")
	case m.GetStore() != nil && m.GetService() == "" && m.GetKind() == "" && m.GetName() == "":
		workload = false
	case m.GetService() == "" && (m.GetNamespace() == "" || m.GetKind() == "" || m.GetName() == ""), m.GetService() != "" && workload:
		return s, errcode.New(errcode.Invalid, "name either a service, or a workload with its namespace, its kind and its name")
	}
	s = podlogs.Search{Pods: m.GetPods(), Containers: m.GetContainers(), Follow: m.GetFollow(), Previous: m.GetPrevious(), Tail: int(m.GetTailLines())}
	if workload {
		kind, err := podlogs.KindOf(m.GetKind())
		if err != nil {
			return s, err
		}
		s.Workloads = []podlogs.Workload{{Namespace: m.GetNamespace(), Kind: kind, Name: m.GetName()}}
	}
	if m.GetSince() > 0 {
		s.Since = clock.FromMicros(m.GetSince())
	}
	if m.GetUntil() > 0 {
		s.Until = clock.FromMicros(m.GetUntil())
	}
	s.Filter, err = podlogs.NewFilter(m.GetMatch(), m.GetExclude(), int(m.GetBefore()), int(m.GetAfter()))
	return s, err
}

// workloadsOf are the nearest objects of a tree whose pods can be found, also those that
// start later.
func workloadsOf(nodes []*ownertree.Node, found []podlogs.Workload) []podlogs.Workload {
	for _, n := range nodes {
		builtIn := n.Group == "" || n.Group == "apps" || n.Group == "batch"
		if builtIn && podlogs.Reads(n.Kind) && (n.Kind != "CronJob" || len(n.Children) == 0) {
			found = append(found, podlogs.Workload{Namespace: n.Namespace, Kind: n.Kind, Name: n.Name})
			continue
		}
		found = workloadsOf(n.Children, found)
	}
	return found
}

// reader makes the requests of a search as its caller.
type reader struct {
	clusters Clusters
	as       Query
}

func (r reader) at(path string) Query {
	q := r.as
	q.Path = path
	return q
}

// Get implements podlogs.API.
func (r reader) Get(ctx context.Context, path string) ([]byte, error) {
	answer, err := r.clusters.Do(ctx, r.at(path))
	return answer.Text, err
}

// Watch implements podlogs.API.
func (r reader) Watch(ctx context.Context, path string, each func(kind string, object []byte) error) error {
	return r.clusters.Watch(ctx, r.at(path), each)
}

// Logs implements podlogs.API.
func (r reader) Logs(ctx context.Context, path string, each func(piece []byte) error) error {
	return r.clusters.Logs(ctx, r.at(path), each)
}

func batchOf(b podlogs.Batch) *hubv1.SearchLogsResponse {
	m := &hubv1.SearchLogsResponse{Dropped: b.Dropped}
	for _, l := range b.Lines {
		line := &hubv1.LogLine{Namespace: l.Namespace, Pod: l.Pod, Container: l.Container, Text: l.Text, CutBytes: l.Cut, Context: l.Context}
		if !l.Time.IsZero() {
			line.Time = l.Time.Format(podlogs.Stamp)
		}
		m.Lines = append(m.Lines, line)
	}
	for _, n := range b.Notices {
		m.Notices = append(m.Notices, &hubv1.LogNotice{Code: n.Code, Text: n.Text})
	}
	for _, s := range b.Sources {
		m.Sources = append(m.Sources, &hubv1.LogSource{Namespace: s.Namespace, Pod: s.Pod, Container: s.Container})
	}
	return m
}
