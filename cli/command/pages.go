package command

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/sdk"
)

// Window is the part of a long list that flags ask for.
type Window struct {
	Limit int
	After string
	// rest is the token of what was left out.
	rest string
}

// WindowFlags adds --limit and --after to a list that the hub sends in pages.
func WindowFlags(c *cobra.Command, w *Window) {
	c.Flags().IntVar(&w.Limit, "limit", 0, "at most so many; a note on standard error has the command for the rest (default: all)")
	c.Flags().StringVar(&w.After, "after", "", "continue where a list with --limit ended")
}

// Check refuses what makes no sense together.
func (w *Window) Check(watch bool) error {
	switch {
	case w.Limit < 0:
		return exitcode.Usagef("--limit %d is negative", w.Limit)
	case watch && (w.Limit > 0 || w.After != ""):
		return exitcode.Usagef("--watch follows a whole list; leave out --limit and --after")
	}
	return nil
}

// EachService gives fn the services that a request selects, page by page.
func EachService(ctx context.Context, client *sdk.Client, request *hubv1.ListServicesRequest, w *Window, fn func(*hubv1.ListServicesResponse) error) (err error) {
	w.rest, err = sdk.EachPage(w.After, w.Limit, func(token string, size int32) (*connect.Response[hubv1.ListServicesResponse], error) {
		request.PageToken, request.PageSize = token, size
		return client.Services.List(ctx, connect.NewRequest(request))
	}, func(r *hubv1.ListServicesResponse) (int, error) { return len(r.GetServices()), fn(r) })
	return err
}

// EachCluster gives fn the clusters that a request selects, page by page.
func EachCluster(ctx context.Context, client *sdk.Client, request *hubv1.ListClustersRequest, w *Window, fn func(*hubv1.ListClustersResponse) error) (err error) {
	w.rest, err = sdk.EachPage(w.After, w.Limit, func(token string, size int32) (*connect.Response[hubv1.ListClustersResponse], error) {
		request.PageToken, request.PageSize = token, size
		return client.Clusters.List(ctx, connect.NewRequest(request))
	}, func(r *hubv1.ListClustersResponse) (int, error) { return len(r.GetClusters()), fn(r) })
	return err
}

// More says how to read on after a list that --limit ended.
func (w *Window) More(a *App, err error) error {
	if err == nil && w.rest != "" {
		_, err = fmt.Fprintf(a.Err, "there are more; the same command with --after %s continues\n", w.rest)
	}
	return err
}

// ListServices reads all pages.
func ListServices(ctx context.Context, client *sdk.Client, request *hubv1.ListServicesRequest) (all []*hubv1.Service, err error) {
	err = EachService(ctx, client, request, &Window{}, func(r *hubv1.ListServicesResponse) error {
		all = append(all, r.GetServices()...)
		return nil
	})
	return all, err
}

// ListGlobals reads all global services, without templates.
func ListGlobals(ctx context.Context, client *sdk.Client) ([]*hubv1.GlobalService, error) {
	return sdk.AllPages(func(token string, size int32) (*connect.Response[hubv1.ListGlobalServicesResponse], error) {
		return client.GlobalServices.List(ctx, connect.NewRequest(&hubv1.ListGlobalServicesRequest{PageSize: size, PageToken: token}))
	}, (*hubv1.ListGlobalServicesResponse).GetGlobalServices)
}

// ListNamespaces reads all managed namespaces, without their services.
func ListNamespaces(ctx context.Context, client *sdk.Client) ([]*hubv1.ManagedNamespace, error) {
	return sdk.AllPages(func(token string, size int32) (*connect.Response[hubv1.ListManagedNamespacesResponse], error) {
		return client.ManagedNamespaces.List(ctx, connect.NewRequest(&hubv1.ListManagedNamespacesRequest{PageSize: size, PageToken: token}))
	}, (*hubv1.ListManagedNamespacesResponse).GetNamespaces)
}
