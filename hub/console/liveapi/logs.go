package liveapi

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/bounded"
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
	name := "the query"
	if wanted := strings.ToLower(m.GetKind()); wanted == "logfilter" || wanted == "logtail" {
		name = m.GetKind() + " " + m.GetNamespace() + "/" + m.GetName()
		if m, err = a.declared(ctx, q, m); err != nil {
			return err
		}
		if search, err = searchOf(m); err != nil {
			return err
		}
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
		return a.Stored(ctx, r.Peer(), name, m, search, send)
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
	if kind := strings.ToLower(m.GetKind()); workload && kind != "logfilter" && kind != "logtail" {
		kind, err := podlogs.KindOf(m.GetKind())
		if err != nil {
			return s, err
		}
		if kind == "Service" && m.GetStore() != nil {
			return s, errcode.New(errcode.Invalid, "a store does not have the pods of Service %s/%s: name the workload that they belong to", m.GetNamespace(), m.GetName())
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

// declared reads a LogFilter or a LogTail as the caller, and returns what it asks for beside
// what the caller does.
func (a *API) declared(ctx context.Context, q Query, m *hubv1.SearchLogsRequest) (*hubv1.SearchLogsRequest, error) {
	kind := strings.ToLower(m.GetKind())
	q.Path = "/apis/platform.plural.sh/v1alpha1/namespaces/" + url.PathEscape(m.GetNamespace()) + "/" + kind + "s/" + url.PathEscape(m.GetName())
	answer, err := a.Clusters.Do(ctx, q)
	if err != nil {
		return nil, err
	}
	var object struct {
		Spec struct {
			Query  string
			Labels []struct{ Name, Value string }

			Target, Container string
			Limit             int64
			Follow            bool
		}
	}
	if err := bounded.JSON(answer.Text, &object, bounded.Most(len(answer.Text))); err != nil {
		return nil, errcode.New(errcode.Unavailable, "the cluster's answer is not JSON: %w", err)
	}
	spec, out := object.Spec, proto.CloneOf(m)
	if kind == "logtail" {
		var of string
		if out.Kind, of, _ = strings.Cut(spec.Target, "/"); of == "" {
			return nil, errcode.New(errcode.Unprocessable, "LogTail %s/%s: %.100q is no workload, such as deployment/web", m.GetNamespace(), m.GetName(), spec.Target)
		}
		out.Name = of
		if spec.Container != "" && len(out.Containers) == 0 {
			out.Containers = []string{spec.Container}
		}
		if out.TailLines == 0 {
			out.TailLines = min(max(spec.Limit, 0), podlogs.MaxTail)
		}
		out.Follow = out.Follow || spec.Follow
		return out, nil
	}
	// The labels are further matchers of the query.
	query := strings.TrimSpace(spec.Query)
	if query == "" {
		query = "{}"
	}
	for _, l := range spec.Labels {
		rest, ok := strings.CutPrefix(query, "{")
		if !ok {
			break // it is refused as it is
		}
		comma := ","
		if strings.HasPrefix(strings.TrimSpace(rest), "}") {
			comma = ""
		}
		query = "{" + l.Name + "=" + strconv.Quote(l.Value) + comma + rest
	}
	if out.Store == nil {
		out.Store = &hubv1.LogStore{}
	}
	out.Store.Query = query
	out.Kind, out.Name, out.Namespace = "", "", ""
	return out, nil
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
