package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/controller-runtime/pkg/client"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

func gitRepositories() kind {
	return kind{
		name: "GitRepository", protection: "gitrepo", object: &v1alpha1.GitRepository{}, list: &v1alpha1.GitRepositoryList{}, hub: described("GitRepository", showRepository),
		references: func(o client.Object) []reference.Reference {
			spec := o.(*v1alpha1.GitRepository).Spec
			if spec.CredentialsRef != nil {
				return reference.ToSecret("spec.credentialsRef", spec.CredentialsRef, "")
			}
			return reference.ToGlobal("spec.connectionRef", "ScmConnection", spec.ConnectionRef)
		},
		more: func(o client.Object, refs reference.Resolved) []reference.Reference {
			c, err := refs.Connection(value(o.(*v1alpha1.GitRepository).Spec.ConnectionRef).Name)
			if c == nil || err != nil {
				return nil
			}
			return secretsOfConnection(c)
		},
		refersTo: []string{"ScmConnection", reference.Secret},
		release:  releaseRepository,
	}
}

// scmConnections are nothing in the hub: repositories log in with them.
func scmConnections() kind {
	return kind{
		name: "ScmConnection", object: &v1alpha1.ScmConnection{}, list: &v1alpha1.ScmConnectionList{}, refersTo: []string{reference.Secret},
		references: func(o client.Object) []reference.Reference { return secretsOfConnection(o.(*v1alpha1.ScmConnection)) },
	}
}

// secretsOfConnection are named by the connection, whoever uses it.
func secretsOfConnection(c *v1alpha1.ScmConnection) (out []reference.Reference) {
	secrets := manifest.SecretsOfConnection(c)
	for _, field := range slices.Sorted(maps.Keys(secrets)) {
		ref := secrets[field]
		for _, one := range reference.ToSecret(field, &ref, "") {
			one.By = "ScmConnection"
			out = append(out, one)
		}
	}
	return out
}

// releaseRepository deletes the ServiceDeployments of a repository that is being
// deleted, and waits until they are gone.
func releaseRepository(ctx context.Context, p *pass, name string) (bool, error) {
	if err := stillOurs(ctx, p.hub, name, p.manager()); err != nil && !sdk.IsNotFound(err) {
		return false, err
	}
	var users v1alpha1.ServiceDeploymentList
	self := reference.Reference{Kind: "GitRepository", At: client.ObjectKey{Name: p.object.GetName()}}
	if err := p.cluster.List(ctx, &users, client.MatchingFields{referenceIndex: self.Key()}); err != nil {
		return false, err
	}
	waiting := 0
	for i := range users.Items {
		user := &users.Items[i]
		if !p.tenancy.Admin(user.GetNamespace()) {
			continue // the hub refuses to delete what it uses
		}
		waiting++
		if user.GetDeletionTimestamp().IsZero() {
			if err := client.IgnoreNotFound(p.cluster.Delete(ctx, user)); err != nil {
				return false, err
			}
		}
	}
	if waiting > 0 {
		p.waits = fmt.Sprintf("%d ServiceDeployments use the repository and are being deleted", waiting)
	}
	return waiting == 0, nil
}

func showRepository(o client.Object, m proto.Message) {
	r, status := m.(*hubv1.Repository), repositoryStatus(o)
	status.Health, status.Message = healths[r.GetHealth()], optional(r.GetMessage())
}

// healths are those of repositories, as statuses have them.
var healths = map[string]string{"Pullable": "PULLABLE", "Failed": "FAILED"}

func repositoryStatus(o client.Object) *v1alpha1.RepositoryStatus {
	switch r := o.(type) {
	case *v1alpha1.HelmRepository:
		return &r.Status
	case *axlev1alpha1.Repository:
		return &r.Status
	}
	return &o.(*v1alpha1.GitRepository).Status
}

// stillOurs returns *ofOthers for a repository that somebody has taken over.
func stillOurs(ctx context.Context, c *sdk.Client, name string, by *hubv1.Manager) error {
	have, err := c.Repositories.Get(ctx, connect.NewRequest(&hubv1.GetRepositoryRequest{Name: name}))
	return others(have, err, by)
}
