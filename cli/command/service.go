package command

import (
	"strings"

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
