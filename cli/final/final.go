// Package final decides whether waiting can still make a service ready. It
// makes no calls; --wait in cli/services calls it every second with the service as just
// read.
//
// An agent's report may describe the previous revision. It counts once the
// agent has polled since the wait began and has reported the same for Settle.
package final

import (
	"slices"
	"strings"
	"time"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// Settle is how long an agent that has polled must repeat the same report.
const Settle = 10 * time.Second

// Watch remembers earlier reports. The zero value is ready; it is not safe for
// concurrent use.
type Watch struct{ seen map[string]look }

type look struct {
	polled int64
	text   string
	since  time.Time
}

// Why says why waiting cannot make a service ready and what to do about it. It
// is empty while waiting may help.
func (w *Watch) Why(s *hubv1.Service, now time.Time) string {
	if text := known(s); text != "" {
		return text
	}
	if w.seen == nil {
		w.seen = map[string]look{}
	}
	text := said(s)
	l, had := w.seen[s.GetId()]
	switch {
	case !had:
		l = look{polled: s.GetPolledAt()}
		fallthrough
	case l.text != text, s.GetPolledAt() == l.polled:
		l.text, l.since = text, now
	}
	w.seen[s.GetId()] = l
	if text == "" || now.Sub(l.since) < Settle {
		return ""
	}
	return text
}

// known returns the reason that the hub itself knows.
func known(s *hubv1.Service) string {
	name := s.GetCluster() + "/" + s.GetName()
	switch {
	case s.GetPaused():
		return "it is paused; axle services resume " + name
	case s.GetDeleting():
		return "it is being deleted"
	}
	for _, source := range s.GetSources() {
		if refused(source.GetError()) {
			return source.GetError() + "; axle repos update " + source.GetRepository() + " gives it other credentials"
		}
	}
	return ""
}

// refused reports whether an upstream rejected the credentials. That does not
// change until somebody gives others.
func refused(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"authentication failed", "authentication required", "permission denied", "access denied", "invalid credentials",
		"unauthorized", "could not read username", "401", "403 "}, func(words string) bool { return strings.Contains(text, words) })
}

// advice says what to do about an agent's report, by reason.
var advice = map[string]string{
	"NotPermitted":   "change the service, or the limits of its project (axle projects get)",
	"NotOurs":        "",
	"PruneHeld":      "axle services approve-prune %s",
	"PartLeftOut":    "axle services approve-prune %s, or fix that source",
	"Contested":      "stop the other writer, or leave the field to it (syncConfig.diffNormalizers)",
	"ClusterPending": "axle clusters approve",
	"Restored":       "axle hub confirm-restore",
	"DeletesHeld":    "axle hub confirm-restore, or see its message",
	"Orphaned":       "",
	"DryRun":         "axle services diff %s shows what it would change",
}

// said returns the reason in the agent's report that waiting does not change.
func said(s *hubv1.Service) string {
	name := s.GetCluster() + "/" + s.GetName()
	text := strings.TrimSpace(s.GetSync() + " " + s.GetReason())
	if message := s.GetMessage(); message != "" {
		text += ": " + message
	}
	if do, ok := advice[s.GetReason()]; ok && (s.GetSync() == "Held" || s.GetSync() == "Failed") {
		if do = strings.ReplaceAll(do, "%s", name); do != "" {
			text += "; " + do
		}
		return text
	}
	if s.GetSync() != "Failed" || s.GetReason() != "" {
		return ""
	}
	for _, e := range s.GetErrors() {
		switch {
		case e.GetWarning():
		case e.GetSource() == "render":
			return "it cannot be rendered: " + e.GetMessage() + "; change its files or values"
		case e.GetSource() == "apply" && invalid(e.GetMessage()):
			return "an object is refused: " + e.GetMessage() + "; change its files or values"
		}
	}
	return ""
}

// invalid reports whether the API server called an object invalid. The same
// object stays invalid.
func invalid(text string) bool {
	return slices.ContainsFunc([]string{"is invalid", "Invalid value", "Required value", "Unsupported value", "field not declared in schema", "immutable",
		"cannot be changed in place", "is encrypted by SOPS", "must be text: write it in quotes", "apiVersion and kind are required", "metadata.name is required", "strict decoding error"}, func(words string) bool { return strings.Contains(text, words) })
}
