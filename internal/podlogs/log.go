package podlogs

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"time"
)

// log is one container's log, and how far it was read.
type log struct {
	Source
	uid string
	// last is the newest time that was read, and count how many lines have it.
	last  time.Time
	count int
	// restarts is the run that was read last; torn says that it was not read to its end.
	restarts int
	torn     bool
	// waits is why there was nothing to read.
	waits string
	sieve sieve
}

// asked is one request for a log.
type asked struct {
	follow, previous bool
	tail             int
	since, until     time.Time
}

var errEnough = errors.New("the rest is later than what was asked for")

// read reads a log from where it was read to, and sends each line once.
func (l *log) read(ctx context.Context, api API, q asked, emit func(Line) error) error {
	values := url.Values{"timestamps": {"true"}, "container": {l.Container}}
	if q.follow {
		values.Set("follow", "true")
	}
	if q.previous {
		values.Set("previous", "true")
	}
	since := q.since
	if l.last.After(since) {
		since = l.last
	} else if q.tail > 0 {
		values.Set("tailLines", strconv.Itoa(q.tail))
	}
	if !since.IsZero() {
		// API servers know whole seconds.
		values.Set("sinceTime", since.UTC().Truncate(time.Second).Format(time.RFC3339))
	}
	at, had := l.last, l.count
	again := !at.IsZero()
	a := assembler{of: l.Source, emit: func(x Line) error {
		switch {
		case again && (x.Time.Before(at) || x.Time.IsZero()):
			return nil
		case again && x.Time.Equal(at) && had > 0:
			had--
			return nil
		}
		again = again && x.Time.Equal(at)
		switch {
		case x.Time.After(l.last):
			l.last, l.count = x.Time, 1
		case x.Time.Equal(l.last):
			l.count++
		}
		if x.Time.IsZero() {
			x.Time = l.last // it stays behind the line before it
		}
		if x.Time.Before(q.since) {
			return nil
		}
		if !q.until.IsZero() && x.Time.After(q.until) {
			return errEnough
		}
		return emit(x)
	}}
	err := api.Logs(ctx, podPath(l.Namespace, l.Pod)+"/log?"+values.Encode(), a.take)
	if err == nil {
		err = a.last()
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
