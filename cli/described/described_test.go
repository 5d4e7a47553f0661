package described_test

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/commandtest"
	"github.com/axle-cd/axle/cli/described"
)

// Fields without a flag are unchanged, and lists keep what they are given.
func TestApplyChangesWhatFlagsName(t *testing.T) {
	have := &hubv1.ClusterTemplate{Name: "eks", Settings: &hubv1.ClusterTemplateSettings{Repository: "fleet", Ref: "v1", Kinds: []string{"ConfigMap"}}}
	answers := commandtest.Answers{
		hubv1connect.ClusterTemplatesGetProcedure:   have,
		hubv1connect.ClusterTemplatesApplyProcedure: &hubv1.ApplyClusterTemplateResponse{ClusterTemplate: have, Result: "updated"},
	}
	noun := func(a *command.App) *cobra.Command {
		_, c := described.Command(a, object.ClusterTemplate)
		return c
	}
	got := commandtest.Run(t, answers, noun, "apply", "eks", "--ref", "v2", "--kinds", "Secret", "--kinds", "Cluster.cluster.x-k8s.io,Pod")
	if got.Error != nil || len(got.Requests) != 2 {
		t.Fatalf("%+v", got)
	}
	wrote := got.Requests[1].(*hubv1.ApplyClusterTemplateRequest)
	if s := wrote.GetSettings(); wrote.GetName() != "eks" || s.GetRepository() != "fleet" || s.GetRef() != "v2" || !slices.Equal(s.GetKinds(), []string{"Secret", "Cluster.cluster.x-k8s.io", "Pod"}) {
		t.Errorf("%v", wrote)
	}
}
