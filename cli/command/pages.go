package command

import (
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
)

// page is an answer that may have a next one.
type page[A any] interface {
	*A
	GetNextPageToken() string
}

// pages reads all pages of a list; call reads the one with a token.
func pages[A, T any, P page[A]](call func(token string) (*connect.Response[A], error), items func(P) []T) ([]T, error) {
	var all []T
	for token := ""; ; {
		answer, err := call(token)
		if err != nil {
			return nil, err
		}
		all = append(all, items(P(answer.Msg))...)
		if token = P(answer.Msg).GetNextPageToken(); token == "" {
			return all, nil
		}
	}
}

// ListServices reads all pages.
func ListServices(ctx context.Context, client *sdk.Client, request *hubv1.ListServicesRequest) ([]*hubv1.Service, error) {
	return pages(func(token string) (*connect.Response[hubv1.ListServicesResponse], error) {
		request.PageToken = token
		return client.Services.List(ctx, connect.NewRequest(request))
	}, (*hubv1.ListServicesResponse).GetServices)
}

// ListGlobals reads all global services, without templates.
func ListGlobals(ctx context.Context, client *sdk.Client) ([]*hubv1.GlobalService, error) {
	return pages(func(token string) (*connect.Response[hubv1.ListGlobalServicesResponse], error) {
		return client.GlobalServices.List(ctx, connect.NewRequest(&hubv1.ListGlobalServicesRequest{PageSize: 500, PageToken: token}))
	}, (*hubv1.ListGlobalServicesResponse).GetGlobalServices)
}

// ListNamespaces reads all managed namespaces, without their services.
func ListNamespaces(ctx context.Context, client *sdk.Client) ([]*hubv1.ManagedNamespace, error) {
	return pages(func(token string) (*connect.Response[hubv1.ListManagedNamespacesResponse], error) {
		return client.ManagedNamespaces.List(ctx, connect.NewRequest(&hubv1.ListManagedNamespacesRequest{PageSize: 500, PageToken: token}))
	}, (*hubv1.ListManagedNamespacesResponse).GetNamespaces)
}
