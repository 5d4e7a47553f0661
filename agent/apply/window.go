package apply

import (
	"cmp"
	"time"

	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/syncwindow"
)

// ReasonWindow is the reason of a service whose windows hold a revision.
const ReasonWindow = "SyncWindow"

// againWindow bounds how long a held service waits before it checks its windows
// again.
const againWindow = time.Hour

// windowHolds reports whether the windows hold the revision back, and sets the
// message. A revision in progress continues: half a revision is worse than all of it.
func (r *run) windowHolds() bool {
	n := r.next
	if len(r.service.Windows) == 0 || n.Goal == r.service.Goal() {
		return false
	}
	now := r.cfg.Clock.Now()
	v := syncwindow.Judge(r.service.Windows, now, r.service.SyncRequest > n.SyncRequest)
	if !v.Held {
		return false
	}
	r.result.Phase = cmp.Or(r.before.Phase, PhaseApplying)
	r.result.Sync, r.result.Reason, r.result.Partly = SyncHeld, ReasonWindow, true
	r.result.Message, r.result.Again = v.Why+"; the new revision waits", againWindow
	if !v.Until.IsZero() {
		r.result.Message += " until " + v.Until.UTC().Format(time.RFC3339)
		r.result.Again = min(r.result.Again, v.Until.Sub(now)+jitter.Full(time.Second))
	}
	return true
}
