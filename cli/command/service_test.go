package command_test

import (
	"testing"

	"github.com/axle-cd/axle/cli/command"
)

func TestAServiceIsNamedWithItsCluster(t *testing.T) {
	for _, c := range []struct{ argument, flag, cluster, name string }{
		{"edge/web", "", "edge", "web"},
		{"web", "edge", "edge", "web"},
		{"edge/web", "edge", "edge", "web"},
		{"edge/web", "other", "", ""},
		{"web", "", "", ""},
	} {
		ref, err := command.ServiceRef(c.argument, c.flag)
		if ref.GetCluster() != c.cluster || ref.GetName() != c.name || (err == nil) != (c.name != "") {
			t.Errorf("%q with --cluster %q: %v, %v", c.argument, c.flag, ref, err)
		}
	}
}
