// Package syncwindow decides whether a time lies in a recurring window: the times at
// which a service may be synced, or may not.
//
// It knows no service, keeps no clock and waits for nothing. The hub uses it to
// reject windows that can never open, and the agent to obey them, so that they also
// apply while the hub is unavailable. The hub's backups use its cron lines.
//
// Rules: an open deny window wins. Where a level has allow windows, one of them must
// be open; this is required at each such level: a service's own window does not open
// what its project keeps closed. Times are those of the wall clock in the window's
// time zone: a start time skipped by a change to summer time begins no window, and
// one that occurs twice begins two. A window lasts at least a minute and at most 31
// days.
package syncwindow

import (
	"fmt"
	"time"
	_ "time/tzdata" // the agent's image has no zones

	"github.com/axle-cd/axle/internal/errcode"
)

// The kinds of windows.
const (
	Allow = "allow"
	Deny  = "deny"
)

const (
	minDuration = time.Minute
	maxDuration = 31 * 24 * time.Hour
	// horizon bounds the search for the next change.
	horizon = 35 * 24 * time.Hour
)

// Spec is a window as people write it.
type Spec struct {
	Kind     string
	Schedule string
	Duration string
	TimeZone string
	// Manual allows manual syncs.
	Manual bool
	// Level says whose window it is, such as "project"; empty means the service's
	// own.
	Level string
}

// Window is a parsed Spec.
type Window struct {
	spec     Spec
	schedule Schedule
	length   time.Duration
	zone     *time.Location
}

// Parse parses a window. Errors are Invalid and begin with the field's name.
func Parse(s Spec) (Window, error) {
	w := Window{spec: s, zone: time.UTC}
	if s.Kind != Allow && s.Kind != Deny {
		return w, errcode.New(errcode.Invalid, "kind: %.80q does not exist; use allow or deny", s.Kind)
	}
	var err error
	if w.schedule, err = ParseSchedule(s.Schedule); err != nil {
		return w, errcode.New(errcode.Invalid, "schedule: %w", err)
	}
	if w.length, err = time.ParseDuration(s.Duration); err != nil || w.length < minDuration || w.length > maxDuration {
		return w, errcode.New(errcode.Invalid, "duration: %.80q is not a duration from 1m to 744h, such as \"1h30m\"", s.Duration)
	}
	if s.TimeZone != "" {
		if w.zone, err = time.LoadLocation(s.TimeZone); err != nil || s.TimeZone == "Local" {
			return w, errcode.New(errcode.Invalid, "timeZone: %.80q is not a time zone; use a name such as Europe/Berlin", s.TimeZone)
		}
	}
	return w, nil
}

// String describes the window.
func (w Window) String() string {
	text := fmt.Sprintf("%s window %q for %s in %s", w.spec.Kind, w.spec.Schedule, w.spec.Duration, w.zone)
	if w.spec.Level != "" {
		text = w.spec.Level + "'s " + text
	}
	return text
}

// Open reports whether a time lies in the window.
func (w Window) Open(at time.Time) bool {
	minute := at.Truncate(time.Minute)
	for start := minute; at.Sub(start) < w.length; start = start.Add(-time.Minute) {
		if w.schedule.matches(start.In(w.zone)) {
			return true
		}
	}
	return false
}

// Verdict is the decision of windows about a time.
type Verdict struct {
	// Held says that nothing may be synced; Why names the window.
	Held bool
	Why  string
	// Until is when that may change; zero if it does not within 35 days.
	Until time.Time
}

// Judge decides about a time. manual is true for a sync requested by a person.
func Judge(windows []Window, at time.Time, manual bool) Verdict {
	held, why := judge(windows, at, manual)
	if !held {
		return Verdict{}
	}
	v := Verdict{Held: true, Why: why}
	for next := at.Truncate(time.Minute).Add(time.Minute); next.Sub(at) < horizon; next = next.Add(time.Minute) {
		// The answer can only change where a window begins or ends.
		if changes(windows, next) {
			if still, _ := judge(windows, next, manual); !still {
				v.Until = next
				break
			}
		}
	}
	return v
}

func judge(windows []Window, at time.Time, manual bool) (held bool, why string) {
	open, closed := map[string]bool{}, map[string]Window{}
	for _, w := range windows {
		through := manual && w.spec.Manual
		switch inside := w.Open(at); {
		case w.spec.Kind == Deny:
			if inside && !through {
				return true, "the " + w.String() + " is open"
			}
		case inside || through:
			open[w.spec.Level] = true
		default:
			if _, first := closed[w.spec.Level]; !first {
				closed[w.spec.Level] = w
			}
		}
	}
	for _, w := range windows {
		if first, ok := closed[w.spec.Level]; ok && !open[w.spec.Level] {
			return true, "no allow window is open; the first is the " + first.String()
		}
	}
	return false, ""
}

func changes(windows []Window, at time.Time) bool {
	for _, w := range windows {
		if w.schedule.matches(at.In(w.zone)) || w.schedule.matches(at.Add(-w.length).Truncate(time.Minute).In(w.zone)) {
			return true
		}
	}
	return false
}
