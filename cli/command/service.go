package command

import (
	"context"
	"strings"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/sdk"
)

// Service returns a client and the service that an argument names. It parses
// the argument first, so that a mistake there is found without a hub.
func (a *App) Service(argument, cluster string) (*sdk.Client, *hubv1.ServiceRef, error) {
	ref, err := ServiceRef(argument, cluster)
	if err != nil {
		return nil, nil, err
	}
	client, err := a.Client()
	return client, ref, err
}

// ServiceRef reads CLUSTER/NAME, or NAME with --cluster.
func ServiceRef(argument, cluster string) (*hubv1.ServiceRef, error) {
	if before, after, ok := strings.Cut(argument, "/"); ok {
		if cluster != "" && cluster != before {
			return nil, exitcode.Usagef("the cluster of %q is not --cluster %s", argument, cluster)
		}
		return &hubv1.ServiceRef{Cluster: before, Name: after}, nil
	}
	if cluster == "" {
		return nil, exitcode.Usagef("name the service as CLUSTER/%s, or add --cluster", argument)
	}
	return &hubv1.ServiceRef{Cluster: cluster, Name: argument}, nil
}

// ListServices reads all pages.
func ListServices(ctx context.Context, client *sdk.Client, request *hubv1.ListServicesRequest) ([]*hubv1.Service, error) {
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
