package observe

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logquery"
	"github.com/axle-cd/axle/internal/podlogs"
	"github.com/axle-cd/axle/internal/telemetry"
)

const (
	// again is how far before the end of what was read a store is read again: lines are found
	// a little after their times, and not in the order of these.
	again = 5 * time.Second
	// pollEvery is how often a store is asked, pollPages how many pages each time.
	pollEvery, pollPages = time.Second, 5
	// leastPage is how small a page becomes.
	leastPage = 500
	// pollBack is how far back it is asked when nothing has come for long.
	pollBack = 5 * time.Minute
)

// recent are the lines that were sent lately, so that what is read again is not sent again.
// Equal lines are counted: a program may write one twice in a nanosecond.
type recent struct {
	seed   maphash.Seed
	counts map[uint64]sentLine
	// newest is the time of the newest line that was sent; oldest is set if there are older
	// lines that were not sent, for the limit of a query.
	newest, oldest time.Time
}

type sentLine struct {
	at time.Time
	n  int
}

func (r *recent) key(l podlogs.Line) uint64 {
	return maphash.Comparable(r.seed, [5]string{strconv.FormatInt(l.Time.UnixNano(), 36), l.Namespace, l.Pod, l.Container, l.Text})
}

// begin remembers those of the first lines, in order of their times, which may be read again.
func (r *recent) begin(lines []podlogs.Line) {
	r.seed, r.counts = maphash.MakeSeed(), map[uint64]sentLine{}
	for i := len(lines) - 1; i >= 0 && !lines[i].Time.Before(lines[len(lines)-1].Time.Add(-again)); i-- {
		r.add(lines[i])
	}
}

func (r *recent) add(l podlogs.Line) {
	key := r.key(l)
	r.counts[key] = sentLine{l.Time, r.counts[key].n + 1}
	if l.Time.After(r.newest) {
		r.newest = l.Time
	}
}

// forget leaves what is older than a time.
func (r *recent) forget(before time.Time) {
	for key, s := range r.counts {
		if s.at.Before(before) {
			delete(r.counts, key)
		}
	}
}

// reading is one time that lines are read again.
type reading struct {
	of   *recent
	seen map[uint64]int
}

func (r *recent) read() *reading { return &reading{r, map[uint64]int{}} }

// fresh reports whether a line was not sent yet, and remembers it.
func (r *reading) fresh(l podlogs.Line) bool {
	if !r.of.oldest.IsZero() && l.Time.Before(r.of.oldest) {
		return false
	}
	key := r.of.key(l)
	if r.seen[key]++; r.seen[key] <= r.of.counts[key].n {
		return false
	}
	r.of.add(l)
	return true
}

// follow sends the lines of a query that come after those of recent, which a search found that
// began at a time.
func (t *Target) follow(ctx context.Context, q logquery.Query, sent *recent, began time.Time, send func(podlogs.Batch) error) error {
	place, err := t.observer.tails.Take(t.ask.Caller.Principal.Sharing())
	if err != nil {
		return err
	}
	defer place.Leave()
	// Between two questions nothing is open that would end with the caller's token.
	ctx, allowed, err := t.observer.config.Agents.While(ctx, t.ask.Caller, t.ask.Cluster)
	if err != nil {
		return err
	}
	defer allowed()
	ctx, cancel := context.WithTimeout(ctx, telemetry.FollowFor)
	defer cancel()
	outlet := podlogs.NewOutlet()
	err = outlet.Run(ctx, func(line func(podlogs.Line)) error { return t.poll(ctx, q, sent, began, outlet, line) }, send)
	return telemetry.Ended(ctx, err, t.store(), true)
}

// poll reads a store again and again, until ctx ends. No store's own tail is used: Loki's is a
// websocket, and VictoriaLogs' leaves out lines that are found after later ones of their stream.
func (t *Target) poll(ctx context.Context, q logquery.Query, sent *recent, began time.Time, outlet podlogs.Outlet, line func(podlogs.Line)) error {
	q.Forward, q.Limit = true, logquery.Page
	least := q.Start
	for {
		namespaces, err := t.observer.Namespaces(ctx, t.ask.Caller, t.ask.Cluster)
		if err != nil {
			return err
		}
		t.Namespaces = namespaces
		// The times are the store's: the hub's clock is asked when nothing comes, and for lines
		// of the future, which would hide all others.
		from, newest := began.Add(-pollBack), sent.newest
		if newest.After(began) {
			newest = began
		}
		for _, bound := range []time.Time{newest.Add(-again), least} {
			if bound.After(from) {
				from = bound
			}
		}
		sent.forget(from)
		reading := sent.read()
		more := true
		for page := 0; page < pollPages && more; page++ {
			q.Start = from
			var lines []podlogs.Line
			if lines, more, err = t.page(ctx, &q); err != nil {
				return err
			}
			for _, l := range lines {
				if reading.fresh(l) {
					line(l)
				}
			}
			if !more {
				break
			}
			// The next page begins with the lines of the last time of this one, which are known.
			last := lines[len(lines)-1].Time
			if last.Equal(from) {
				outlet.Notice("gap", fmt.Sprintf("more than %d lines have the time %s, and the others are left out", len(lines), last.Format(time.RFC3339Nano)))
				last = last.Add(1)
			}
			from, reading = last, sent.read()
		}
		began = t.observer.config.Clock.Now()
		if more {
			outlet.Notice("gap", "more lines come than are read: those between "+from.UTC().Format(time.RFC3339)+" and "+began.UTC().Format(time.RFC3339)+" are left out; filter, or read them without following")
			least = began
		}
		if err := jitter.Wait(ctx, jitter.Around(pollEvery, pollEvery/10)); err != nil {
			return err
		}
	}
}

// page reads one page of lines, and reports whether there are more. A store that allows less
// than a page, and lines that are too long for one, make pages smaller.
func (t *Target) page(ctx context.Context, q *logquery.Query) (lines []podlogs.Line, more bool, err error) {
	store := t.logs()
	for {
		path, values, err := q.Call(store)
		if err != nil {
			return nil, false, err
		}
		body, err := t.Get(ctx, path, values)
		if errcode.Is(err, errcode.Invalid) && q.Limit > leastPage {
			q.Limit /= 2
			continue
		}
		if err != nil {
			return nil, false, err
		}
		result, err := store.Decode(body)
		if err = errors.Join(err, body.Close()); err != nil {
			return nil, false, err
		}
		if result.Left > 0 && q.Limit > leastPage {
			q.Limit /= 2
			continue
		}
		return result.Lines, len(result.Lines) > 0 && len(result.Lines)+int(result.Hidden+result.Left) >= q.Limit, nil
	}
}
