package drift

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/fieldname"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
)

const (
	// healRate bounds the heals of one agent per second.
	healRate = 10
	// The back-off between heals of one object.
	healMin = time.Second
	healMax = 5 * time.Minute
	// conflictAfter heals within conflictWithin make an object Contested. It is
	// then tried every conflictWithin.
	conflictAfter  = 5
	conflictWithin = 10 * time.Minute
	// compareEvery is how often objects that cannot be watched are read.
	compareEvery = 10 * time.Minute
	// idle is how often the loop runs without any event.
	idle = time.Minute
)

// decision says what to do about one object.
type decision int

const (
	leave decision = iota
	heal
	report
	lose
)

// judge compares an object with what was applied.
func judge(want kubeobj.Expected, live kubeobj.Live, found bool) (decision, string) {
	what := kubeobj.Compare(want, live, found)
	reason := what.String()
	switch what {
	case kubeobj.Intact:
		if want.Lost != "" && found {
			return lose, want.Lost
		}
		return leave, ""
	case kubeobj.Changed:
		reason += by(live.Print.Other)
	case kubeobj.Added:
		reason += by(live.Print.Human)
	}
	if want.Paused || what == kubeobj.Added && !want.Strict {
		return report, reason
	}
	return heal, reason
}

// by names the last writer of the object besides us.
func by(manager string) string {
	if manager == "" {
		return ""
	}
	return " (by " + manager + ")"
}

// mark is the history of a drifted object.
type mark struct {
	service string
	state   State
	reason  string
	// fields are the last added or healed fields, with their writers; named is the
	// fingerprint of people's fields that they belong to.
	fields []kubeobj.FieldChange
	named  uint64
	// fault is why the last heal failed.
	fault string
	// heals are the times of the heals within conflictWithin, and healed is how many there
	// were since it was last calm for that long.
	heals  []time.Time
	healed int
	// contested lasts until the object was calm for conflictWithin: otherwise the heals
	// would be forgotten while it waits, and five more would follow.
	contested bool
	next      time.Time
	backoff   jitter.Backoff
	queued    bool
	// shown: there is nothing to heal, only to report. The object is considered again
	// when something changes, and is then healed without back-off.
	shown bool
	// kept: the last heal restored no value.
	kept bool
	// lost: nothing differs, but fields left to others have the value of Git.
	lost bool
	// paused: it would be healed if the service were not paused.
	paused bool
}

// due reports whether it is time to consider a drifted object again.
func (m *mark) due(now time.Time) bool {
	return m.state != "" && !m.shown && !m.queued && !m.next.After(now)
}

// decide judges changes until the context ends.
func (w *Watcher) decide(ctx context.Context) {
	for ctx.Err() == nil {
		wait := w.round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-w.cfg.Clock.After(wait):
		}
	}
}

// round judges all dirty objects and those that are due, and returns when to run
// again.
func (w *Watcher) round(ctx context.Context) time.Duration {
	now := w.cfg.Clock.Now()
	w.mu.Lock()
	dirty := w.dirty
	w.dirty = map[kubeobj.Ref]bool{}
	if !now.Before(w.marksDue) {
		for ref, m := range w.marks {
			w.looks++
			if m.due(now) {
				dirty[ref] = true
			}
		}
	}
	owner := w.owner
	w.mu.Unlock()
	for ref := range dirty {
		want, ok := owner.Expected(ref)
		w.mu.Lock()
		w.consider(now, ref, want, ok)
		w.mu.Unlock()
	}
	w.compareUnknown(ctx, now)

	w.mu.Lock()
	changed := w.changed
	w.changed = map[string]bool{}
	wait := w.nextLocked(now)
	w.mu.Unlock()
	for service := range changed {
		w.cfg.Changed(service)
	}
	return wait
}

// nextLocked returns when the next object is due, and drops old history. Events
// arrive many times a second, so the marks are only scanned when one is due.
func (w *Watcher) nextLocked(now time.Time) time.Duration {
	if !now.Before(w.marksDue) {
		w.marksDue = now.Add(idle)
		for ref, m := range w.marks {
			w.looks++
			m.heals = recent(m.heals, now)
			// A running heal is not counted yet, although its effect may be visible.
			if m.state == "" && len(m.heals) == 0 && !m.queued {
				w.unmarkLocked(ref, m)
			} else if m.state != "" && !m.queued {
				w.soonLocked(m)
			}
		}
	}
	return max(w.marksDue.Sub(now), 10*time.Millisecond)
}

// soonLocked makes sure that an object's mark is considered when it is due.
func (w *Watcher) soonLocked(m *mark) {
	if !m.shown && m.next.Before(w.marksDue) {
		w.marksDue = m.next
	}
}

// markLocked assigns an object's history to its present service.
func (w *Watcher) markLocked(ref kubeobj.Ref, m *mark, service string) {
	w.unmarkLocked(ref, m)
	m.service = service
	if w.marksOf[service] == nil {
		w.marksOf[service] = map[kubeobj.Ref]*mark{}
	}
	w.marksOf[service][ref], w.marks[ref] = m, m
}

func (w *Watcher) unmarkLocked(ref kubeobj.Ref, m *mark) {
	delete(w.marks, ref)
	if delete(w.marksOf[m.service], ref); len(w.marksOf[m.service]) == 0 {
		delete(w.marksOf, m.service)
	}
}

func recent(times []time.Time, now time.Time) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) > conflictWithin {
		times = times[1:]
	}
	return times
}

// consider judges one object from what its watch knows.
func (w *Watcher) consider(now time.Time, ref kubeobj.Ref, want kubeobj.Expected, known bool) {
	if !known {
		if m := w.marks[ref]; m != nil {
			w.calmLocked(m)
		}
		return
	}
	k := w.kinds[want.Kind.GroupKind()]
	if want.Held || k == nil || k.state != synced {
		if m := w.marks[ref]; m != nil && !m.next.After(now) {
			m.next = now.Add(healMin) // nothing is known now
		}
		return
	}
	live, found := k.objects[name{ref.Namespace, ref.Name}]
	w.concludeLocked(now, want, live, found)
}

func (w *Watcher) concludeLocked(now time.Time, want kubeobj.Expected, live kubeobj.Live, found bool) {
	what, reason := judge(want, live, found)
	m := w.marks[want.Ref]
	if what == leave {
		if m != nil {
			w.calmLocked(m)
		}
		return
	}
	if m == nil {
		m = &mark{backoff: jitter.Backoff{Min: healMin, Max: healMax}}
	}
	if what == lose {
		if m.lose(want.Service, reason) {
			w.markLocked(want.Ref, m, want.Service)
			w.tellLocked(m.service)
		}
		return
	}
	if m.lost {
		m.state, m.lost = "", false
	}
	if m.reason != reason || m.state == "" || m.service != want.Service {
		m.reason = reason
		w.markLocked(want.Ref, m, want.Service)
		w.tellLocked(m.service)
	}
	if m.state == "" {
		m.state = Drifted
		if m.contested {
			m.state = Contested
		}
	}
	m.paused = want.Paused
	if m.shown = what == report; m.shown {
		m.state = Drifted
		w.naming.askLocked(want, live, m)
		return
	}
	if !m.queued && !m.next.After(now) {
		m.queued = true
		if w.healing[m.service] == nil {
			w.healing[m.service] = map[kubeobj.Ref]bool{}
		}
		w.healing[m.service][want.Ref] = true
		poke(w.healWake)
	} else if !m.queued {
		w.soonLocked(m)
	}
}

// lose shows that fields left to others have the value of Git, until the object is
// written again, and reports whether that is new.
func (m *mark) lose(service, fields string) bool {
	if m.lost && m.reason == fields && m.service == service {
		return false
	}
	m.state, m.reason, m.shown, m.lost, m.fault = Contested, fields, true, true, ""
	return true
}

// calmLocked ends a drift. It keeps the times of heals, so that an object that drifts
// again and again is detected.
func (w *Watcher) calmLocked(m *mark) {
	if m.state == "" {
		return
	}
	m.state, m.reason, m.fault, m.named, m.lost = "", "", "", 0, false
	if len(m.heals) == 0 && !m.queued && !m.kept {
		// The back-off after a failed attempt does not apply to the next drift.
		m.next = time.Time{}
		m.backoff.Reset()
	}
	w.tellLocked(m.service)
}

// healedLocked counts a heal and sets when the next one may happen.
func (m *mark) healedLocked(now time.Time) {
	m.heals = append(recent(m.heals, now), now)
	m.healed++
	if len(m.heals) == 1 {
		m.backoff.Reset()
	}
	if m.contested = m.contested || len(m.heals) >= conflictAfter; m.contested {
		m.state = Contested
		m.next = now.Add(conflictWithin)
		return
	}
	// At least half of the bound: two heals in quick succession help nobody.
	bound := min(healMin<<(len(m.heals)-1), healMax)
	m.next = now.Add(bound/2 + jitter.Full(bound/2))
}

func (w *Watcher) tellLocked(service string) {
	if service == "" {
		return
	}
	w.changed[service] = true
	poke(w.wake)
}

func (w *Watcher) recheckKindLocked(k *kindWatch) {
	if w.owner == nil {
		return
	}
	// The owner takes its own lock; it never calls back while holding it.
	for _, want := range w.owner.ExpectedOf(k.kind) {
		w.dirty[want.Ref] = true
		w.changed[want.Service] = true
	}
	poke(w.wake)
}

// message is what a finding reports of the object, which the finding names.
func (m *mark) message() string {
	reason := m.reason
	if len(m.fields) > 0 && (m.shown || m.state == Contested) {
		reason, _, _ = strings.Cut(reason, " (by ")
		reason += ": " + fieldname.Words(m.fields)
	}
	text := "differs: " + reason
	switch {
	case m.lost:
		text = fmt.Sprintf("fields that are left to others got their values from Git: %s. An element that changed in Git equals none of the cluster's, or several; "+
			"give the elements of the list a name, or check the values and sync the service", m.reason)
	case m.state == Contested:
		text = fmt.Sprintf("was put back %d times and something changes it each time, so it is put back every %v only: %s; stop the other writer or leave the field out",
			m.healed, conflictWithin, reason)
	case m.shown && m.paused:
		text += "; left as it is, because nothing of the service is written now"
	case m.shown:
		text += "; left and reported (drift: strict removes it)"
	default:
		text += "; it is put back"
	}
	if m.fault != "" {
		text += "; " + m.fault
	}
	return text
}
