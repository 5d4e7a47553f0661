package report

import (
	"errors"
	"fmt"
	"time"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/drift"
	"github.com/axle-cd/axle/agent/health"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/scrub"
)

// The words of a status; api/agent/v1 has the complete lists.
const (
	SyncSynced   = "Synced"
	syncPending  = "Pending"
	syncApplying = "Applying"
	syncDrifted  = "Drifted"
	syncFailed   = "Failed"
	SyncHeld     = "Held"
	syncPaused   = "Paused"

	reasonOrphaned    = "Orphaned"
	reasonDeletesHeld = "DeletesHeld"
	reasonDraining    = "Draining"
	reasonDependency  = "Dependency"
	reasonContested   = "Contested"
	reasonUnwatched   = "DriftUnknown"
	reasonAPIServer   = "APIServerAway"
	reasonHub         = "HubAway"
	reasonApproval    = "ClusterPending"
	reasonRefused     = "NotPermitted"
	reasonRestored    = "Restored"
)

// The values of StatusError.source.
const (
	SourceSource = "source"
	SourceRender = "render"
	SourceApply  = "apply"
	SourceAgent  = "agent"
	sourceTests  = "tests"
)

// Trouble is a failed step.
type Trouble struct {
	// Source is a value of StatusError.source.
	Source string
	Err    error
	// Refused: the service may not do what its settings say.
	Refused bool
	// Since is when it began, for one that is Away.
	Since time.Time
}

// hubAwayFor is how long a service only waits for a hub that is away: a restart fails none. What
// lasts longer, while reports arrive, is between this agent and the hub, and does not end by itself.
const hubAwayFor = 10 * time.Minute

// Away reports whether a step failed only because no hub answered.
func (t *Trouble) Away() bool {
	var away interface{ Away() bool }
	return errors.As(t.Err, &away) && away.Away()
}

// maxErrors bounds the errors of one status.
const maxErrors = 20

// View is the copy of a service from which a status is made.
type View struct {
	ID        string
	Listed    bool
	Paused    bool
	Waiting   string
	Pending   bool
	Tombstone *agentv1.Tombstone
	Running   bool
	Behind    bool // a newer revision has not been accepted yet
	Trouble   *Trouble
	Gate      string
	Result    *apply.Result
	Drain     *apply.DrainResult
	Warnings  []string
	Applied   cache.Applied
	Deletes   string
	Away      error
	Scrub     *scrub.Scrubber
}

// statusOf describes a service now. Equal states give equal bytes.
func (r *Reporter) statusOf(v View) *agentv1.ServiceStatus {
	components := r.cfg.Watch.Components(r.cfg.Inventory.Objects(v.ID))
	state, applied := r.cfg.Inventory.State(v.ID)
	status := &agentv1.ServiceStatus{
		Health: string(health.Unknown), TarballDigest: state.TarballDigest, SpecDigest: state.SpecDigest, AppliedAt: clock.Micros(state.AppliedAt),
	}
	if v.Applied.TarballDigest == state.TarballDigest && v.Applied.SpecDigest == state.SpecDigest {
		status.Revision, status.SourceRevision = v.Applied.Revision, v.Applied.SourceRevision
	}
	if applied && state.TarballDigest != "" {
		rolled := health.RollUp(components)
		status.Health, status.Message = string(rolled.Status), v.Scrub.String(rolled.Message)
	}
	for _, c := range components {
		c.Message = v.Scrub.String(c.Message)
	}
	status.Components, status.Counts = health.Pack(components)
	sync, reason, message := r.syncOf(v)
	status.Sync, status.Reason = sync, reason
	if message != "" {
		status.Message = v.Scrub.String(message)
	}
	status.Errors = r.errorsOf(v)
	return status
}

// syncOf finds the one word for a service, most important first: what holds it, what
// failed, what it waits for, what differs.
func (r *Reporter) syncOf(v View) (sync, reason, message string) {
	switch {
	case v.Tombstone != nil && v.Deletes != "":
		return SyncHeld, reasonDeletesHeld, v.Deletes
	case v.Tombstone != nil && v.Drain != nil:
		return syncApplying, reasonDraining, v.Drain.Message
	case v.Tombstone != nil:
		return syncApplying, reasonDraining, "leaves the cluster"
	case v.Pending:
		return SyncHeld, reasonApproval, "the cluster waits for approval by a person; run `axle clusters approve`"
	case !v.Listed:
		return SyncHeld, reasonOrphaned, r.orphaned(v.ID)
	case v.Paused:
		_, _, message = driftOf(r.cfg.Watch.Findings(v.ID))
		return syncPaused, "", message
	case v.Waiting != "":
		return SyncHeld, reasonRestored, v.Waiting
	case v.Away != nil:
		return syncFailed, reasonAPIServer, errcode.Message(v.Away)
	case v.Trouble != nil && errcode.Is(v.Trouble.Err, errcode.Unprocessable) && v.Trouble.Source == SourceSource:
		return syncPending, "NoContent", errcode.Message(v.Trouble.Err)
	case v.Trouble != nil && v.Trouble.Refused:
		return syncFailed, reasonRefused, errcode.Message(v.Trouble.Err)
	case v.Trouble != nil && v.Trouble.Away() && r.cfg.Clock.Now().Sub(v.Trouble.Since) < hubAwayFor && (v.Result == nil || v.Result.Sync != syncFailed):
		return syncPending, reasonHub, errcode.Message(v.Trouble.Err)
	case v.Trouble != nil:
		return syncFailed, "", errcode.Message(v.Trouble.Err)
	case v.Gate != "":
		return syncPending, reasonDependency, v.Gate
	}
	if v.Result != nil && v.Result.Sync != SyncSynced {
		return v.Result.Sync, v.Result.Reason, v.Result.Message
	}
	switch {
	case v.Running && v.Behind:
		return syncApplying, "", ""
	case v.Behind:
		return syncPending, "", ""
	case v.Deletes != "":
		return SyncHeld, reasonDeletesHeld, v.Deletes
	}
	return driftOf(r.cfg.Watch.Findings(v.ID))
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
		return SyncSynced, "", ""
	}
	message = fmt.Sprintf("%s: %s", first.Ref, first.Message)
	if n := len(findings); n > 1 {
		message += fmt.Sprintf(" (and %d more)", n-1)
	}
	switch first.State {
	case drift.Contested:
		return SyncHeld, reasonContested, message
	case drift.Drifted:
		return syncDrifted, "", message
	}
	// If objects cannot be watched, it is unknown whether they differ.
	return SyncSynced, reasonUnwatched, message
}

// errorsOf lists the problems, each with its start time.
func (r *Reporter) errorsOf(v View) []*agentv1.StatusError {
	var all []*agentv1.StatusError
	add := func(source, message string, warning bool) {
		if len(all) < maxErrors {
			all = append(all, &agentv1.StatusError{Source: source, Message: v.Scrub.String(message), Warning: warning})
		}
	}
	if v.Away != nil {
		add(SourceAgent, errcode.Message(v.Away), false)
	}
	if v.Trouble != nil {
		add(v.Trouble.Source, errcode.Message(v.Trouble.Err), false)
	}
	if v.Result != nil {
		for _, p := range v.Result.Problems {
			add(p.Source, fmt.Sprintf("%s: %s", p.Ref, p.Message), p.Warning)
		}
	}
	if v.Drain != nil {
		for _, p := range v.Drain.Problems {
			add(p.Source, fmt.Sprintf("%s: %s", p.Ref, p.Message), p.Warning)
		}
	}
	for _, w := range v.Warnings {
		add(SourceRender, w, true)
	}
	if r.cfg.Tests != nil {
		for _, p := range r.cfg.Tests.Problems(v.ID) {
			add(sourceTests, p, false)
		}
	}
	r.date(v.ID, all)
	return all
}

// date gives each message the time when it first appeared, and forgets messages that
// are gone.
func (r *Reporter) date(id string, all []*agentv1.StatusError) {
	now := r.cfg.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	before, since := r.since[id], map[string]time.Time{}
	for _, e := range all {
		key := e.GetSource() + " " + e.GetMessage()
		first, known := before[key]
		if !known {
			first = now
		}
		since[key] = first
		e.Since = clock.Micros(first)
	}
	r.since[id] = since
}
