package podlogs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

// follow reads on, and reads pods that start.
func (r *search) follow(ctx context.Context, places []place, logs []*log) error {
	ctx, cancel := context.WithCancelCause(ctx)
	r.done = make(chan struct{})
	r.mu.Lock()
	r.active++ // this function, until everything has begun
	for _, l := range logs {
		r.start(func() { r.tail(ctx, cancel, l) })
	}
	var watches sync.WaitGroup
	for _, p := range places {
		watch := func() { r.watch(ctx, cancel, p) }
		if p.grows {
			r.start(watch) // it starts tails for as long as it runs
		} else {
			watches.Go(watch)
		}
	}
	r.mu.Unlock()
	r.ends()
	err := r.out.run(ctx, r.done, r.send)
	if err == nil {
		err = context.Cause(ctx) // what ended the search may have ended its last log first
	}
	cancel(nil)
	<-r.done
	watches.Wait()
	if errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	return err
}

// start runs what keeps the search going. The caller holds the lock.
func (r *search) start(what func()) {
	r.active++
	go func() {
		defer r.ends()
		what()
	}()
}

// ends closes done with the last end of what was started.
func (r *search) ends() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active--; r.active == 0 {
		close(r.done)
	}
}

// tail follows one log until nothing is written to it any more.
func (r *search) tail(ctx context.Context, fail context.CancelCauseFunc, l *log) {
	defer func() {
		r.mu.Lock()
		delete(r.reading, l.Source)
		r.mu.Unlock()
	}()
	wait := jitter.Backoff{Min: time.Second, Max: 30 * time.Second}
	l.sieve.emit = func(line Line) error {
		r.out.line(line)
		return nil
	}
	take := func(line Line) error {
		wait.Reset()
		return l.sieve.take(line)
	}
	// What was written since the logs were read first has no bound, but for one that could
	// not be read.
	q := asked{follow: true, since: r.Since}
	if l.torn && r.Filter.empty() {
		q.tail = r.Tail
	}
	for ctx.Err() == nil {
		status, known, changed := r.state(l)
		if !known {
			return
		}
		if again := status.RestartCount - l.restarts; again > 0 && l.torn {
			r.between(ctx, l, again, take)
		}
		l.restarts = status.RestartCount
		err := l.read(ctx, r.api, q, take)
		if ctx.Err() != nil || !r.goesOn(ctx, fail, l, err, changed, &wait) {
			return
		}
	}
}

// goesOn waits after a log ended, and reports whether it is to be read again.
func (r *search) goesOn(ctx context.Context, fail context.CancelCauseFunc, l *log, err error, changed <-chan struct{}, wait *jitter.Backoff) bool {
	switch {
	case err == nil:
		l.torn = false
		r.resumed()
		if r.over(l) {
			return false
		}
		if status, known, _ := r.state(l); known && status.State.Running == nil {
			pause(ctx, changed, 0)
		} else {
			pause(ctx, changed, wait.Next()+time.Second)
		}
	case errcode.Is(err, errcode.Invalid):
		if why := errcode.Text(err); why != l.waits {
			l.waits = why
			r.out.notice("waiting", l.Pod+" "+l.Container+": "+why)
		}
		pause(ctx, changed, 0)
	case errcode.Is(err, errcode.NotFound):
		return false
	case errcode.Is(err, errcode.Forbidden):
		r.out.notice("refused", l.Pod+" "+l.Container+": "+errcode.Text(err))
		return false
	case errcode.Is(err, errcode.Unauthorized):
		fail(err)
		return false
	default:
		l.torn = true
		r.interrupted(err)
		pause(ctx, nil, max(wait.Next(), errcode.RetryAfter(err)))
	}
	return true
}

// between reads what a container wrote before it restarted, while its log could not be read.
func (r *search) between(ctx context.Context, l *log, runs int, take func(Line) error) {
	if runs > 1 {
		r.out.notice("gap", fmt.Sprintf("%s %s restarted %d times meanwhile: only its last run but one is there still", l.Pod, l.Container, runs))
	}
	if err := l.read(ctx, r.api, asked{previous: true, since: r.Since}, take); err != nil && ctx.Err() == nil {
		r.out.notice("gap", fmt.Sprintf("what %s %s wrote before it restarted could not be read: %s", l.Pod, l.Container, errcode.Text(err)))
	}
}

// pause waits for a change, or for some time if that is not zero.
func pause(ctx context.Context, changed <-chan struct{}, d time.Duration) {
	var timer <-chan time.Time
	if d > 0 {
		timer = time.After(d)
	}
	select {
	case <-ctx.Done():
	case <-changed:
	case <-timer:
	}
}

// state is what is known of a log's container, and what is closed when it changes.
func (r *search) state(l *log) (status containerStatus, known bool, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.pods[l.uid]
	if e == nil {
		return status, false, nil
	}
	status, _ = e.status(l.Container)
	return status, true, e.changed
}

// over reports whether nothing is written to a log any more.
func (r *search) over(l *log) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.pods[l.uid]
	if e == nil || e.pod.over() {
		return true
	}
	status, _ := e.status(l.Container)
	return status.State.Terminated != nil && status.State.Terminated.ExitCode == 0 && e.initial(l.Container)
}

func (p *pod) initial(container string) bool {
	for _, c := range p.Spec.InitContainers {
		if c.Name == container {
			return c.RestartPolicy != "Always"
		}
	}
	return false
}

func (r *search) interrupted(err error) {
	r.mu.Lock()
	first := !r.down
	r.down = true
	r.mu.Unlock()
	if first {
		r.out.notice("interrupted", "the logs are read again from here on: "+errcode.Text(err))
	}
}

func (r *search) resumed() {
	r.mu.Lock()
	was := r.down
	r.down = false
	r.mu.Unlock()
	if was {
		r.out.notice("resumed", "the logs go on")
	}
}

// watch notes what happens to the pods of one place.
func (r *search) watch(ctx context.Context, fail context.CancelCauseFunc, p place) {
	wait := jitter.Backoff{Min: time.Second, Max: 30 * time.Second}
	for ctx.Err() == nil {
		err := r.watchOnce(ctx, fail, &p, wait.Reset)
		switch {
		case ctx.Err() != nil || !p.grows && r.ended(p):
			return
		case errcode.Is(err, errcode.Unauthorized):
			fail(err)
			return
		case errcode.Is(err, errcode.Forbidden), errcode.Is(err, errcode.Invalid):
			r.out.notice("refused", "pods of "+p.Workload.String()+" that start later are not read: "+errcode.Text(err))
			return
		case err != nil:
			p.version = ""
			r.interrupted(err)
		}
		pause(ctx, nil, wait.Next()+100*time.Millisecond)
	}
}

// ended reports whether the pod of a place is gone or over.
func (r *search) ended(p place) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.pods {
		if e.Metadata.Namespace == p.Namespace && e.Metadata.Name == p.Name && !e.pod.over() {
			return false
		}
	}
	return true
}

var errAgain = errors.New("the watch is too old")

func (r *search) watchOnce(ctx context.Context, fail context.CancelCauseFunc, p *place, heard func()) error {
	if p.version == "" {
		list, err := r.list(ctx, p)
		if err != nil {
			return err
		}
		heard()
		r.resumed()
		r.listed(ctx, fail, p, list)
	}
	err := r.api.Watch(ctx, p.path+"?"+p.query+"&watch=true&allowWatchBookmarks=true&resourceVersion="+p.version, func(kind string, object []byte) error {
		if kind == "ERROR" {
			return errAgain
		}
		var x pod
		if err := bounded.JSON(object, &x, maxAnswer); err != nil {
			return errcode.New(errcode.Unavailable, "the cluster sent a pod that is not JSON: %w", err)
		}
		heard()
		p.version = x.Metadata.ResourceVersion
		x.of = p.Workload
		switch kind {
		case "ADDED", "MODIFIED":
			r.update(ctx, fail, x)
		case "DELETED":
			r.gone(x.Metadata.UID)
		}
		return nil
	})
	if errors.Is(err, errAgain) {
		p.version = ""
		return nil
	}
	return err
}

// listed compares what is known with a list: what is not there any more is gone.
func (r *search) listed(ctx context.Context, fail context.CancelCauseFunc, p *place, list []pod) {
	there := map[string]bool{}
	for _, x := range list {
		there[x.Metadata.UID] = true
	}
	r.mu.Lock()
	var gone []string
	for uid, e := range r.pods {
		if e.of == p.Workload && !there[uid] {
			gone = append(gone, uid)
		}
	}
	r.mu.Unlock()
	for _, uid := range gone {
		r.gone(uid)
	}
	for _, x := range list {
		r.update(ctx, fail, x)
	}
}

func (r *search) gone(uid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.pods[uid]; e != nil {
		delete(r.pods, uid)
		close(e.changed)
	}
}

// update notes a pod, and reads what of it was not read yet.
func (r *search) update(ctx context.Context, fail context.CancelCauseFunc, p pod) {
	if len(r.Pods) > 0 && !slices.Contains(r.Pods, p.Metadata.Name) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active == 0 {
		return
	}
	e := r.pods[p.Metadata.UID]
	if e == nil {
		e = &entry{started: map[string]bool{}}
		r.pods[p.Metadata.UID] = e
	} else {
		close(e.changed)
	}
	e.pod, e.changed = p, make(chan struct{})
	read, _ := p.containers(r.Containers)
	begun := 0
	for _, c := range read {
		switch {
		case e.started[c]:
		case len(r.reading) >= MaxSources:
			r.out.notice("capped", fmt.Sprintf("%d containers are read, and no more at once: name pods or a container for the others", MaxSources))
		default:
			e.started[c] = true
			l := r.log(p, c)
			r.start(func() { r.tail(ctx, fail, l) })
			begun++
		}
	}
	if begun > 0 {
		all := make([]Source, 0, len(r.reading))
		for s := range r.reading {
			all = append(all, s)
		}
		slices.SortFunc(all, Source.compare)
		r.out.sources(all)
	}
}
