package plan_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli/diffview"
	"github.com/axle-cd/axle/cli/plan"
)

// TestATextIsShownAsAPatch checks that a field's text looks as an object's in the
// cluster does: with the colours of its lines, and nothing that a terminal obeys.
func TestATextIsShownAsAPatch(t *testing.T) {
	t.Parallel()
	p := plan.Plan{Live: []diffview.View{{Cluster: "edge", Name: "web", Differences: []diffview.Difference{{Kind: "ConfigMap", Name: "c", Action: "update", Live: "a: 1\n", Desired: "a: 2\n"}}}}}
	p.Add(plan.Object{Kind: "Context", Name: "region", Action: plan.Update, Fields: []plan.Field{{Path: "text", Old: "a: 1\n", New: "a: \x1b[2J2\nb: 1\n"}}})
	var coloured, bare strings.Builder
	p.Write(&coloured, true)
	p.Write(&bare, false)
	for _, want := range []string{"\n      \x1b[31m-a: 1\x1b[0m\n", "\n      \x1b[32m+b: 1\x1b[0m\n", "\n\x1b[31m-a: 1\x1b[0m\n", "\n\x1b[32m+a: 2\x1b[0m\n", "\n# === edge/web, in the cluster\n"} {
		if !strings.Contains(coloured.String(), want) {
			t.Errorf("%q is not in\n%s", want, coloured.String())
		}
	}
	if strings.Contains(bare.String(), "\x1b") || !strings.Contains(bare.String(), "\n      +b: 1\n") {
		t.Errorf("without colours:\n%q", bare.String())
	}
}

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
