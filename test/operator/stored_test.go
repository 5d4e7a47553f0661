package operator_test

import (
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
)

// TestStoredSecrets applies what axle export writes for objects with secrets: the hub's
// stay, and an object whose secrets the hub does not have is refused.
func TestStoredSecrets(t *testing.T) {
	b := newBed(t)
	const proxy = "http://proxy.example:3128"
	ask(b, b.people.Repositories.Create, &hubv1.CreateRepositoryRequest{
		Name: "charts", Type: "helm", Url: "https://charts.example/all", Options: &hubv1.RepositoryOptions{Proxy: proxy},
		Credentials: &hubv1.RepositoryCredentials{Username: "reader", Password: "s3cret"},
	})
	b.operate()
	const keeps = ", annotations: {axle-cd.github.io/stored-secrets: "
	declare := func(values string) {
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceContext\nmetadata: {name: shared, namespace: " + b.namespace + keeps + "key}}\nspec: {configuration: " + values + "}")
	}
	declare("{size: 1}")
	c := &v1alpha1.ServiceContext{ObjectMeta: meta1("shared", b.namespace)}
	b.want(c, "Synchronized", "False", "Error", `the annotation axle-cd.github.io/stored-secrets keeps "key", which the hub does not have`)
	absent(b, b.people.Contexts.Get, &hubv1.GetContextRequest{Name: "shared"})
	ask(b, b.people.Contexts.Create, &hubv1.CreateContextRequest{Context: &hubv1.Context{Name: "shared", Values: "{}", Secrets: map[string]string{"key": "hidden"}}})
	declare("{size: 2}")
	b.synchronized(c)
	have := ask(b, b.people.Contexts.Get, &hubv1.GetContextRequest{Name: "shared"})
	if _, kept := have.GetSecrets()["key"]; have.GetValues() != `{"size":2}` || !kept {
		t.Errorf("context %v", have)
	}

	charts := func(annotation string) {
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: HelmRepository\nmetadata: {name: charts, namespace: " + b.namespace + keeps + "credentials" + annotation + "}}\n" +
			"spec: {url: 'https://charts.example/all', auth: {proxy: {url: '" + proxy + "'}}}")
	}
	charts("")
	r := &v1alpha1.HelmRepository{ObjectMeta: meta1("charts", b.namespace)}
	b.synchronized(r)
	// A resource without its status, such as one from a backup, is written again.
	r.Status.SHA = nil
	if err := b.Status().Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	charts(", note: again")
	eventually.For(b, limit, "it is written again", func() error {
		err := b.Get(t.Context(), client.ObjectKeyFromObject(r), r)
		if err == nil && r.Status.SHA == nil {
			err = errors.New("it has no hash")
		}
		return err
	})
	if have := ask(b, b.people.Repositories.Get, &hubv1.GetRepositoryRequest{Name: "charts"}); have.GetAuth() != "basic" || have.GetOptions().GetProxy() != proxy {
		t.Errorf("the credentials did not stay: %v", have)
	}
}
