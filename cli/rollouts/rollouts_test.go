package rollouts_test

import (
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli/commandtest"
	"github.com/axle-cd/axle/cli/rollouts"
	"github.com/axle-cd/axle/internal/errcode"
)

// A global service that never rolled out in waves has no rollout to show.
func TestARolloutThatNeverBeganIsNotFound(t *testing.T) {
	for phase, found := range map[string]bool{"": false, "Running": true} {
		answers := commandtest.Answers{hubv1connect.GlobalServicesGetRolloutProcedure: &hubv1.Rollout{Phase: phase}}
		got := commandtest.Run(t, answers, rollouts.Command, "get", "monitoring")
		if errcode.Is(got.Error, errcode.NotFound) == found || (got.Error == nil) != found {
			t.Errorf("phase %q: %+v", phase, got)
		}
	}
}
