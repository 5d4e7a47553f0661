package podlogs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

const (
	// MaxSources is how many containers are read at once.
	MaxSources = 50
	// maxWorkloads is how many workloads are looked at.
	maxWorkloads = 50
	// tries is how often a log that is not followed is read on after it was cut.
	tries = 5
	// ringBytes bounds what is kept of the ends of all logs, in bytes.
	ringBytes = 16 << 20
)

// Search says what is read.
type Search struct {
	Workloads []Workload
	// Pods and Containers choose among them; empty is all.
	Pods, Containers []string
	// Follow goes on until nothing can be written any more. Previous reads the runs before
	// the present ones.
	Follow, Previous bool
	// Tail is how many lines of each container are sent, from its end; 0 is all.
	Tail int
	// Since and Until bound the times; zero is no bound.
	Since, Until time.Time
	Filter       Filter
}

func (s Search) check() error {
	switch {
	case s.Follow && s.Previous:
		return errcode.New(errcode.Invalid, "a run that is over is not followed: leave out follow or previous")
	case s.Follow && !s.Until.IsZero():
		return errcode.New(errcode.Invalid, "a log that is followed has no end: leave out follow or the end of the range")
	case s.Tail < 0 || s.Tail > MaxTail:
		return errcode.New(errcode.Invalid, "%d lines of each container: ask for 1 to %d, or 0 for all", s.Tail, MaxTail)
	case !s.Until.IsZero() && s.Until.Before(s.Since):
		return errcode.New(errcode.Invalid, "the range ends at %s, before it begins at %s", s.Until.UTC().Format(time.RFC3339), s.Since.UTC().Format(time.RFC3339))
	case len(s.Workloads) > maxWorkloads:
		return errcode.New(errcode.Invalid, "%d workloads; at most %d are read at once, so name one", len(s.Workloads), maxWorkloads)
	}
	return nil
}

// search is one run of a Search.
type search struct {
	Search
	api  API
	send func(Batch) error
	out  *outlet

	mu      sync.Mutex
	pods    map[string]*entry
	reading map[Source]bool
	down    bool
	// active is what keeps the search going, and done is closed when it is zero.
	active int
	done   chan struct{}
}

// entry is what is known of a pod.
type entry struct {
	pod
	// started are the containers that are or were read.
	started map[string]bool
	// changed is closed with the next change.
	changed chan struct{}
}

// place is where the pods of a workload are listed.
type place struct {
	Workload
	path, query, version string
	grows                bool
}

// Run reads, and calls send from one goroutine until all is sent.
//
// Errors are NotFound for a workload, pods or a container that are not there, Forbidden
// if nothing may be read, Unavailable for a log that could not be read to its end, and
// those of the API and of send.
func (s Search) Run(ctx context.Context, api API, send func(Batch) error) error {
	if err := s.check(); err != nil {
		return err
	}
	r := &search{Search: s, api: api, send: send, out: newOutlet(), pods: map[string]*entry{}, reading: map[Source]bool{}}
	places, logs, err := r.find(ctx)
	if err != nil {
		return err
	}
	r.out.sources(sourcesOf(logs))
	if err := r.snapshot(ctx, logs); err != nil || !s.Follow {
		return err
	}
	return r.follow(ctx, places, logs)
}

func sourcesOf(logs []*log) []Source {
	all := make([]Source, len(logs))
	for i, l := range logs {
		all[i] = l.Source
	}
	return all
}

// find lists the pods, and chooses what is read.
func (r *search) find(ctx context.Context) (places []place, logs []*log, err error) {
	var all []pod
	for _, w := range r.Workloads {
		path, query, grows, err := listOf(ctx, r.api, w)
		if errcode.Is(err, errcode.NotFound) && len(r.Workloads) > 1 {
			r.out.notice("left_out", errcode.Text(err))
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		p := place{Workload: w, path: path, query: query.Encode(), grows: grows}
		list, err := r.list(ctx, &p)
		if err != nil {
			return nil, nil, err
		}
		places, all = append(places, p), append(all, list...)
	}
	var others []string
	pods, total := 0, 0
	for _, p := range sorted(all) {
		if r.pods[p.Metadata.UID] != nil || len(r.Pods) > 0 && !slices.Contains(r.Pods, p.Metadata.Name) {
			continue
		}
		e := &entry{pod: p, started: map[string]bool{}, changed: make(chan struct{})}
		r.pods[p.Metadata.UID] = e
		read, left := p.containers(r.Containers)
		others = append(others, left...)
		total += len(read)
		if len(read) > 0 && len(logs)+len(read) <= MaxSources {
			pods++
			for _, c := range read {
				e.started[c] = true
				logs = append(logs, r.log(p, c))
			}
		}
	}
	switch {
	case total > len(logs):
		r.out.notice("capped", fmt.Sprintf("%d of %d containers are read, in %d of %d pods: what is not ready, and then the newest; name pods or a container for the others", len(logs), total, pods, len(r.pods)))
	case len(logs) > 0 || r.Follow && len(r.Pods)+len(r.Containers) == 0:
	case len(r.pods) > 0 && len(r.Containers) > 0:
		slices.Sort(others)
		return nil, nil, errcode.New(errcode.NotFound, "no pod has a container %q; the containers are: %s", strings.Join(r.Containers, ", "), strings.Join(slices.Compact(others), ", "))
	case len(r.Pods) > 0:
		return nil, nil, errcode.New(errcode.NotFound, "none of the %d pods is called %s", len(all), strings.Join(r.Pods, " or "))
	default:
		return nil, nil, errcode.New(errcode.NotFound, "it has no pods, so no logs; its events show the reason")
	}
	if len(logs) == 0 {
		r.out.notice("waiting", "it has no pods yet")
	}
	return places, logs, nil
}

// log begins a log. The caller holds the lock, or is alone.
func (r *search) log(p pod, container string) *log {
	l := &log{Source: Source{p.Metadata.Namespace, p.Metadata.Name, container}, uid: p.Metadata.UID}
	l.sieve.Filter = r.Filter
	status, _ := p.status(container)
	l.restarts = status.RestartCount
	r.reading[l.Source] = true
	return l
}

// list reads the pods of one place.
func (r *search) list(ctx context.Context, p *place) ([]pod, error) {
	var list podList
	if err := get(ctx, r.api, fmt.Sprintf("%s?%s&limit=%d", p.path, p.query, maxPods), &list); err != nil {
		return nil, err
	}
	if list.Metadata.Continue != "" {
		r.out.notice("capped", fmt.Sprintf("only %d pods of %s are looked at", maxPods, p.Workload))
	}
	for i := range list.Items {
		list.Items[i].of = p.Workload
	}
	p.version = list.Metadata.ResourceVersion
	return list.Items, nil
}

// feed is a log that is merged.
type feed struct {
	lines chan []Line
	held  []Line
	left  int64
	err   error
}

// snapshot sends what the logs have, in the order of their times.
func (r *search) snapshot(ctx context.Context, logs []*log) error {
	ctx, cancel := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
	feeds := make([]*feed, len(logs))
	for i, l := range logs {
		f := &feed{lines: make(chan []Line, 1)}
		feeds[i] = f
		readers.Go(func() {
			defer close(f.lines)
			f.err = r.fill(ctx, l, f, ringBytes/len(logs))
		})
	}
	if err := r.merge(ctx, feeds); err != nil {
		return err
	}
	var failed, refused error
	var left int64
	read := 0
	for i, f := range feeds {
		left += f.left
		of := logs[i].Pod + " " + logs[i].Container
		switch {
		case f.err == nil:
			read++
		case errcode.Is(f.err, errcode.Invalid), errcode.Is(f.err, errcode.NotFound):
			r.out.notice("waiting", of+": "+errcode.Text(f.err))
			read++
		case errcode.Is(f.err, errcode.Forbidden):
			refused = f.err
			r.out.notice("refused", of+": "+errcode.Text(f.err))
		case errcode.Is(f.err, errcode.Unauthorized):
			return f.err
		default:
			failed = f.err
			logs[i].torn = true
			if !r.Follow {
				r.out.notice("interrupted", "the log of "+of+" ends before its end: "+errcode.Text(f.err))
			}
		}
	}
	if left > 0 {
		r.out.notice("left_out", fmt.Sprintf("%d earlier matches are left out", left))
	}
	if read == 0 && refused != nil {
		return refused
	}
	if err := r.out.flush(r.send); err != nil || r.Follow {
		return err
	}
	return failed
}

// fill reads one log into its feed.
func (r *search) fill(ctx context.Context, l *log, f *feed, room int) error {
	q := asked{previous: r.Previous, since: r.Since, until: r.Until, tail: r.Tail}
	var batch []Line
	bytes := 0
	pass := func(line Line) error {
		batch = append(batch, line)
		if bytes += line.size(); len(batch) < 64 && bytes < 64<<10 {
			return nil
		}
		select {
		case f.lines <- batch:
			batch, bytes = nil, 0
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	l.sieve.emit = pass
	var last *ring
	if r.Tail > 0 && !r.Filter.empty() {
		// The last lines that match are not the matches of the last lines.
		q.tail = 0
		last = &ring{most: r.Tail, room: room}
		l.sieve.emit = func(line Line) error {
			last.take(line)
			return nil
		}
	}
	wait := jitter.Backoff{Min: 200 * time.Millisecond, Max: 5 * time.Second}
	var err error
	for try := 1; ; try++ {
		if err = l.read(ctx, r.api, q, l.sieve.take); !later(err) || try == tries || ctx.Err() != nil {
			break
		}
		if jitter.Wait(ctx, wait.Next()) != nil {
			break
		}
	}
	if last != nil {
		f.left = last.left
		for _, line := range last.lines {
			if err := pass(line); err != nil {
				return err
			}
		}
	}
	if len(batch) > 0 {
		select {
		case f.lines <- batch:
		case <-ctx.Done():
		}
	}
	return err
}

// later reports whether an error may pass.
func later(err error) bool {
	if err == nil {
		return false
	}
	switch errcode.Of(err) {
	case errcode.Invalid, errcode.NotFound, errcode.Forbidden, errcode.Unauthorized:
		return false
	}
	return true
}

// merge sends the lines of all feeds in the order of their times.
func (r *search) merge(ctx context.Context, feeds []*feed) error {
	open := slices.Clone(feeds)
	var batch Batch
	bytes := 0
	flush := func() error {
		if len(batch.Lines) == 0 {
			return nil
		}
		err := r.send(batch)
		batch, bytes = Batch{}, 0
		return err
	}
	first := r.out.take() // sources and notices come before the lines
	if len(first.Sources)+len(first.Notices) > 0 {
		if err := r.send(first); err != nil {
			return err
		}
	}
	for {
		for i := 0; i < len(open); {
			if len(open[i].held) > 0 {
				i++
				continue
			}
			select {
			case lines, more := <-open[i].lines:
				if more {
					open[i].held = lines
				} else {
					open = slices.Delete(open, i, i+1)
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if len(open) == 0 {
			return flush()
		}
		next := open[0]
		for _, f := range open[1:] {
			if f.held[0].Time.Before(next.held[0].Time) {
				next = f
			}
		}
		batch.Lines = append(batch.Lines, next.held[0])
		bytes += next.held[0].size()
		next.held = next.held[1:]
		if len(batch.Lines) >= batchLines || bytes >= batchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
}
