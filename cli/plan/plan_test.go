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
