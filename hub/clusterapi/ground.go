package clusterapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
)

// Look reads on a management cluster, as whoever asks: a Table of Kubernetes, of one path.
// NotFound for an object that is not there.
type Look func(ctx context.Context, path string) ([]byte, error)

const (
	definitionPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
	// inventory is the kind in which clusterctl notes what it installed.
	inventory = "providers.clusterctl.cluster.x-k8s.io"
	// managersPath lists the Deployments of Cluster API: each of its projects labels them.
	managersPath = "/apis/apps/v1/deployments?labelSelector=cluster.x-k8s.io%2Fprovider&limit=100"
	// serviceAnnotation is what agents put on an object of a service.
	serviceAnnotation = "axle-cd.github.io/service"
	// maxTable bounds an answer in memory, maxNamed how many objects an error names.
	maxTable = 32 << 20
	maxNamed = 5
)

// ground is a management cluster before an installation.
type ground struct {
	cluster    string
	components []Component
}

// check returns a Conflict where somebody else installed Cluster API, or where cert-manager
// is missing.
func (g ground) check(ctx context.Context, look Look) error {
	var found []string
	for _, one := range []struct{ path, what string }{
		{definitionPath + inventory, ""},
		{managersPath, "Deployment"},
		{definitionPath + "clusters.cluster.x-k8s.io", "definition"},
	} {
		objects, err := g.foreign(ctx, look, one.path)
		if err == nil && len(objects) > 0 && one.what == "" {
			one.what = "provider of clusterctl"
			objects, err = g.foreign(ctx, look, "/apis/clusterctl.cluster.x-k8s.io/v1alpha3/providers?limit=100")
		}
		if err != nil {
			return err
		}
		for _, o := range objects {
			found = append(found, one.what+" "+o)
		}
	}
	if len(found) > 0 {
		if more := len(found) - maxNamed; more > 0 {
			found = append(found[:maxNamed], fmt.Sprintf("%d more", more))
		}
		return errcode.New(errcode.Conflict, "cluster %s has a Cluster API that this hub did not install: %s. Clusters from templates need no installation by the hub there: axle clusters create works with it, and what installed it upgrades it. To have the hub install it, use another management cluster", g.cluster, strings.Join(found, ", "))
	}
	if _, err := look(ctx, definitionPath+"certificates.cert-manager.io"); errcode.Is(err, errcode.NotFound) {
		return errcode.New(errcode.Conflict, "cluster %s has no cert-manager, which makes the certificates of Cluster API's webhooks; install cert-manager there, as a service or by its own manifests, and run this again", g.cluster)
	} else if err != nil {
		return g.unknown(err)
	}
	return nil
}

// foreign names the objects of a path that no service of a component has.
func (g ground) foreign(ctx context.Context, look Look, path string) ([]string, error) {
	text, err := look(ctx, path)
	if errcode.Is(err, errcode.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, g.unknown(err)
	}
	var table struct {
		Rows []struct {
			Object struct {
				Metadata struct {
					Name, Namespace string
					Annotations     map[string]string
				}
			}
		}
	}
	if err := bounded.JSON(text, &table, maxTable); err != nil {
		return nil, errcode.New(errcode.Unavailable, "the answer of cluster %s is not a Table: %w", g.cluster, err)
	}
	var names []string
	for _, row := range table.Rows {
		m := row.Object.Metadata
		if slices.ContainsFunc(g.components, func(c Component) bool { return c.View.ID != "" && c.View.ID == m.Annotations[serviceAnnotation] }) {
			continue
		}
		names = append(names, plain.Line(strings.TrimPrefix(m.Namespace+"/"+m.Name, "/"), 200))
	}
	return names, nil
}

// unknown is an error about a cluster that could not be looked at.
func (g ground) unknown(err error) error {
	return errcode.New(errcode.Of(err), "cannot look whether cluster %s has a Cluster API, and cert-manager: %w", g.cluster, err)
}
