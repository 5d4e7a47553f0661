package sdk

import (
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// PageSize is the largest page of a list of the fleet.
const PageSize = 500

// page is an answer that may have a next one.
type page[A any] interface {
	*A
	GetNextPageToken() string
}

// EachPage gives fn each page of a list, from a token on; call reads the page of a token
// with a size. fn returns how many items a page had. It ends early after limit items, 0
// being none, and returns the token of what is left. A hub that knows no pages sends all
// in the first one.
func EachPage[A any, P page[A]](from string, limit int, call func(token string, size int32) (*connect.Response[A], error), fn func(P) (items int, err error)) (rest string, _ error) {
	for token := from; ; {
		size := PageSize
		if limit > 0 {
			size = min(size, limit)
		}
		answer, err := call(token, int32(size))
		if err != nil {
			return "", err
		}
		items, err := fn(P(answer.Msg))
		if err != nil {
			return "", err
		}
		token = P(answer.Msg).GetNextPageToken()
		if limit > 0 {
			if limit -= items; limit <= 0 {
				return token, nil
			}
		}
		if token == "" {
			return "", nil
		}
	}
}

// AllPages returns the items of all pages of a list.
func AllPages[A, T any, P page[A]](call func(token string, size int32) (*connect.Response[A], error), items func(P) []T) (all []T, _ error) {
	_, err := EachPage("", 0, call, func(r P) (int, error) {
		some := items(r)
		all = append(all, some...)
		return len(some), nil
	})
	return all, err
}

// AllRepositories returns the repositories that a request selects, page by page.
func (c *Client) AllRepositories(ctx context.Context, request *hubv1.ListRepositoriesRequest) ([]*hubv1.Repository, error) {
	return AllPages(func(token string, size int32) (*connect.Response[hubv1.ListRepositoriesResponse], error) {
		request.PageToken, request.PageSize = token, size
		return c.Repositories.List(ctx, connect.NewRequest(request))
	}, (*hubv1.ListRepositoriesResponse).GetRepositories)
}

// AllClusters returns the clusters that a request selects, page by page.
func (c *Client) AllClusters(ctx context.Context, request *hubv1.ListClustersRequest) ([]*hubv1.Cluster, error) {
	return AllPages(func(token string, size int32) (*connect.Response[hubv1.ListClustersResponse], error) {
		request.PageToken, request.PageSize = token, size
		return c.Clusters.List(ctx, connect.NewRequest(request))
	}, (*hubv1.ListClustersResponse).GetClusters)
}
