package hubclient_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/axle-cd/axle/agent/hubclient"
)

// The hub's proof of a position is shown only to a replica that is behind it, also
// after a restart.
func TestTheHubsProofIsShownToWhoIsBehind(t *testing.T) {
	d := newDouble(t)
	at, proof := func(w http.ResponseWriter, sequence int64) {
		w.Header().Set("Axle-Position", position(life1, sequence))
	}, strings.Repeat("p", 22)
	well := func(w http.ResponseWriter, _ *http.Request) {
		at(w, 7)
		w.Header().Set("Axle-Position-Proof", proof)
		w.WriteHeader(http.StatusNotModified)
	}
	behind := func(w http.ResponseWriter, _ *http.Request) {
		at(w, 3)
		w.Header().Set("Axle-Position-Proof", strings.Repeat("q", 22))
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	c := d.client(t)
	ask := func(want string) {
		t.Helper()
		_, _ = c.Desired(t.Context(), `W/"x"`)
		if got := d.last().Header.Get("Axle-Seen-Proof"); got != want {
			t.Errorf("shown %q, want %q", got, want)
		}
	}
	shown := position(life1, 7) + " " + proof
	d.answer(well)
	ask("")
	ask("")
	d.answer(behind)
	ask("") // that it is behind, the agent hears now
	ask(shown)
	ask(shown)
	kept := c.Proof.String()
	c = d.client(t, func(cfg *hubclient.Config) {
		cfg.Seen, cfg.Shown = hubclient.Position{Incarnation: life1, Sequence: 9}, kept
	})
	ask("")
	ask(shown)
	d.answer(func(w http.ResponseWriter, _ *http.Request) {
		at(w, 9)
		w.Header().Set("Axle-Position-Proof", strings.Repeat("long", 100))
		w.WriteHeader(http.StatusNotModified)
	})
	ask(shown)
	ask("")
	if c.Proof.String() != shown {
		t.Errorf("kept %.80q", c.Proof.String())
	}
}
