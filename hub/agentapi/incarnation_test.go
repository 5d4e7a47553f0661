package agentapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/pg"
)

// ahead is the machine's clock, put forward.
type ahead struct {
	clock.Real
	by atomic.Int64
}

// Now implements clock.Clock.
func (a *ahead) Now() time.Time { return a.Real.Now().Add(time.Duration(a.by.Load())) }

// behind makes a place so far ahead of a poll's that no commit reaches it.
func (a *agent) behind(more int64) event.Position {
	a.t.Helper()
	at, err := event.ParsePosition(a.get("/agent/v1/desired").header.Get("Axle-Position"))
	if err != nil || at.Sequence == 0 {
		a.t.Fatalf("position %v, %v", at, err)
	}
	at.Sequence += more
	return at
}

// An agent's claim about its position never ends an incarnation, however long
// it repeats the claim, and whatever proof it sends that this hub did not make
// for exactly that position.
func TestOneTokenBeginsNoIncarnation(t *testing.T) {
	now := &ahead{}
	config := hubConfig()
	config.Clock = now
	b := newBedOn(t, config)
	a := b.register("edge-1")
	now.by.Store(int64(time.Hour))
	first := a.get("/agent/v1/desired")
	place, proof := first.header.Get("Axle-Position"), first.header.Get("Axle-Position-Proof")
	claim, life := a.behind(1_000_000).String(), b.Parts().Feed.Incarnation()
	for what, shown := range map[string]string{
		"nothing": "", "another place's proof": claim + " " + proof, "none": claim + " ", "a true one of an older place": place + " " + proof, "not a place": "x y",
	} {
		got, err := a.tryGet("/agent/v1/desired", "Axle-Seen", claim, "Axle-Seen-Proof", shown)
		if err != nil || got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
			t.Errorf("%s: status %d, retry after %q, %v", what, got.status, got.header.Get("Retry-After"), err)
		}
	}
	// A commit passes the feed after whatever was begun.
	b.register("edge-2")
	present, err := b.Parts().Store.Incarnation(t.Context())
	if err != nil || present.ID != life.ID {
		t.Errorf("one token ended the incarnation %s; now it is %+v, %v", life.ID, present, err)
	}
}

// A database that is an older copy of itself is noticed by the hub's own proof,
// which an agent shows that saw more: no replica remembers it after a restart.
func TestAnOlderDatabaseIsNoticedByTheHubsOwnProof(t *testing.T) {
	dir := t.TempDir()
	start := func() *bed {
		return &bed{Hub: hubtest.New(t, hubtest.Config{DataDir: dir, Hub: hubConfig()}), t: t}
	}
	b := start()
	a := b.register("edge-1")
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	old := copyOf(t, dir)

	b = start()
	a.origin = b.URL
	b.register("edge-2")
	life := b.Parts().Feed.Incarnation()
	var seen, proof string
	eventually.For(t, limit, "the newer place", func() error {
		got := a.get("/agent/v1/desired")
		seen, proof = got.header.Get("Axle-Position"), got.header.Get("Axle-Position-Proof")
		if at, err := event.ParsePosition(seen); err != nil || at.Before(b.Parts().Feed.Position()) {
			return fmt.Errorf("%s, %v", seen, err)
		}
		return nil
	})
	if proof == "" {
		t.Fatal("a poll's answer proves nothing")
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	for path := range copyOf(t, dir) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range old {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	b = start()
	a.origin = b.URL
	if got, err := a.tryGet("/agent/v1/desired", "Axle-Seen", seen); err != nil || got.status != http.StatusServiceUnavailable {
		t.Fatalf("without the proof: %d, %v", got.status, err)
	}
	got := a.get("/agent/v1/desired", "Axle-Seen", seen, "Axle-Seen-Proof", seen+" "+proof)
	present, err := b.Parts().Store.Incarnation(t.Context())
	if err != nil || present.ParentID != life.ID || got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Axle-Position"), present.ID) {
		t.Errorf("status %d at %s; the incarnation is %+v, %v", got.status, got.header.Get("Axle-Position"), present, err)
	}
}

// copyOf reads the files of a stopped hub's database.
func copyOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	found, err := filepath.Glob(filepath.Join(dir, "hub.db*"))
	if err != nil || len(found) == 0 {
		entries, _ := os.ReadDir(dir)
		t.Fatalf("no database among %v: %v", entries, err)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = text
	}
	return files
}

// A replica that is behind its caller's position says so within 2 s, even when
// its database does not answer.
func TestBehindAnswersWithinTwoSecondsWhateverHangs(t *testing.T) {
	const most = 2 * time.Second
	server, err := pg.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	config := hubConfig()
	if config.DatabaseURL, _, err = server.Clone(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := newBedOn(t, config)
	a := b.register("edge-1")
	first := a.get("/agent/v1/desired")
	seen := a.behind(1000).String()
	people := *a
	people.token = b.AdminToken
	stranger := *a
	stranger.token = a.token[:len(a.token)-1] + "~"
	resume, err := server.Pause()
	if err != nil {
		t.Fatal(err)
	}
	defer resume()
	shown := first.header.Get("Axle-Position") + " " + first.header.Get("Axle-Position-Proof")
	for what, ask := range map[string]func() (answer, error){
		"a poll": func() (answer, error) { return a.tryGet("/agent/v1/desired", "Axle-Seen", seen) },
		"a poll with proof": func() (answer, error) {
			return a.tryGet("/agent/v1/desired", "Axle-Seen", seen, "Axle-Seen-Proof", shown)
		},
		"a call": func() (answer, error) {
			return a.send(http.MethodPost, "/axle.agent.v1.AgentService/Ping", "Axle-Seen", seen)
		},
		"a tunnel": func() (answer, error) { return a.tryGet("/agent/v1/tunnel", "Axle-Seen", seen) },
		"a person's call": func() (answer, error) {
			return people.send(http.MethodPost, "/axle.hub.v1.Clusters/List", "Axle-Seen", seen)
		},
		"a token not known":   func() (answer, error) { return stranger.tryGet("/agent/v1/desired", "Axle-Seen", seen) },
		"a stranger's tunnel": func() (answer, error) { return stranger.tryGet("/agent/v1/tunnel", "Axle-Seen", seen) },
	} {
		took := time.Hour
		for range 3 { // other work of the machine may delay one answer, and what hangs delays each
			began := time.Now()
			got, err := ask()
			if took = min(took, time.Since(began)); err != nil || got.status != http.StatusServiceUnavailable {
				t.Errorf("%s: status %d, %v: %s", what, got.status, err, got.body)
			}
			if took <= most+most/2 {
				break
			}
		}
		if took > most+most/2 {
			t.Errorf("%s: an answer after %v", what, took.Round(time.Millisecond))
		}
	}
	resume()
	eventually.For(t, limit, "the hub is well again", func() error {
		got, err := a.tryGet("/agent/v1/desired")
		if err == nil && got.status != http.StatusOK {
			err = errors.New(string(got.body))
		}
		return err
	})
}
