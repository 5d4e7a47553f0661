package cli

import (
	"context"
	"strings"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
)

// service returns a client and the service that an argument names. It parses
// the argument first, so that a mistake there is found without a hub.
func (a *app) service(argument, cluster string) (*sdk.Client, *hubv1.ServiceRef, error) {
	ref, err := serviceRef(argument, cluster)
	if err != nil {
		return nil, nil, err
	}
	client, err := a.client()
	return client, ref, err
}

// serviceRef reads CLUSTER/NAME, or NAME with --cluster.
func serviceRef(argument, cluster string) (*hubv1.ServiceRef, error) {
	if before, after, ok := strings.Cut(argument, "/"); ok {
		if cluster != "" && cluster != before {
			return nil, usagef("the cluster of %q is not --cluster %s", argument, cluster)
		}
		return &hubv1.ServiceRef{Cluster: before, Name: after}, nil
	}
	if cluster == "" {
		return nil, usagef("name the service as CLUSTER/%s, or add --cluster", argument)
	}
	return &hubv1.ServiceRef{Cluster: cluster, Name: argument}, nil
}

// listServices reads all pages.
func listServices(ctx context.Context, client *sdk.Client, request *hubv1.ListServicesRequest) ([]*hubv1.Service, error) {
	var all []*hubv1.Service
	request.PageToken = ""
	for {
		page, err := client.Services.List(ctx, connect.NewRequest(request))
		if err != nil {
			return nil, err
		}
		all = append(all, page.Msg.GetServices()...)
		if request.PageToken = page.Msg.GetNextPageToken(); request.PageToken == "" {
			return all, nil
		}
	}
}
