package clusters_test

import (
	"strings"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli/clusters"
	"github.com/axle-cd/axle/cli/commandtest"
)

func TestMoveSaysWhetherItIsAPlan(t *testing.T) {
	answers := commandtest.Answers{hubv1connect.ClustersMoveProcedure: &hubv1.MoveClusterResponse{Cluster: &hubv1.Cluster{Name: "edge-1", Project: "shop"}}}
	for want, flags := range map[string][]string{"this is a plan": {"--plan"}, "is in project shop": nil} {
		got := commandtest.Run(t, answers, clusters.Command, append([]string{"move", "edge-1", "--project", "shop"}, flags...)...)
		if got.Error != nil || !strings.Contains(got.Err, want) {
			t.Errorf("%q: %+v, want %q", flags, got, want)
		}
	}
}
