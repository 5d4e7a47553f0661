package login_test

import (
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli/commandtest"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/login"
)

// Sessions end by their IDs or all of them, and never by a command that names neither.
func TestEndNamesSessions(t *testing.T) {
	answers := commandtest.Answers{hubv1connect.LoginsEndSessionProcedure: &hubv1.EndSessionResponse{}, hubv1connect.LoginsEndSessionsProcedure: &hubv1.EndSessionsResponse{Ended: 2}}
	for _, args := range [][]string{{"end"}, {"end", "tok_a", "--all"}, {"end", "tok_a", "--tokens"}} {
		if got := commandtest.Run(t, answers, login.Sessions, args...); !exitcode.IsUsage(got.Error) || len(got.Requests) != 0 {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if got := commandtest.Run(t, answers, login.Sessions, "end", "tok_a", "tok_b"); got.Error != nil || len(got.Requests) != 2 {
		t.Errorf("two sessions: %+v", got)
	}
	if got := commandtest.Run(t, answers, login.Sessions, "end", "--all"); got.Error != nil || len(got.Requests) != 1 {
		t.Errorf("all: %+v", got)
	}
}
