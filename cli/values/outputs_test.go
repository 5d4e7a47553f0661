package values_test

import (
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli/commandtest"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/values"
)

// Outputs replace those of their name, so storing nothing would delete all.
func TestPutStoresSomething(t *testing.T) {
	answers := commandtest.Answers{hubv1connect.OutputsPutProcedure: &hubv1.Context{Name: "database"}}
	if got := commandtest.Run(t, answers, values.Outputs, "put", "database"); !exitcode.IsUsage(got.Error) || len(got.Requests) != 0 {
		t.Errorf("nothing: %+v", got)
	}
	if got := commandtest.Run(t, answers, values.Outputs, "put", "database", "host=db.internal"); got.Error != nil || len(got.Requests) != 1 {
		t.Errorf("a value: %+v", got)
	}
}
