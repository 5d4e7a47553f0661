package operations_test

import (
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli/commandtest"
	"github.com/axle-cd/axle/cli/operations"
)

// A retry has the reason of what it repeats, unless another one is given.
func TestRetryKeepsTheReason(t *testing.T) {
	answers := commandtest.Answers{
		hubv1connect.OperationsGetProcedure:   &hubv1.Operation{Id: "op_a", Action: "sync", Reason: "as before"},
		hubv1connect.OperationsStartProcedure: &hubv1.Operation{Id: "op_b"},
	}
	for want, flags := range map[string][]string{"as before": nil, "another": {"--reason", "another"}} {
		got := commandtest.Run(t, answers, operations.Command, append([]string{"retry", "op_a"}, flags...)...)
		if got.Error != nil || len(got.Requests) != 2 {
			t.Fatalf("%+v", got)
		}
		if r := got.Requests[1].(*hubv1.StartOperationRequest); r.GetReason() != want || r.GetFailedOf() != "op_a" || r.GetAction() != "sync" {
			t.Errorf("%q: the request is %v", flags, r)
		}
	}
}
