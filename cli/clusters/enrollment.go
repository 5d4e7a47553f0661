package clusters

import (
	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/sdk"
)

// stepView is one step of an enrollment as -o json and -o yaml show it.
type stepView struct {
	Name    string   `json:"name"`
	State   string   `json:"state"`
	At      string   `json:"at"`
	Age     string   `json:"age"`
	Message string   `json:"message"`
	Checks  []string `json:"checks"`
}

func enrollmentCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "enrollment NAME", Short: "Show the progress of a new cluster's agent", Args: command.Exactly(1),
		Long: `Show the progress of a new cluster's agent: token, contact, registered, approved,
report, tunnel, rights. A step that is pending for 30 s lists its likely causes, with the
commands that check them.`,
		Example: "  axle clusters enrollment edge-1",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			answer, err := client.Clusters.Enrollment(c.Context(), connect.NewRequest(&hubv1.EnrollmentRequest{Name: args[0]}))
			if err != nil {
				return err
			}
			steps := []stepView{}
			for _, s := range answer.Msg.GetSteps() {
				steps = append(steps, stepView{s.GetName(), s.GetState(), fields.Stamp(s.GetAt()), a.Age(s.GetAt()), s.GetMessage(), append([]string{}, s.GetChecks()...)})
			}
			return command.PrintList(a, steps, func(s stepView) string { return s.Name },
				command.Col("STEP", func(s stepView) string { return s.Name }),
				command.Col("STATE", func(s stepView) string { return s.State }),
				command.Col("AGE", func(s stepView) string { return s.Age }),
				command.Col("MESSAGE", func(s stepView) string {
					text := s.Message
					for _, check := range s.Checks {
						text += "; " + check
					}
					return text
				}))
		}),
	}
}
