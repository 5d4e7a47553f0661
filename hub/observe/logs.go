package observe

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logquery"
	"github.com/axle-cd/axle/internal/podlogs"
	"github.com/axle-cd/axle/internal/telemetry"
)

// logStores are the types of stores of logs, in the order in which they are looked for.
var logStores = []telemetry.Type{telemetry.VictoriaLogs, telemetry.Loki}

// ResolveLogs is Resolve for a store of logs of any type.
func (o *Observer) ResolveLogs(ctx context.Context, ask Ask) (t *Target, err error) {
	for _, of := range logStores {
		ask.Type = of
		var problem error
		if t, problem = o.Resolve(ctx, ask); problem == nil {
			return t, nil
		}
		if err == nil || errcode.Is(err, errcode.NotFound) {
			err = problem
		}
		if !errcode.Is(problem, errcode.NotFound) {
			return nil, problem
		}
	}
	if ask.Source != "" && errcode.Is(err, errcode.NotFound) {
		return nil, errcode.New(errcode.NotFound, "cluster %s has no store of logs with the name %.200q; axle metrics sources %s shows the existing ones", ask.Cluster.Name, ask.Source, ask.Cluster.Name)
	}
	return nil, err
}

// logs is the target as a query sees it.
func (t *Target) logs() logquery.Store {
	l := t.limits()
	return logquery.Store{Type: t.Source.Type, Label: l.label, Everything: l.All, Namespaces: l.Names, Cluster: l.cluster, Value: l.value}
}

// Logs sends the lines of a query, in the order of their times, and then those that come
// if it follows. Only lines of namespaces that the caller sees are sent; while it follows, the
// cluster is asked again for them every 30 s.
func (t *Target) Logs(ctx context.Context, q logquery.Query, follow bool, send func(podlogs.Batch) error) error {
	path, values, err := q.Call(t.logs())
	if err != nil {
		return err
	}
	if !follow {
		return t.sendFound(ctx, q, path, values, send, nil)
	}
	if err := q.Followed(t.Source.Type); err != nil {
		return err
	}
	began, recent := t.observer.config.Clock.Now(), &recent{}
	if err := t.sendFound(ctx, q, path, values, send, recent); err != nil {
		return err
	}
	return t.follow(ctx, q, recent, began, send)
}

// sendFound sends what the store has.
func (t *Target) sendFound(ctx context.Context, q logquery.Query, path string, values url.Values, send func(podlogs.Batch) error, sent *recent) error {
	store := t.logs()
	first := podlogs.Batch{}
	for _, n := range t.Notices {
		first.Notices = append(first.Notices, podlogs.Notice{Code: "left_out", Text: n})
	}
	body, err := t.Get(ctx, path, values)
	if err != nil {
		return err
	}
	result, err := store.Decode(body)
	err = errors.Join(err, body.Close())
	if err != nil {
		return err
	}
	if sent != nil {
		sent.begin(result.Lines)
	}
	note := func(code, format string, args ...any) {
		first.Notices = append(first.Notices, podlogs.Notice{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	limit := q.Limit
	if limit == 0 {
		limit = len(result.Lines) + 1
	}
	if result.Left > 0 || len(result.Lines) >= limit {
		if sent != nil && len(result.Lines) > 0 {
			sent.oldest = result.Lines[0].Time
		}
		end := "the last"
		if q.Forward {
			end = "the first"
		}
		note("capped", "%s %d lines are here; ask for a shorter range, or filter, for the others", end, len(result.Lines))
	}
	if result.Long > 0 {
		note("left_out", "%d lines of more than 4 MiB are left out", result.Long)
	}
	if result.Hidden > 0 {
		note("left_out", "%d lines of other namespaces are left out: the label of namespaces, or of clusters, may be another than %s", result.Hidden, strings.Trim(store.Label+", "+store.Cluster, ", "))
	}
	for {
		n := min(len(result.Lines), 500)
		first.Lines, result.Lines = result.Lines[:n], result.Lines[n:]
		if err := send(first); err != nil {
			return err
		}
		if first = (podlogs.Batch{}); len(result.Lines) == 0 {
			return nil
		}
	}
}
