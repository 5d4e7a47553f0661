package operator_test

import (
	"errors"
	"strings"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
)

// A GitRepository logs in with the account of a ScmConnection, and follows its Secret.
func TestScmConnection(t *testing.T) {
	b := newBed(t)
	b.operate()
	connection := func(spec string) string {
		return "apiVersion: deployments.plural.sh/v1alpha1\nkind: ScmConnection\nmetadata: {name: git}\nspec: {name: git, type: GITHUB, " + spec + "}"
	}
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: GitRepository\nmetadata: {name: fleet}\nspec: {url: '" + b.fleet() + "', connectionRef: {name: git}}")
	r := &v1alpha1.GitRepository{ObjectMeta: meta1("fleet", "")}
	b.want(r, "Synchronized", "False", "NotFound", "ScmConnection git of spec.connectionRef does not exist")
	base := b.git.URL("fleet")[:strings.LastIndex(b.git.URL("fleet"), "/")]
	b.apply(connection("baseUrl: '" + base + "', tokenSecretRef: {name: token, namespace: " + b.namespace + "}"))
	c := &v1alpha1.ScmConnection{ObjectMeta: meta1("git", "")}
	b.want(c, "Synchronized", "False", "NotFound", "Secret "+b.namespace+"/token of spec.tokenSecretRef does not exist")
	if n := b.gate.count("Repositories/Create"); n != 0 {
		t.Errorf("%d repositories without the account", n)
	}
	b.secret("token", b.namespace, map[string]string{"token": "first"})
	b.synchronized(c)
	b.synchronized(r)
	if have := b.repository("fleet"); have.GetAuth() != "token" {
		t.Errorf("it logs in with %s", have.GetAuth())
	}
	sha := *c.Status.SHA
	writes := b.gate.count("Repositories/Update")
	b.secret("token", b.namespace, map[string]string{"token": "second"})
	b.counted(writes+1, "Repositories/Update")
	eventually.For(t, limit, "the hash of the connection shows the Secret", func() error {
		b.want(c, "Ready", "True", "Ready", "")
		if *c.Status.SHA == sha {
			return errors.New("it is that of the first")
		}
		return nil
	})

	// The account does not follow the connection to another server, nor to a repository of one.
	if err := b.try(connection("baseUrl: 'https://evil.example', tokenSecretRef: {name: token, namespace: " + b.namespace + "}")); err == nil || !strings.Contains(err.Error(), "the server cannot be changed") {
		t.Errorf("the server was changed: %v", err)
	}
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: GitRepository\nmetadata: {name: evil}\nspec: {url: 'https://evil.example/x', connectionRef: {name: git}}")
	b.want(&v1alpha1.GitRepository{ObjectMeta: meta1("evil", "")}, "Synchronized", "False", "Error", "is not sent to https://evil.example/x")
	absent(b, b.people.Repositories.Get, &hubv1.GetRepositoryRequest{Name: "evil"})
}
