package install

import (
	"context"
	"testing"

	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/commandtest"
	"github.com/axle-cd/axle/internal/errcode"
)

// An install that finds the data of an earlier one asks a hub that started just now. Its agent
// may come back between that and the connection, which the hub then refuses: it is connected.
// Another refusal remains one.
func TestAnAgentThatComesBackMeanwhileIsConnected(t *testing.T) {
	for name, polledAt := range map[string]int64{"it came back": 1, "it did not poll": 0} {
		t.Run(name, func(t *testing.T) {
			cluster := &hubv1.Cluster{Name: managementCluster, Registered: true}
			var ran []string
			got := commandtest.Run(t, commandtest.Answers{hubv1connect.ClustersGetProcedure: cluster}, func(a *command.App) *cobra.Command {
				run := func(_ context.Context, args ...string) error {
					ran = args
					cluster.PolledAt = polledAt
					return errcode.New(errcode.Conflict, "refused")
				}
				return &cobra.Command{Use: "finish", RunE: func(c *cobra.Command, _ []string) error {
					return finisher{&installer{place: place{app: a}, run: run}}.connectMgmt(c.Context())
				}}
			})
			if len(ran) < 3 || ran[1] != "connect" || ran[2] != managementCluster {
				t.Errorf("it ran %v", ran)
			}
			if (got.Error == nil) != (polledAt > 0) {
				t.Errorf("it ends with %v", got.Error)
			}
		})
	}
}
