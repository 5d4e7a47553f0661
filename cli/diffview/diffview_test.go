package diffview_test

import (
	"strings"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/diffview"
)

// What is left out of a long diff counts as different.
func TestTheLastLineCountsWhatIsLeftOut(t *testing.T) {
	v := diffview.Of(&hubv1.ServiceRef{Cluster: "edge", Name: "web"}, "ref main", &hubv1.ServiceDiff{
		Differences: []*hubv1.ServiceDifference{{Kind: "ConfigMap", Name: "a", Action: "create", Desired: "a: 1\n"}}, Unchanged: 4, LeftOut: 2,
	})
	var out strings.Builder
	v.Write(&out, false)
	if !v.Differs() || !strings.Contains(out.String(), "# ref main: 3 differ, 4 are up to date\n# 2 more differences are not shown\n") {
		t.Errorf("%+v:\n%s", v, out.String())
	}
}
