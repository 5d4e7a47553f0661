package authproxy

import (
	"context"
	"net/url"
	"slices"
	"strings"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/kubereq"
)

// Guard knows the credentials of other clusters that this one holds.
type Guard interface {
	// Maker returns the service that makes a cluster in a namespace, empty for none.
	Maker(namespace string) (service string)
	// Credential reports whether a Secret makes its holder an administrator of a cluster.
	Credential(ctx context.Context, namespace, name string) (bool, error)
}

// nothing is the Guard of a cluster without any.
type nothing struct{}

func (nothing) Maker(string) string                                      { return "" }
func (nothing) Credential(context.Context, string, string) (bool, error) { return false, nil }

// keep keeps the credentials of other clusters from a request, whatever the cluster's RBAC
// lets its user do: refused is a request for one, and for many Secrets the query is narrowed.
// In a namespace where a cluster is made, only administrators do more than read.
func (p *Proxy) keep(ctx context.Context, head *agentv1.StreamHead, info kubereq.Info) error {
	secrets := info.Group == "" && info.Resource == "secrets"
	if info.Namespace != "" && p.guard.Maker(info.Namespace) != "" {
		switch {
		case secrets:
			return errCredential
		case !info.Reads() && !slices.Contains(head.GetIdentity().GetGroups(), AdminsGroup):
			return errcode.New(errcode.Forbidden, "a cluster is made in namespace %s; only administrators may do more than read there", info.Namespace)
		}
	}
	if !secrets {
		return nil
	}
	many := info.Verb == "list" || info.Verb == "watch" || info.Verb == "deletecollection"
	if many {
		head.RequestUri = withoutCredentials(head.GetRequestUri())
		return nil
	}
	if info.Name == "" {
		return nil // one is created
	}
	is, err := p.guard.Credential(ctx, info.Namespace, info.Name)
	if err == nil && is {
		err = errCredential
	}
	return err
}

var errCredential = errcode.New(errcode.Forbidden, "the Secrets of Cluster API make their reader an administrator of a cluster, and are not for use through the hub; an administrator gets a kubeconfig with: axle clusters kubeconfig NAME --admin")

// withoutCredentials adds a selector to a request for Secrets. It comes first: what a client
// writes cannot change what is before it. An API server reads only the first selector.
func withoutCredentials(uri string) string {
	path, raw, _ := strings.Cut(uri, "?")
	query, _ := url.ParseQuery(raw) // what cannot be parsed is left out, as the API server does
	selector := kubeobj.OthersSelector
	if own := query.Get("fieldSelector"); own != "" {
		selector += "," + own
	}
	query.Set("fieldSelector", selector)
	return path + "?" + query.Encode()
}
