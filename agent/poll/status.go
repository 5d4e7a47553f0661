package poll

import (
	"fmt"
	"time"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/drift"
	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/agent/poll/change"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/scrub"
)

// The words of a status; api/agent/v1 has the complete lists.
const (
	syncSynced   = "Synced"
	syncPending  = "Pending"
	syncApplying = "Applying"
	syncDrifted  = "Drifted"
	syncFailed   = "Failed"
	syncHeld     = "Held"
	syncPaused   = "Paused"

	reasonOrphaned    = "Orphaned"
	reasonDeletesHeld = "DeletesHeld"
	reasonDraining    = "Draining"
	reasonDependency  = "Dependency"
	reasonContested   = "Contested"
	reasonUnwatched   = "DriftUnknown"
	reasonAPIServer   = "APIServerAway"
	reasonApproval    = "ClusterPending"
	reasonRefused     = "NotPermitted"
	reasonRestored    = "Restored"
)

// maxErrors bounds the errors of one status.
const maxErrors = 20

// view is the copy of a service from which a status is made.
type view struct {
	id        string
	listed    bool
	paused    bool
	waiting   string
	pending   bool
	tombstone *agentv1.Tombstone
	running   bool
	behind    bool // a newer revision has not been accepted yet
	trouble   *trouble
	gate      string
	result    *apply.Result
	drain     *apply.DrainResult
	warnings  []string
	applied   cache.Applied
	deletes   string
	away      error
	scrub     *scrub.Scrubber
}

// viewOf returns the view of a service, false if it has nothing to report.
func (l *Loop) viewOf(id string) (view, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.services[id]
	if s == nil || !s.known || l.list == nil {
		return view{}, false
	}
	v := view{
		id: id, listed: s.want != nil, paused: s.want.GetPaused(), waiting: s.waiting, pending: l.list.GetPending(), tombstone: s.tombstone,
		running: s.running, trouble: s.trouble, gate: s.gate, result: s.result, drain: s.drain,
		warnings: s.warnings, applied: s.applied, deletes: l.deletes.words(), away: l.away,
	}
	if s.want != nil && s.spec != nil {
		v.behind = s.done == nil || change.Of(s.done, s.wanted(l.Render.RendererVersion())) != change.Unchanged
	}
	if s.spec != nil {
		v.scrub = s.scrub
	}
	return v, true
}

// statusOf describes a service now. Equal states give equal bytes.
func (l *Loop) statusOf(v view) *agentv1.ServiceStatus {
	components := l.Watch.Components(l.Inventory.Objects(v.id))
	state, applied := l.Inventory.State(v.id)
	status := &agentv1.ServiceStatus{
		Health: string(health.Unknown), TarballDigest: state.TarballDigest, SpecDigest: state.SpecDigest, AppliedAt: clock.Micros(state.AppliedAt),
	}
	if v.applied.TarballDigest == state.TarballDigest && v.applied.SpecDigest == state.SpecDigest {
		status.Revision, status.SourceRevision = v.applied.Revision, v.applied.SourceRevision
	}
	if applied && state.TarballDigest != "" {
		rolled := health.RollUp(components)
		status.Health, status.Message = string(rolled.Status), v.scrub.String(rolled.Message)
	}
	for _, c := range components {
		c.Message = v.scrub.String(c.Message)
	}
	status.Components, status.Counts = health.Pack(components)
	sync, reason, message := l.syncOf(v)
	status.Sync, status.Reason = sync, reason
	if message != "" {
		status.Message = v.scrub.String(message)
	}
	status.Errors = l.errorsOf(v)
	return status
}

// syncOf finds the one word for a service, most important first: what holds it, what
// failed, what it waits for, what differs.
func (l *Loop) syncOf(v view) (sync, reason, message string) {
	switch {
	case v.tombstone != nil && v.deletes != "":
		return syncHeld, reasonDeletesHeld, v.deletes
	case v.tombstone != nil && v.drain != nil:
		return syncApplying, reasonDraining, v.drain.Message
	case v.tombstone != nil:
		return syncApplying, reasonDraining, "leaves the cluster"
	case v.pending:
		return syncHeld, reasonApproval, "the cluster waits for approval by a person; run `axle clusters approve`"
	case !v.listed:
		return syncHeld, reasonOrphaned, "the hub does not list this service any more and did not say that it should go; it is left as it is"
	case v.paused:
		_, _, message = driftOf(l.Watch.Findings(v.id))
		return syncPaused, "", message
	case v.waiting != "":
		return syncHeld, reasonRestored, v.waiting
	case v.away != nil:
		return syncFailed, reasonAPIServer, errcode.Message(v.away)
	case v.trouble != nil && errcode.Is(v.trouble.err, errcode.Unprocessable) && v.trouble.source == sourceSource:
		return syncPending, "NoContent", errcode.Message(v.trouble.err)
	case v.trouble != nil && v.trouble.refused:
		return syncFailed, reasonRefused, errcode.Message(v.trouble.err)
	case v.trouble != nil:
		return syncFailed, "", errcode.Message(v.trouble.err)
	case v.gate != "":
		return syncPending, reasonDependency, v.gate
	}
	if v.result != nil && v.result.Sync != syncSynced {
		return v.result.Sync, v.result.Reason, v.result.Message
	}
	switch {
	case v.running && v.behind:
		return syncApplying, "", ""
	case v.behind:
		return syncPending, "", ""
	case v.deletes != "":
		return syncHeld, reasonDeletesHeld, v.deletes
	}
	return driftOf(l.Watch.Findings(v.id))
}

// driftOf expresses drift findings in the words of a status.
func driftOf(findings []drift.Finding) (sync, reason, message string) {
	worst := map[drift.State]int{drift.Unknown: 1, drift.Drifted: 2, drift.Contested: 3}
	var first *drift.Finding
	for i, f := range findings {
		if first == nil || worst[f.State] > worst[first.State] {
			first = &findings[i]
		}
	}
	if first == nil {
		return syncSynced, "", ""
	}
	message = fmt.Sprintf("%s: %s", first.Ref, first.Message)
	if n := len(findings); n > 1 {
		message += fmt.Sprintf(" (and %d more)", n-1)
	}
	switch first.State {
	case drift.Contested:
		return syncHeld, reasonContested, message
	case drift.Drifted:
		return syncDrifted, "", message
	}
	// If objects cannot be watched, it is unknown whether they differ.
	return syncSynced, reasonUnwatched, message
}

// errorsOf lists the problems, each with its start time.
func (l *Loop) errorsOf(v view) []*agentv1.StatusError {
	var all []*agentv1.StatusError
	add := func(source, message string, warning bool) {
		if len(all) < maxErrors {
			all = append(all, &agentv1.StatusError{Source: source, Message: v.scrub.String(message), Warning: warning})
		}
	}
	if v.away != nil {
		add(sourceAgent, errcode.Message(v.away), false)
	}
	if v.trouble != nil {
		add(v.trouble.source, errcode.Message(v.trouble.err), false)
	}
	if v.result != nil {
		for _, p := range v.result.Problems {
			add(p.Source, fmt.Sprintf("%s: %s", p.Ref, p.Message), p.Warning)
		}
	}
	if v.drain != nil {
		for _, p := range v.drain.Problems {
			add(p.Source, fmt.Sprintf("%s: %s", p.Ref, p.Message), p.Warning)
		}
	}
	for _, w := range v.warnings {
		add(sourceRender, w, true)
	}
	if l.Tests != nil {
		for _, p := range l.Tests.Problems(v.id) {
			add(sourceTests, p, false)
		}
	}
	l.date(v.id, all)
	return all
}

// date gives each message the time when it first appeared, and forgets messages that
// are gone.
func (l *Loop) date(id string, all []*agentv1.StatusError) {
	now := l.Clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.services[id]
	if s == nil {
		return
	}
	since := map[string]time.Time{}
	for _, e := range all {
		key := e.GetSource() + " " + e.GetMessage()
		first, known := s.since[key]
		if !known {
			first = now
		}
		since[key] = first
		e.Since = clock.Micros(first)
	}
	s.since = since
}
