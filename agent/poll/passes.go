package poll

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/poll/change"
	"github.com/axle-cd/axle/agent/poll/content"
	"github.com/axle-cd/axle/agent/poll/queue"
	"github.com/axle-cd/axle/agent/preview"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

// specsWait is how long a pass waits at a time for a spec that is being fetched. With
// the previous spec it would have the files of the new revision and the name of the
// previous one, visible to tests and to templates that use its time.
const specsWait = 50 * time.Millisecond

// runPasses reads the inventories, then runs passes as they become due: one per
// service, and a bounded number per project and in all.
func (l *Loop) runPasses(ctx context.Context) error {
	if !l.load(ctx) {
		return nil
	}
	var running sync.WaitGroup
	defer running.Wait()
	for {
		// The bound may change while passes run; one that ends pokes.
		wait := time.Minute
		if ctx.Err() == nil {
			var j *job
			if j, wait = l.next(); j != nil {
				running.Go(func() {
					defer func() { j.place.Leave(); poke(l.work) }()
					l.run(ctx, j)
				})
				continue
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.work:
		case <-l.config.Clock.After(wait):
		}
	}
}

// load reads what earlier passes applied. Before that nothing may be done, and every
// service reports why.
func (l *Loop) load(ctx context.Context) bool {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	for {
		err := l.config.Apply.Load(ctx)
		if ctx.Err() != nil {
			return false
		}
		l.mu.Lock()
		l.away = err
		l.loaded, l.allSettled, l.lookedAt = err == nil, false, l.config.Clock.Now()
		if l.loaded {
			for _, id := range l.config.Inventory.Services() {
				l.ensure(id)
			}
			for id, s := range l.services {
				state, _ := l.config.Inventory.State(id)
				if s.name == "" {
					l.call(s, state.Name, state.Namespace)
				}
				recall(l, s)
				l.hold(s)
				// The names of what the same entry applied before are already known.
				tarball, _ := content.Of(s.want)
				if s.want != nil && s.spec != nil && state.TarballDigest == tarball && s.spec.GetSpecDigest() == s.want.GetSpecDigest() {
					s.specFor = s.wantKey
				}
			}
		}
		for id, s := range l.services {
			s.known = s.known || err != nil
			l.hints.Touch(id)
		}
		l.mu.Unlock()
		l.hints.Poke()
		if err == nil {
			l.queueChanged()
			return true
		}
		l.config.Log.Warn("cannot read from the cluster's API server; nothing is applied until that works", logkey.Error, err)
		select {
		case <-ctx.Done():
			return false
		case <-l.config.Clock.After(backoff.Next()):
		}
	}
}

// next returns a pass to run now, which has a place, or how long until one is due.
func (l *Loop) next() (*job, time.Duration) {
	now := l.config.Clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		due, next := l.queue.Due(now)
		if slices.ContainsFunc(due, func(e *queue.Entry) bool { return l.putOff(e, now) }) {
			continue
		}
		var callers []pool.Caller
		first := map[string]*queue.Entry{}
		for _, e := range due {
			callers, first[e.Project] = append(callers, pool.Caller{Name: e.Project}), e
		}
		if project, place := l.running.Next(callers); place != nil {
			return l.begin(l.services[first[project.Name].Id], place), 0
		}
		if next.IsZero() {
			return nil, time.Minute
		}
		return nil, min(time.Minute, next.Sub(now))
	}
}

// putOff reports whether the pass of a service that is due does not run now, and queues it
// for when it may.
func (l *Loop) putOff(e *queue.Entry, now time.Time) bool {
	s := l.services[e.Id]
	switch {
	case s.held && !s.requested():
		s.unqueue() // it was held meanwhile
	case l.specsComing && s.needsSpec():
		l.queue.Put(e, now.Add(specsWait))
	default:
		return false
	}
	return true
}

func (l *Loop) begin(s *service, place *pool.Held) *job {
	j := &job{
		place: place,
		id:    s.Id, want: s.want, tombstone: s.tombstone, spec: s.spec, done: s.done, inputs: s.inputs, settings: s.settings,
		seen: seenOf(l.list), objects: s.objects, warnings: s.warnings, cause: s.cause, readReads: s.readReads,
		deletes: l.deletes.Words(), held: s.held, diffed: s.diffed, previewed: s.previewed, onDemand: s.requested(), claim: s.claiming,
	}
	if s.want != nil {
		j.fits = s.specFits()
		j.gate = l.gate(s)
	}
	if s.tombstone != nil {
		j.dependent = l.dependent(s)
	}
	s.cause, s.readReads = change.Unchanged, false
	l.queue.Begin(&s.Entry)
	return j
}

// run takes one service through one pass.
func (l *Loop) run(ctx context.Context, j *job) {
	limited, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	var out outcome
	if j.tombstone != nil {
		out = l.leave(limited, j)
	} else {
		again := previews(limited, l, j)
		out = l.pass(limited, j)
		out.again = out.again || again
	}
	l.end(ctx, j, out)
}

// previews answers preview requests, also of a service that does not render or may
// not be applied. It reports whether some remain.
func previews(ctx context.Context, l *Loop, j *job) (again bool) {
	if l.config.Previews == nil || l.config.Diffs == nil || len(j.spec.GetPreviews()) == 0 {
		return false
	}
	last, err := l.config.Previews.Answer(ctx, j.id, j.spec.GetPreviews(), j.previewed, func(ctx context.Context, r *agentv1.ReportDiffRequest) error {
		r.BootId = l.config.BootID
		return l.config.Diffs.ReportDiff(ctx, r)
	})
	if err != nil {
		l.config.Log.Warn("cannot answer a preview", logkey.Service, j.want.GetName(), logkey.Error, scrubbed(j.spec, errcode.Message(err)))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.services[j.id]; s != nil {
		if s.previewed = max(s.previewed, last); err == nil && preview.Only(j.spec, s.diffed) {
			s.diffed = max(s.diffed, j.spec.GetDiffRequest())
			j.diffed, j.onDemand = s.diffed, s.requested()
		}
	}
	return err != nil
}

// end records the result of a pass and decides when the next one is.
func (l *Loop) end(ctx context.Context, j *job, out outcome) {
	renderer := l.config.Render.RendererVersion()
	l.mu.Lock()
	s := l.services[j.id]
	if s == nil {
		l.mu.Unlock()
		return
	}
	l.queue.End(&s.Entry)
	if ctx.Err() != nil && out.trouble != nil {
		l.mu.Unlock()
		return // the agent stops; after a restart the pass runs again
	}
	s.known = true
	if s.held {
		l.config.Apply.Pause(s.Id) // it was held while the pass ran
	}
	switch {
	case !out.skipped:
		l.takeOutcome(s, j, out)
	case out.settled:
		l.settle(s)
	}
	l.tellAwaiting(s, out)
	if out.again {
		s.queue(l.config.Clock.Now().Add(max(s.backoff.Next(), time.Second)), change.Asked)
	}
	if leaves := s.tombstone != nil && s.tombstone == j.tombstone; l.loaded && l.list != nil && !leaves {
		// Its spec or list entry may have changed during the pass. What waits to leave
		// has its next pass already.
		s.queueChanged(l.config.Clock.Now(), renderer)
	}
	l.allSettled = l.allSettled && !l.isUnsettled(s, renderer)
	l.hints.Touch(j.id)
	l.mu.Unlock()
	l.metrics.observe(j, out)
	if out.trouble != nil {
		l.config.Log.Warn("a pass failed", logkey.Service, s.name, logkey.Source, out.trouble.Source, logkey.Error, scrubbed(j.spec, errcode.Message(out.trouble.Err)))
	}
	l.storeApplied()
	poke(l.work)
	l.hints.Poke()
}

// settle forgets why an intermediate revision failed: the desired revision is already
// applied, as after the revert of a broken commit.
func (l *Loop) settle(s *service) {
	if s.done == nil || s.needsSpec() || s.trouble == nil && s.gate == "" {
		return
	}
	s.trouble, s.gate, s.inputs = nil, "", *s.done
	l.ungate(s)
	s.backoff.Reset()
}

func (l *Loop) takeOutcome(s *service, j *job, out outcome) {
	now := l.config.Clock.Now()
	s.fails(out.trouble, now)
	s.gate, s.drain = out.gate, out.drain
	if l.ungate(s); s.gate != "" {
		l.waitGate(s)
	}
	if j.want != nil && out.gate == "" {
		s.inputs = out.inputs
	}
	s.deletesHeld = j.deletes != ""
	switch {
	case out.trouble != nil:
		s.objects = nil
		if out.trouble.Refused || s.done != nil && change.Of(s.done, out.inputs) == change.Unchanged {
			// It is tried again, even if the same inputs were applied before.
			s.done = nil
		}
		if out.trouble.Refused {
			// What an earlier permit allowed is not healed either.
			l.config.Apply.Pause(s.Id)
			if l.config.Tests != nil {
				l.config.Tests.Stop(s.Id)
			}
		}
		after := max(s.backoff.Next(), s.backoff.Min/2, errcode.RetryAfter(out.trouble.Err))
		s.queue(now.Add(after), change.Unfinished)
	case out.gate != "":
		// From now on a touched dependency makes it run earlier; check what the
		// dependency did during this pass now.
		wait := 30 * time.Second
		if l.gate(s) == "" {
			wait = 0
		}
		s.queue(now.Add(wait), change.Unfinished)
	case out.dry:
		s.done, s.objects, s.warnings = &out.inputs, nil, out.warnings
		s.result = &apply.Result{Sync: syncDryRun, Reason: reasonDryRun, Message: cmp.Or(out.words, "dry run: the changes are not known yet"), Partly: true}
		l.config.Apply.Pause(s.Id)
	case out.drain != nil && !out.drain.Done:
		s.queue(now.Add(max(s.backoff.Next(), time.Second)), change.Unfinished)
	case out.drain != nil:
		l.report.Drained(s.tombstone)
		if l.config.Tests != nil {
			l.config.Tests.Forget(out.permit)
		}
	case out.result != nil:
		l.takeResult(s, j, out, now)
	}
}

func (l *Loop) takeResult(s *service, j *job, out outcome, now time.Time) {
	s.result, s.warnings, s.objects = out.result, out.warnings, out.objects
	if wrote(out.result) {
		s.done, s.settings = &out.inputs, out.settings
		l.nameApplied(s, j.spec, out.inputs, out.confirmed)
		l.renameApplied(s) // its spec may have arrived during the pass
	} else {
		s.done = nil
	}
	if !out.confirmed {
		l.wantTests(s, j, out)
	}
	failed := out.result.Sync == "Failed"
	switch {
	case failed:
		s.queue(now.Add(max(s.backoff.Next(), time.Second, out.result.Again)), change.Unfinished)
	case out.result.Again > 0:
		s.queue(now.Add(out.result.Again), change.Unfinished)
	}
	if !failed {
		s.backoff.Reset()
	}
	if deletesMatter := l.deletes == NoHold && s.deletesHeld; deletesMatter {
		s.queue(now, change.DeletesFreed)
	}
}

// nameApplied records the names of an applied revision. If it was only confirmed,
// nothing is stored, and the revision is the same: the names on disk belong to the
// stored inventory.
func (l *Loop) nameApplied(s *service, spec *agentv1.ServiceSpec, in change.Inputs, confirmed bool) {
	applied := cache.Applied{
		TarballDigest: in.TarballDigest, SpecDigest: in.SpecDigest,
		Revision: spec.GetDisplay().GetRevision(), SourceRevision: spec.GetDisplay().GetSourceRevision(),
	}
	before := s.applied
	if confirmed {
		before.SpecDigest = applied.SpecDigest
	}
	l.appliedChanged = l.appliedChanged || applied != before
	s.applied = applied
}

// renameApplied gives an applied revision the names of the spec that arrived for it,
// and reports whether they changed. A pass may run first: when only the list has
// arrived, other files can be applied with the previous settings, and the previous
// spec names the previous revision. No pass follows, because nothing is left to do.
func (l *Loop) renameApplied(s *service) bool {
	if s.done == nil || s.want == nil || s.spec == nil || s.needsSpec() {
		return false
	}
	if !content.Same(s.done, s.want) || s.done.SpecDigest != s.spec.GetSpecDigest() {
		return false
	}
	before := s.applied
	l.nameApplied(s, s.spec, *s.done, false)
	return before != s.applied
}

// storeApplied stores the names of applied revisions after passes. The file holds all
// services. While many passes follow each other it is written less often the more
// services there are, so that each pass costs the same. A kill loses only names,
// which the next pass restores.
func (l *Loop) storeApplied() {
	now := l.config.Clock.Now()
	l.mu.Lock()
	rest := max(time.Second, time.Duration(len(l.services))*appliedRest)
	if !l.appliedChanged || (now.Sub(l.appliedAt) < rest && l.busyLocked(now)) {
		l.mu.Unlock()
		return
	}
	l.appliedChanged, l.appliedAt = false, now
	all := map[string]cache.Applied{}
	for id, s := range l.services {
		if s.applied != (cache.Applied{}) {
			all[id] = s.applied
		}
	}
	l.mu.Unlock()
	if err := l.config.Cache.PutApplied(all); err != nil && !errors.Is(err, context.Canceled) {
		l.config.Log.Warn("cannot store the names of applied revisions", logkey.Error, err)
	}
}

// busyLocked reports whether a pass runs or is due.
func (l *Loop) busyLocked(now time.Time) bool {
	first := l.queue.First()
	return l.queue.Running > 0 || first != nil && !first.Due.After(now)
}

// scrubbed removes the secret values of a service from a text: renderers and API
// servers quote them.
func scrubbed(spec *agentv1.ServiceSpec, text string) string {
	return apply.FromSpec(spec, "").Scrub.String(text)
}
