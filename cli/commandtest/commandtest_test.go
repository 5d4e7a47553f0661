package commandtest_test

import (
	"fmt"
	"testing"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/commandtest"
	"github.com/axle-cd/axle/sdk"
)

func TestRequestsAreRecordedInOrder(t *testing.T) {
	answers := commandtest.Answers{hubv1connect.GroupsGetProcedure: &hubv1.Group{Name: "web"}}
	got := commandtest.Run(t, answers, func(a *command.App) *cobra.Command {
		return &cobra.Command{Use: "get", RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			for _, name := range args {
				g, err := client.Groups.Get(c.Context(), connect.NewRequest(&hubv1.GetGroupRequest{Name: name}))
				if err != nil {
					return err
				}
				fmt.Fprint(a.Out, g.Msg.GetName(), " ")
			}
			return nil
		})}
	}, "one", "two")
	if got.Error != nil || got.Out != "web web " || len(got.Requests) != 2 {
		t.Fatalf("%+v", got)
	}
	for i, name := range []string{"one", "two"} {
		if want := (&hubv1.GetGroupRequest{Name: name}); !proto.Equal(got.Requests[i], want) {
			t.Errorf("request %d is %v, want %v", i, got.Requests[i], want)
		}
	}
}
