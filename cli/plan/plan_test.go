package plan_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli/plan"
)

func TestAPlanCountsWhatItWouldDo(t *testing.T) {
	for action, want := range map[plan.Action]struct {
		differs, failed bool
		text            string
	}{
		plan.Create:    {true, false, "+ create Project/shop\n# 1 create, 0 unchanged\n"},
		plan.Update:    {true, false, "~ update Project/shop\n# 1 update, 0 unchanged\n"},
		plan.Delete:    {true, false, "- delete Project/shop\n# 1 delete, 0 unchanged\n"},
		plan.Refused:   {false, true, "! refused Project/shop\n# 1 refused, 0 unchanged\n"},
		plan.Unchanged: {false, false, "# 1 unchanged\n"},
	} {
		var p plan.Plan
		p.Add(plan.Object{Kind: "Project", Name: "shop", Action: action})
		var out strings.Builder
		p.Write(&out, false)
		if p.Differs() != want.differs || p.Failed() != want.failed || out.String() != want.text {
			t.Errorf("%s: differs %v, failed %v, %q", action, p.Differs(), p.Failed(), out.String())
		}
	}
}
