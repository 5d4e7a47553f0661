package observeapi

import (
	"context"
	"strings"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logquery"
	"github.com/axle-cd/axle/internal/podlogs"
)

// SearchStore reads a store of logs in place of pods, for ClusterAPI/SearchLogs.
func (a *API) SearchStore(ctx context.Context, peer connect.Peer, m *hubv1.SearchLogsRequest, s podlogs.Search, send func(podlogs.Batch) error) error {
	if s.Previous {
		return errcode.New(errcode.Invalid, "a store has all runs of a container: leave out previous")
	}
	q := logquery.Query{Name: "the query", Start: s.Since, End: s.Until, Limit: s.Tail, Before: s.Filter.Before, After: s.Filter.After}
	ask, err := a.Ask(ctx, peer, m.GetCluster(), m.GetStore().GetName(), "")
	if err != nil {
		return err
	}
	target, err := a.Observer.ResolveLogs(ctx, ask)
	if err != nil {
		return err
	}
	if text := m.GetStore().GetQuery(); text != "" {
		if q.Matchers, q.Filters, err = logquery.ParseLogQL("the query", text, target.Source.Type); err != nil {
			return err
		}
	}
	add := func(name, op, value string) {
		if value != "" {
			q.Matchers = append(q.Matchers, logquery.Matcher{Name: name, Op: op, Value: value})
		}
	}
	add("namespace", "=~", logquery.OneOf(namespaces(m, s)))
	add("container", "=~", logquery.OneOf(m.GetContainers()))
	add("pod", "=~", logquery.OneOf(m.GetPods()))
	var pods []string
	for _, w := range s.Workloads {
		pods = append(pods, logquery.PodsOf(w.Kind, w.Name))
	}
	add("pod", "=~", strings.Join(pods, "|"))
	if m.GetMatch() != "" {
		q.Filters = append(q.Filters, logquery.Filter{Op: "|~", Text: m.GetMatch()})
	}
	if m.GetExclude() != "" {
		q.Filters = append(q.Filters, logquery.Filter{Op: "!~", Text: m.GetExclude()})
	}
	return target.Logs(ctx, q, s.Follow, send)
}

func namespaces(m *hubv1.SearchLogsRequest, s podlogs.Search) (all []string) {
	if m.GetNamespace() != "" {
		return []string{m.GetNamespace()}
	}
	for _, w := range s.Workloads {
		all = append(all, w.Namespace)
	}
	return all
}
