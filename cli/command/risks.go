package command

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
)

type riskView struct {
	Kind    string `json:"kind"`
	Object  string `json:"object"`
	Why     string `json:"why"`
	Command string `json:"command"`
}

// PrintRisks lists what the hub has that is older than a rule that would refuse it.
func PrintRisks(ctx context.Context, a *App, client *sdk.Client) error {
	r, err := client.Hub.AtRisk(ctx, connect.NewRequest(&hubv1.AtRiskRequest{}))
	if err != nil {
		return err
	}
	views := []riskView{}
	for _, v := range r.Msg.GetRisks() {
		views = append(views, riskView{v.GetKind(), v.GetObject(), v.GetWhy(), v.GetCommand()})
	}
	err = PrintList(a, views, func(v riskView) string { return v.Object },
		Col("OBJECT", func(v riskView) string { return v.Object }),
		Col("WHY", func(v riskView) string { return v.Why }),
		Col("COMMAND", func(v riskView) string { return v.Command }),
	)
	if left := int(r.Msg.GetTotal()) - len(views); err == nil && left > 0 {
		_, err = fmt.Fprintf(a.Err, "and %d more, which are listed once these are settled\n", left)
	}
	return err
}
