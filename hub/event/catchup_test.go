package event_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

// repairing records which lost positions were checked, and who showed them.
type repairing struct {
	rows
	mu     sync.Mutex
	looked []string
}

func (m *repairing) Repair(_ context.Context, seen event.Position, witness string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if witness != "" {
		m.looked = append(m.looked, witness+" at "+seen.String())
	}
	return nil
}

func known(context.Context) error { return nil }

// Only positions with this hub's own proof are checked, with the name of the
// client that showed them.
func TestOnlyOwnProofsAreLookedUp(t *testing.T) {
	ours, theirs := event.NewProofs([]byte("one secret")), event.NewProofs([]byte("another"))
	at := event.Position{Incarnation: "a", Sequence: 9}
	early := event.Position{Incarnation: "a", Sequence: 1}
	for what, tc := range map[string]struct {
		proofs *event.Proofs
		shown  string
		known  bool
		looked []string
	}{
		"its own":              {ours, "a.9 " + ours.Of(at), true, []string{"edge-1 at a.9"}},
		"a place that is here": {ours, "a.1 " + ours.Of(early), true, nil},
		"of another place":     {ours, "a.9 " + ours.Of(early), false, nil},
		"another hub's":        {ours, "a.9 " + theirs.Of(at), false, nil},
		"none":                 {ours, "a.9", false, nil},
		"empty":                {ours, "", false, nil},
		"an empty proof":       {ours, "a.9 ", false, nil},
		"not a place":          {ours, "x " + ours.Of(at), false, nil},
		"no secret":            {nil, "a.9 ", false, nil},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &repairing{rows: rows{life: "a"}}
				store.add("one")
				feed := startWith(t, event.FeedConfig{Store: store, Proofs: tc.proofs}, &index{})
				synctest.Wait()
				if got := feed.Recall(tc.shown, "edge-1"); got != tc.known {
					t.Errorf("known: %v", got)
				}
				if err := feed.CatchUp(t.Context(), at, known); !errcode.Is(err, errcode.Unavailable) {
					t.Errorf("err = %v", err)
				}
				synctest.Wait()
				store.mu.Lock()
				defer store.mu.Unlock()
				if len(store.looked) != len(tc.looked) || len(tc.looked) == 1 && store.looked[0] != tc.looked[0] {
					t.Errorf("looked up %v, want %v", store.looked, tc.looked)
				}
			})
		})
	}
}

func TestCatchUp(t *testing.T) {
	here, later := event.Position{Incarnation: "a", Sequence: 1}, event.Position{Incarnation: "a", Sequence: 2}
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for what, tc := range map[string]struct {
		seen  event.Position
		known func(context.Context) error
		code  errcode.Code
		takes time.Duration
	}{
		"what is here asks nobody":          {here, hangs, "", 0},
		"what is not is waited for":         {later, known, errcode.Unavailable, 2 * time.Second},
		"strangers are not waited for":      {later, func(context.Context) error { return errors.New("who?") }, errcode.Unavailable, 0},
		"who they are may take 2 s at most": {later, hangs, errcode.Unavailable, 2 * time.Second},
		"both together do":                  {later, func(context.Context) error { <-time.After(1900 * time.Millisecond); return nil }, errcode.Unavailable, 2 * time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &rows{life: "a"}
				store.add("one")
				feed := start(t, store, &index{})
				synctest.Wait()
				began := time.Now()
				err := feed.CatchUp(t.Context(), tc.seen, tc.known)
				if took := time.Since(began); took != tc.takes || tc.code != "" && !errcode.Is(err, tc.code) || tc.code == "" && err != nil {
					t.Errorf("%v after %v, want %s after %v", err, took, tc.code, tc.takes)
				}
			})
		})
	}
}
