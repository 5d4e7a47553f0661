package hub

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/position"
)

func TestReplicaThatAloneIsBehindIsNotReady(t *testing.T) {
	fresh := peer.Condition{Position: position.Position{Incarnation: "a", Sequence: 9}, FeedAge: time.Second}
	old := fresh
	old.FeedAge = time.Minute
	for name, tc := range map[string]struct {
		age    time.Duration
		others []peer.Condition
		ready  bool
	}{
		"all is well":              {time.Second, []peer.Condition{fresh}, true},
		"the database is away":     {time.Minute, []peer.Condition{old, old}, true},
		"this one alone is behind": {time.Minute, []peer.Condition{old, fresh}, false},
		"another just started":     {time.Minute, []peer.Condition{{}}, true},
		"there are no others":      {time.Minute, nil, true},
	} {
		b := &behind{clock: clock.Real{}, age: func() time.Duration { return tc.age }}
		b.others = func() (out []peer.Replica) {
			for range tc.others {
				out = append(out, peer.Replica{Name: string(rune('a' + len(out)))})
			}
			return append(out, peer.Replica{Name: "silent"})
		}
		b.ask = func(_ context.Context, to peer.Replica) (peer.Condition, error) {
			if to.Name == "silent" {
				return peer.Condition{}, errors.New("no answer")
			}
			return tc.others[to.Name[0]-'a'], nil
		}
		if err := b.look(t.Context()); (err == nil) != tc.ready || err != nil && !errcode.Is(err, errcode.Unavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
