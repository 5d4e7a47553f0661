package report

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/clock"
)

type fromTheHub struct{ away bool }

func (e fromTheHub) Error() string { return "502" }
func (e fromTheHub) Away() bool    { return e.away }

func TestARestartOfTheHubFailsNoService(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	away := fmt.Errorf("fetch specs: %w", fromTheHub{away: true})
	for name, test := range map[string]struct {
		err          error
		ago          time.Duration
		result       *apply.Result
		sync, reason string
	}{
		"away":                       {err: away, ago: 9 * time.Minute, sync: "Pending", reason: "HubAway"},
		"away for long":              {err: away, ago: 10 * time.Minute, sync: "Failed"},
		"away, and it synced before": {err: away, result: &apply.Result{Sync: "Synced"}, sync: "Pending", reason: "HubAway"},
		"away, and it failed before": {err: away, result: &apply.Result{Sync: "Failed"}, sync: "Failed"},
		"the hub refuses":            {err: fmt.Errorf("fetch specs: %w", fromTheHub{}), sync: "Failed"},
		"no file":                    {err: errors.New("no such file"), sync: "Failed"},
	} {
		r := &Reporter{cfg: Config{Clock: clock.NewManual(now)}}
		sync, reason, message := r.syncOf(View{Listed: true, Result: test.result, Trouble: &Trouble{Source: SourceAgent, Err: test.err, Since: now.Add(-test.ago)}})
		if sync != test.sync || reason != test.reason || message == "" {
			t.Errorf("%s: the service is %s %q: %q", name, sync, reason, message)
		}
	}
}
