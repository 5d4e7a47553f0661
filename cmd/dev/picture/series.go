package picture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// Recorder keeps samples, as Prometheus' storage does. Its zero value is empty. Take and
// queries may run at the same time.
type Recorder struct {
	mu     sync.Mutex
	series map[string]*storedSeries
	order  []*storedSeries
}

type storedSeries struct {
	labels  labels.Labels
	samples chunks.SampleSlice
}

// Take adds what a process served at a time, with the labels that Prometheus adds.
func (r *Recorder) Take(text []byte, at time.Time, job, instance string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.series == nil {
		r.series = map[string]*storedSeries{}
	}
	parser := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the metrics of %s: %w", instance, err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		_, _, value := parser.Series()
		var own labels.Labels
		parser.Labels(&own)
		all := labels.NewBuilder(own).Set("job", job).Set("instance", instance).Labels()
		s := r.series[all.String()]
		if s == nil {
			s = &storedSeries{labels: all}
			r.series[all.String()] = s
			r.order = append(r.order, s)
		}
		s.samples = append(s.samples, sample{at.UnixMilli(), value})
	}
}

// Querier implements storage.Queryable.
func (r *Recorder) Querier(_, _ int64) (storage.Querier, error) { return querier{r}, nil }

// querier is a Recorder for one query, which needs series alone.
type querier struct{ r *Recorder }

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	q.r.mu.Lock()
	defer q.r.mu.Unlock()
	found := &seriesSet{}
next:
	for _, s := range q.r.order {
		for _, m := range matchers {
			if !m.Matches(s.labels.Get(m.Name)) {
				continue next
			}
		}
		found.rest = append(found.rest, storage.NewListSeries(s.labels, s.samples))
	}
	return found
}

// LabelValues implements storage.Querier.
func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.Querier.
func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.Querier.
func (querier) Close() error { return nil }

type seriesSet struct {
	now  storage.Series
	rest []storage.Series
}

// Next implements storage.SeriesSet.
func (s *seriesSet) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.now, s.rest = s.rest[0], s.rest[1:]
	return true
}

// At implements storage.SeriesSet.
func (s *seriesSet) At() storage.Series { return s.now }

// Err implements storage.SeriesSet.
func (*seriesSet) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (*seriesSet) Warnings() annotations.Annotations { return nil }

// sample implements chunks.Sample for numbers.
type sample struct {
	t int64
	v float64
}

func (s sample) T() int64                    { return s.t }
func (sample) ST() int64                     { return 0 }
func (s sample) F() float64                  { return s.v }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }
