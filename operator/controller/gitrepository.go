package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"connectrpc.com/connect"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/repourl"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

func gitRepositories() kind {
	return kind{
		name: "GitRepository", protection: "gitrepo", object: &v1alpha1.GitRepository{}, list: &v1alpha1.GitRepositoryList{}, hub: repositoryCalls{},
		common: func(o client.Object) common {
			r := o.(*v1alpha1.GitRepository)
			return common{&r.Status.Status, r.Spec.Reconciliation}
		},
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
		common: func(o client.Object) common {
			c := o.(*v1alpha1.ScmConnection)
			return common{&c.Status, c.Spec.Reconciliation}
		},
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

type repositoryCalls struct{}

func foundRepository(r *hubv1.Repository) *found {
	f := &found{id: r.GetId(), message: r, managed: true, by: r.GetManagedBy()}
	health := ""
	switch r.GetHealth() {
	case "Pullable":
		health = "PULLABLE"
	case "Failed":
		health, f.waits = "FAILED", "the hub cannot read the repository: "+r.GetMessage()
	default:
		f.waits = "the hub has not read the repository yet"
	}
	f.show = func(o client.Object) {
		status := repositoryStatus(o)
		status.Health, status.Message = health, optional(r.GetMessage())
	}
	return f
}

func repositoryStatus(o client.Object) *v1alpha1.RepositoryStatus {
	if helm, ok := o.(*v1alpha1.HelmRepository); ok {
		return &helm.Status
	}
	return &o.(*v1alpha1.GitRepository).Status
}

func (repositoryCalls) read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*found, error) {
	have, err := c.Repositories.Get(ctx, connect.NewRequest(&hubv1.GetRepositoryRequest{Name: item.Name}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundRepository(have.Msg), nil
}

// same cannot see the stored credentials, only whether there are some.
func (repositoryCalls) same(_ context.Context, _ *sdk.Client, item *manifest.Item, f *found) (bool, error) {
	have := f.message.(*hubv1.Repository)
	want := item.Repository
	return have.GetUrl() == want.GetUrl() && (want.GetCredentials() == nil || have.GetAuth() != "none") &&
		(want.GetAuth() == "" || have.GetAuth() == want.GetAuth()) && manifest.RepositoryOptions(have.GetOptions(), want.GetOptions()) == nil, nil
}

func (repositoryCalls) write(ctx context.Context, c *sdk.Client, item *manifest.Item, f *found) (*found, error) {
	want := item.Repository
	if f == nil {
		answer, err := c.Repositories.Create(ctx, connect.NewRequest(want))
		if err != nil {
			return nil, err
		}
		return foundRepository(answer.Msg), nil
	}
	have := f.message.(*hubv1.Repository)
	switch {
	case have.GetType() != want.GetType():
		return nil, errcode.New(errcode.Conflict, "repository %s of the hub is of type %s; choose another name", want.GetName(), have.GetType())
	case !repourl.Same(want.GetType(), have.GetUrl(), want.GetUrl()):
		return nil, errcode.New(errcode.Conflict, "repository %s of the hub has the URL %s, which cannot be changed; choose another name", want.GetName(), have.GetUrl())
	case want.GetCredentials() == nil && have.GetUrl() == want.GetUrl() && manifest.RepositoryOptions(have.GetOptions(), want.GetOptions()) == nil && !want.GetManagement().GetTakeOver():
		// Without a Secret the object says nothing about credentials: those that
		// somebody gave with axle repos stay, also when it is taken over.
		return f, nil
	}
	answer, err := c.Repositories.Update(ctx, connect.NewRequest(&hubv1.UpdateRepositoryRequest{
		Name: want.GetName(), Url: want.GetUrl(), Credentials: want.GetCredentials(), Auth: want.GetAuth(),
		Options: manifest.RepositoryOptions(have.GetOptions(), want.GetOptions()), Management: want.GetManagement(),
	}))
	if err != nil {
		return nil, err
	}
	return foundRepository(answer.Msg), nil
}

func (repositoryCalls) remove(ctx context.Context, c *sdk.Client, _ client.Object, name string, by *hubv1.Manager) (bool, error) {
	if err := stillOurs(ctx, c, name, by); err != nil {
		return false, err
	}
	_, err := c.Repositories.Delete(ctx, connect.NewRequest(&hubv1.DeleteRepositoryRequest{Name: name, Management: &hubv1.Management{By: by}}))
	return err == nil, err
}

// stillOurs returns *ofOthers for a repository that somebody has taken over.
func stillOurs(ctx context.Context, c *sdk.Client, name string, by *hubv1.Manager) error {
	have, err := c.Repositories.Get(ctx, connect.NewRequest(&hubv1.GetRepositoryRequest{Name: name}))
	return others(have, err, by)
}
