package command

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
)

// NoteAccount writes a note when services of a project have no account to act as, so that
// nothing of them would be applied. Whoever may not read the project gets none.
func NoteAccount(ctx context.Context, a *App, client *sdk.Client, project string) {
	if project == "" || project == "default" {
		return
	}
	p, err := client.Projects.Get(ctx, connect.NewRequest(&hubv1.GetProjectRequest{Name: project}))
	if err != nil || p.Msg.GetAdministratorsOnly() || p.Msg.GetLimits().GetServiceAccount() != "" {
		return
	}
	fmt.Fprintf(a.Err, "Note: services of project %s need a service account of the cluster to act as, and nothing of them is applied without one; name one for all of them with: axle projects update %s --service-account NAME --allow-account NAMESPACE/NAME\n", project, project)
}
