package poll

import (
	"time"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/poll/change"
	"github.com/axle-cd/axle/agent/poll/content"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// unsettled lists the services, other than id, whose present files and settings have
// not been rendered. Nobody knows which objects they need, so nothing may be deleted
// that they could take over. Services that wait for a person or for a dependency are
// rendered just for this, see claim; those that cannot be rendered stay in the list.
func (l *Loop) unsettled(id string) []apply.Pending {
	renderer := l.config.Render.RendererVersion()
	now := l.config.Clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.allSettled && l.settledBy == renderer {
		return nil
	}
	var all []apply.Pending
	settled := true
	for _, s := range l.services {
		if !l.isUnsettled(s, renderer) {
			continue
		}
		settled = false
		if s.Id == id {
			continue
		}
		all = append(all, apply.Pending{Name: s.name, Why: s.unsettledBecause(renderer, now), Takes: takes(l.config.Gate, s)})
	}
	// Later calls need not scan all services until something is new.
	l.allSettled, l.settledBy = settled, renderer
	if len(all) > 0 {
		poke(l.work)
	}
	return all
}

// isUnsettled reports whether the objects of a service are unknown now.
func (l *Loop) isUnsettled(s *service, renderer string) bool {
	return s.want != nil && (s.waiting != "" || s.spec == nil || !s.specFits() || change.Of(s.planned, s.wanted(renderer)) != change.Unchanged)
}

// unsettledBecause says why, and queues a render for a service that would not have
// one otherwise.
func (s *service) unsettledBecause(renderer string, now time.Time) string {
	tarball, _ := content.Of(s.want)
	switch {
	case s.waiting != "":
		return s.waiting
	case s.spec == nil || !s.specFits():
		return "its settings have not arrived yet"
	case tarball == "":
		return "its source has never been read"
	}
	if s.trouble != nil && change.Of(&s.inputs, s.wanted(renderer)) == change.Unchanged {
		return s.scrub.String(errcode.Message(s.trouble.Err))
	}
	if s.held || s.gate != "" {
		s.claiming = true
		if s.Due.IsZero() || s.gate != "" {
			s.queue(now, change.Unfinished)
		}
	}
	return "it has not been rendered since it changed"
}

// takes returns a function that reports which objects a service's limits allow it to
// take.
func takes(gate *tenancy.Gate, s *service) func(kubeobj.Kind, kubeobj.Ref) bool {
	if s.spec == nil || !s.specFits() {
		return nil
	}
	request, alone := tenancy.FromSpec(s.spec), s.spec.GetSyncConfig().GetEnforceNamespace()
	return func(kind kubeobj.Kind, ref kubeobj.Ref) bool {
		return gate.MightWrite(request, kind, ref) && (!alone || ref.Namespace == request.Namespace)
	}
}

// idleBecause says why a rendered service is not applied.
func (j *job) idleBecause() string {
	switch {
	case j.held:
		return "it is paused"
	case j.gate != "":
		return "it " + j.gate
	}
	return "it is on a dry run"
}

// tellAwaiting records what a pass made known about a service, and queues the
// services whose deletes wait for others.
func (l *Loop) tellAwaiting(s *service, out outcome) {
	awaits := out.result != nil && out.result.Awaits || out.drain != nil && out.drain.Awaits
	if out.claimed || out.result != nil {
		s.planned, s.claiming = &out.inputs, false
	}
	switch {
	case awaits:
		if !l.awaiting[s.Id] {
			// What it waits for may have arrived while this pass ended.
			s.queue(l.config.Clock.Now().Add(time.Second), change.Unfinished)
		}
		l.awaiting[s.Id] = true
		return
	case !out.skipped && l.awaiting[s.Id]:
		if delete(l.awaiting, s.Id); len(l.awaiting) == 0 {
			// Nobody waits any more, so retries of failed renders for this purpose
			// stop.
			for _, o := range l.services {
				o.claiming = false
			}
		}
	}
	for id := range l.awaiting {
		if o := l.services[id]; o != nil && o != s {
			o.queue(l.config.Clock.Now().Add(time.Second), change.Unfinished)
		}
	}
}
