package observe

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/telemetry"
)

const (
	// maxPoints is how many points of time a range has; Prometheus has the same limit.
	maxPoints = 11_000
	// maxSeries is how many series an answer has, and maxValues how many points in all.
	maxSeries = 1000
	maxValues = 500_000
	// maxRange bounds a range of time.
	maxRange = 400 * 24 * time.Hour
	// usualPoints is how many points a range has whose step nobody gave.
	usualPoints = 250
	// staleAfter is the age of the newest sample from which on it is said. Prometheus finds no
	// older ones.
	staleAfter = 5 * time.Minute
)

// MetricQuery is a query, at a time or over a range.
type MetricQuery struct {
	Query string
	// At is the time of an instant query; zero is now.
	At time.Time
	// Range is set for one over a range. Its End is now when it is zero, and a Step of zero
	// fits the range.
	Range      bool
	Start, End time.Time
	Step       time.Duration
	// Raw is refused, and not limited, for a caller who does not see the whole cluster, and
	// for a store of several.
	Raw bool
}

// Label is a label of a series.
type Label struct{ Name, Value string }

// Series is a series with its points.
type Series struct {
	// Labels are in order of their names.
	Labels []Label
	// Times are microseconds since 1970 UTC.
	Times  []int64
	Values []float64
}

// Result is the answer to a query.
type Result struct {
	// Type is vector, matrix, scalar or string.
	Type   string
	Series []Series
	Text   string
	// Cut is the number of series that are not in it.
	Cut int
	// Sent is the query as it was sent.
	Sent string
	// Newest is the time of the newest sample, in microseconds; 0 is unknown.
	Newest  int64
	Notices []string
	// Samples are those that the store read, 0 when it does not say; Took and Bytes are what
	// the answer cost.
	Samples int64
	Took    time.Duration
	Bytes   int64
	// Range is the one that was asked.
	Start, End time.Time
	Step       time.Duration
}

// fit completes a range and returns Invalid for one that cannot be.
func (q *MetricQuery) fit(now time.Time) error {
	if !q.Range {
		if q.At.IsZero() {
			q.At = now
		}
		return nil
	}
	if q.End.IsZero() {
		q.End = now
	}
	length := q.End.Sub(q.Start)
	switch {
	case q.Start.IsZero():
		return errcode.New(errcode.Invalid, "start: is missing; a range has a beginning")
	case length <= 0:
		return errcode.New(errcode.Invalid, "start: %s is not before the end, %s", q.Start.UTC().Format(time.RFC3339), q.End.UTC().Format(time.RFC3339))
	case length > maxRange:
		return errcode.New(errcode.Invalid, "start: the range has %d days; at most %d are asked", int(length.Hours()/24), int(maxRange.Hours()/24))
	case q.Step < 0:
		return errcode.New(errcode.Invalid, "step: is negative")
	}
	if q.Step == 0 {
		q.Step = max(time.Second, (length / usualPoints).Truncate(time.Second))
	}
	if points := int64(length/q.Step) + 1; q.Step < time.Millisecond || points > maxPoints {
		return errcode.New(errcode.Invalid, "step: %s makes %d points; at most %d are answered: use a step of at least %s, or a shorter range", q.Step, int64(length/max(q.Step, 1))+1, maxPoints, (length/(maxPoints-1)).Truncate(time.Second)+time.Second)
	}
	return nil
}

// Query evaluates PromQL for a target of the type Prometheus.
func (t *Target) Query(ctx context.Context, q MetricQuery) (*Result, error) {
	now := t.observer.config.Clock.Now()
	if err := q.fit(now); err != nil {
		return nil, err
	}
	if q.Raw && !t.Namespaces.All {
		return nil, errcode.New(errcode.Forbidden, "a raw query needs access to the logs of all pods of cluster %s (get pods/log in every namespace); leave raw out, and the query is limited to the namespaces that you see", t.ask.Cluster.Name)
	}
	if q.Raw && t.Source.settings.ClusterLabel != "" {
		return nil, errcode.New(errcode.Forbidden, "a raw query is sent as it is, and %s has several clusters; leave raw out, and the query is limited to cluster %s", t.Source.Name, t.ask.Cluster.Name)
	}
	sent, err := t.limits().promQL(q.Query)
	if err != nil {
		return nil, err
	}
	values := url.Values{"query": {sent}, "timeout": {strconv.Itoa(int(telemetry.Within.Seconds())-2) + "s"}, "stats": {"all"}, "limit": {strconv.Itoa(maxSeries + 1)}}
	path := "/api/v1/query"
	if q.Range {
		path = "/api/v1/query_range"
		values.Set("start", seconds(q.Start))
		values.Set("end", seconds(q.End))
		values.Set("step", strconv.FormatFloat(q.Step.Seconds(), 'f', -1, 64))
	} else {
		values.Set("time", seconds(q.At))
	}
	// Old versions of Prometheus do not know limit, and answer all: what is too much is cut
	// when it is read.
	began := t.observer.config.Clock.Now()
	body, err := t.Get(ctx, path, values)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	r, err := decodeQuery(body)
	if err != nil {
		return nil, t.undecoded(err)
	}
	r.Sent, r.Took = sent, t.observer.config.Clock.Now().Sub(began)
	r.Start, r.End, r.Step = q.Start, q.End, q.Step
	r.Notices = append(append([]string{}, t.Notices...), r.Notices...)
	if r.Cut > 0 {
		r.Notices = append(r.Notices, fmt.Sprintf("the query matches at least %d series, and %d are not shown: aggregate them, as in sum by (namespace) (…) or topk(20, …)", len(r.Series)+r.Cut, r.Cut))
	}
	if len(t.Namespaces.Names) == 0 && !t.Namespaces.All {
		r.Notices = append(r.Notices, "you may read the logs of no namespace of cluster "+t.ask.Cluster.Name+", and so see no metrics of it; ask its owner for get on pods/log")
	}
	t.age(ctx, r, q, now)
	return r, nil
}

// seconds is a time as Prometheus reads it.
func seconds(at time.Time) string {
	return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64)
}

// undecoded is the error of an answer that cannot be read.
func (t *Target) undecoded(err error) error {
	if errcode.Of(err) != errcode.Internal {
		return err
	}
	return errcode.New(errcode.Unprocessable, "%s at %s answers with something other than its API does (%s); see whether the address is that of %s", t.Source.Type.Title(), t.Source.At, errcode.Text(err), t.Source.Type.Title())
}

// age says how old the newest sample is, when it is old and the query is about now. Of an
// empty answer it is that of any series: a store that is behind answers nothing.
func (t *Target) age(ctx context.Context, r *Result, q MetricQuery, now time.Time) {
	until := q.At
	if q.Range {
		until = q.End
	}
	for _, s := range r.Series {
		if n := len(s.Times); n > 0 && r.Type == "matrix" {
			r.Newest = max(r.Newest, s.Times[n-1])
		}
	}
	if now.Sub(until) > staleAfter || r.Type != "matrix" && r.Type != "vector" || r.Type == "vector" && len(r.Series) > 0 {
		return
	}
	if r.Newest == 0 {
		r.Newest = t.newest(ctx, until)
		if r.Newest == 0 {
			return
		}
	}
	if old := until.Sub(clock.FromMicros(r.Newest)); old > max(staleAfter, 2*q.Step) {
		r.Notices = append(r.Notices, fmt.Sprintf("the newest sample is %s old (%s): %s at %s does not keep up with its targets, or they are gone", old.Round(time.Second), clock.FromMicros(r.Newest).UTC().Format(time.RFC3339), t.Source.Type.Title(), t.Source.At))
	}
}

// newest is the time of the newest sample that the store has of its targets, 0 when that is
// not known.
func (t *Target) newest(ctx context.Context, until time.Time) int64 {
	sent, err := t.limits().promQL(`max(max_over_time(timestamp(up)[6h:1m]))`)
	if err != nil {
		return 0
	}
	body, err := t.Get(ctx, "/api/v1/query", url.Values{"query": {sent}, "time": {seconds(until)}})
	if err != nil {
		return 0
	}
	defer body.Close()
	r, err := decodeQuery(body)
	if err != nil || len(r.Series) != 1 || len(r.Series[0].Values) != 1 || math.IsNaN(r.Series[0].Values[0]) {
		return 0
	}
	return int64(r.Series[0].Values[0] * 1e6)
}
