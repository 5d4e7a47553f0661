package cli

import (
	"context"
	"io"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// maxInput bounds what is read from standard input, in bytes.
const maxInput = 16 << 20

func (a *app) readIn() ([]byte, error) { return io.ReadAll(io.LimitReader(a.In, maxInput)) }

// applyItem sends one object and records the result in view.
func applyItem(ctx context.Context, client *sdk.Client, item manifest.Item, dryRun bool, view *appliedView) error {
	switch {
	case item.Repository != nil:
		return applyRepository(ctx, client, item.Repository, dryRun, view)
	case item.Cluster != nil:
		view.Result = "updated"
		if dryRun {
			_, err := client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: item.Cluster.GetName()}))
			return err
		}
		_, err := client.Clusters.Update(ctx, connect.NewRequest(item.Cluster))
		if sdk.IsNotFound(err) {
			return errcode.New(errcode.NotFound, "cluster %s is not registered; run axle clusters connect %s first", item.Cluster.GetName(), item.Cluster.GetName())
		}
		return err
	default:
		item.Service.DryRun = dryRun
		applied, err := client.Services.Apply(ctx, connect.NewRequest(item.Service))
		if err != nil {
			return err
		}
		view.Result = applied.Msg.GetResult()
		view.NotActing = append(view.NotActing, applied.Msg.GetService().GetNotActing()...)
		return nil
	}
}

// applyRepository creates a repository, or updates its credentials.
func applyRepository(ctx context.Context, client *sdk.Client, want *hubv1.CreateRepositoryRequest, dryRun bool, view *appliedView) error {
	have, err := client.Repositories.Get(ctx, connect.NewRequest(&hubv1.GetRepositoryRequest{Name: want.GetName()}))
	switch {
	case sdk.IsNotFound(err):
		view.Result = "created"
		if dryRun {
			return nil
		}
		_, err = client.Repositories.Create(ctx, connect.NewRequest(want))
		return err
	case err != nil:
		return err
	case have.Msg.GetUrl() != want.GetUrl():
		return errcode.New(errcode.Conflict, "repository %s has the URL %s, which cannot be changed; choose another name", want.GetName(), have.Msg.GetUrl())
	case want.GetCredentials() == nil:
		view.Result = "unchanged"
		return nil
	}
	view.Result = "updated"
	if dryRun {
		return nil
	}
	_, err = client.Repositories.Update(ctx, connect.NewRequest(&hubv1.UpdateRepositoryRequest{Name: want.GetName(), Credentials: want.GetCredentials()}))
	return err
}
