// Package final tells from a service as the hub shows it whether waiting can
// help. It decides nothing else and asks nobody; cli's --wait calls it each
// second with what it just read.
//
// What an agent says may be of the revision before: it counts once the agent has
// polled since the wait began and has said the same for Settle.
package final

import (
	"slices"
	"strings"
	"time"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// Settle is how long an agent that has polled must go on saying the same.
const Settle = 10 * time.Second

// Watch remembers what was said. The zero value is ready; it is not safe for
// concurrent use.
type Watch struct{ seen map[string]look }

type look struct {
	polled int64
	text   string
	since  time.Time
}

// Why says why a service cannot become ready by waiting and what to do, empty
// while it may.
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

// known is what the hub itself knows.
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

// refused reports whether an upstream's words say that the credentials are not
// good: nothing changes until somebody gives others.
func refused(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"authentication failed", "authentication required", "permission denied", "access denied", "invalid credentials",
		"unauthorized", "could not read username", "401", "403 "}, func(words string) bool { return strings.Contains(text, words) })
}

// advice is what to do about what an agent said, by reason.
var advice = map[string]string{
	"NotPermitted":   "change the service, or the limits of its project (axle projects get)",
	"NotOurs":        "",
	"PruneHeld":      "axle services approve-prune %s",
	"PartLeftOut":    "axle services approve-prune %s, or mend the part",
	"Contested":      "stop the other writer, or leave the field to it (syncConfig.diffNormalizers)",
	"ClusterPending": "axle clusters approve",
	"Restored":       "axle hub confirm-restore",
	"DeletesHeld":    "axle hub confirm-restore, or see its message",
	"Orphaned":       "",
	"DryRun":         "axle services diff %s shows what it would change",
}

// said is what the agent says that waiting does not change.
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

// invalid reports whether the API server calls an object wrong, in its own
// words: the same object stays so.
func invalid(text string) bool {
	return slices.ContainsFunc([]string{"is invalid", "Invalid value", "Required value", "Unsupported value", "field not declared in schema", "immutable",
		"cannot be changed in place", "apiVersion and kind are required", "metadata.name is required", "strict decoding error"}, func(words string) bool { return strings.Contains(text, words) })
}
