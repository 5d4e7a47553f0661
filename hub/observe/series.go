package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
)

const (
	// maxNames is how many values of a label an answer has, and maxMatch how many selectors a
	// question.
	maxNames, maxMatch = 5000, 20
	// usualRange is that of a question about series without one.
	usualRange = time.Hour
)

// SeriesQuery asks for series, or for what their labels have.
type SeriesQuery struct {
	// Match are selectors of series.
	Match []string
	// Label is that whose values are asked; empty asks for the names of labels.
	Label string
	// Start and End are an hour ago and now when they are zero.
	Start, End time.Time
}

// values are the parameters of a question, limited to the namespaces.
func (t *Target) values(q SeriesQuery) (url.Values, error) {
	now := t.observer.config.Clock.Now()
	if q.End.IsZero() {
		q.End = now
	}
	if q.Start.IsZero() {
		q.Start = q.End.Add(-usualRange)
	}
	switch {
	case !q.Start.Before(q.End) || q.End.Sub(q.Start) > maxRange:
		return nil, errcode.New(errcode.Invalid, "start: the range is empty, or longer than %d days", int(maxRange.Hours()/24))
	case len(q.Match) > maxMatch:
		return nil, errcode.New(errcode.Invalid, "match: %d selectors; at most %d are allowed", len(q.Match), maxMatch)
	}
	match, err := t.limits().selectors(q.Match)
	if err != nil {
		return nil, err
	}
	return url.Values{"match[]": match, "start": {seconds(q.Start)}, "end": {seconds(q.End)}}, nil
}

// Series returns the labels of series, and how many are not in the answer.
func (t *Target) Series(ctx context.Context, q SeriesQuery) (all []Series, cut int, notices []string, err error) {
	if len(q.Match) == 0 {
		return nil, 0, nil, errcode.New(errcode.Invalid, "match: is missing; name series, such as up")
	}
	values, err := t.values(q)
	if err != nil {
		return nil, 0, nil, err
	}
	values.Set("limit", strconv.Itoa(maxSeries+1))
	body, err := t.Get(ctx, "/api/v1/series", values)
	if err != nil {
		return nil, 0, nil, err
	}
	defer body.Close()
	if all, cut, notices, err = decodeSeries(body); err != nil {
		return nil, 0, nil, t.undecoded(err)
	}
	if cut > 0 {
		notices = append(notices, fmt.Sprintf("at least %d series match, and %d are not shown: narrow the selector", len(all)+cut, cut))
	}
	return all, cut, append(t.Notices, notices...), nil
}

// LabelValues returns the values of a label, or the names of labels.
func (t *Target) LabelValues(ctx context.Context, q SeriesQuery) (all, notices []string, err error) {
	path := "/api/v1/labels"
	if q.Label != "" {
		if !labelForm.MatchString(q.Label) {
			return nil, nil, errcode.New(errcode.Invalid, "label: %.80q is not the name of a label", q.Label)
		}
		path = "/api/v1/label/" + q.Label + "/values"
	}
	values, err := t.values(q)
	if err != nil {
		return nil, nil, err
	}
	values.Set("limit", strconv.Itoa(maxNames+1))
	body, err := t.Get(ctx, path, values)
	if err != nil {
		return nil, nil, err
	}
	defer body.Close()
	all, cut, notices, err := decodeNames(body)
	if err != nil {
		return nil, nil, t.undecoded(err)
	}
	if cut > 0 {
		notices = append(notices, fmt.Sprintf("there are at least %d values, and %d are not shown", len(all)+cut, cut))
	}
	return all, append(t.Notices, notices...), nil
}

// decodeSeries reads the answer to a question about series.
func decodeSeries(from io.Reader) (all []Series, cut int, notices []string, err error) {
	d := newAnswerReader(from)
	err = d.read(func() error {
		return d.list(func() error {
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				return err
			}
			if len(all) >= maxSeries {
				cut++
				return nil
			}
			var metric map[string]string
			if len(raw) > maxSmall {
				return errcode.New(errcode.Unprocessable, "a series of the answer is larger than %d KiB", maxSmall>>10)
			}
			if err := json.Unmarshal(raw, &metric); err != nil {
				return err
			}
			all = append(all, Series{Labels: labelsOf(metric)})
			return nil
		})
	})
	return all, cut, d.notices, err
}

// decodeNames reads the answer to a question about labels.
func decodeNames(from io.Reader) (all []string, cut int, notices []string, err error) {
	d := newAnswerReader(from)
	err = d.read(func() error {
		return d.list(func() error {
			var name string
			if err := d.small(&name, maxSmall); err != nil {
				return err
			}
			if len(all) >= maxNames {
				cut++
				return nil
			}
			all = append(all, plain.Line(name, maxLabel))
			return nil
		})
	})
	return all, cut, d.notices, err
}
