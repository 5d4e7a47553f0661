package operator_test

import (
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
)

func TestHelmRepository(t *testing.T) {
	b := newBed(t)
	// What people made is taken over: the hub knows it under this name.
	ask(b, b.people.Repositories.Create, &hubv1.CreateRepositoryRequest{Name: "theirs", Type: "helm", Url: "https://charts.example/theirs"})
	b.operate()
	declare := func(name, url, auth string) *v1alpha1.HelmRepository {
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: HelmRepository\nmetadata: {name: " + name + ", namespace: " + b.namespace + "}\nspec: {url: '" + url + "'" + auth + "}")
		return &v1alpha1.HelmRepository{ObjectMeta: meta1(name, b.namespace)}
	}
	get := func(name string) *hubv1.Repository {
		return ask(b, b.people.Repositories.Get, &hubv1.GetRepositoryRequest{Name: name})
	}
	const basic = ", provider: BASIC, auth: {basic: {username: reader, passwordSecretKeyRef: {name: login, key: pass}}"
	r := declare("charts", "https://charts.example/all", basic+"}")
	b.want(r, "Synchronized", "False", "NotFound", "Secret "+b.namespace+"/login of spec.auth.basic.passwordSecretKeyRef does not exist")
	b.secret("login", b.namespace, map[string]string{"token": "first"})
	b.want(r, "Synchronized", "False", "Error", "has no key pass")
	b.secret("login", b.namespace, map[string]string{"token": "first", "pass": "first"})
	b.synchronized(r)
	if have := get("charts"); have.GetType() != "helm" || have.GetAuth() != "basic" || *r.Status.ID != have.GetId() || r.Finalizers[0] != "deployments.plural.sh/helmrepository-protection" {
		t.Errorf("repository %v, status %+v, finalizers %q", have, r.Status, r.Finalizers)
	}
	byHub(b, get("charts").GetManagedBy(), "operator", "/HelmRepository.deployments.plural.sh/"+b.namespace+"/charts")
	b.want(r, "Ready", "False", "Ready", "the hub")
	b.idle(r)

	// A proxy and another way to log in are updates.
	b.secret("login", b.namespace, map[string]string{"pass": "second"})
	b.counted(1, "Repositories/Update")
	r = declare("charts", "https://charts.example/all", ", provider: BEARER, auth: {proxy: {url: 'http://proxy.example:3128', noproxy: internal}, bearer: {tokenSecretRef: {name: login}}}")
	b.secret("login", b.namespace, map[string]string{"pass": "second"})
	b.want(r, "Synchronized", "True", "Synchronized", "")
	if have := get("charts"); have.GetAuth() != "bearer" || have.GetOptions().GetProxy() != "http://proxy.example:3128" {
		t.Errorf("after the change: %v", have)
	}
	if len(r.Status.NotActing) != 1 || r.Status.NotActing[0] != "spec.auth.proxy.noproxy" {
		t.Errorf("not acting: %q", r.Status.NotActing)
	}

	oci := declare("images", "oci://registry.example/charts", "")
	theirs := declare("theirs", "https://charts.example/theirs", "")
	b.synchronized(oci)
	b.want(theirs, "Readonly", "False", "Readonly", "")
	if have := get("images"); have.GetType() != "oci" || have.GetAuth() != "none" {
		t.Errorf("repository %v", have)
	}
	byHub(b, get("theirs").GetManagedBy(), "operator", "/theirs")

	// A deletion waits for the hub.
	b.gate.setDown(true)
	if err := b.Delete(t.Context(), oci); err != nil {
		t.Fatal(err)
	}
	b.want(oci, "Synchronized", "False", "Error", "cannot reach the hub")
	b.gate.setDown(false)
	b.gone(oci)
	absent(b, b.people.Repositories.Get, &hubv1.GetRepositoryRequest{Name: "images"})
	b.deleted(r)
	absent(b, b.people.Repositories.Get, &hubv1.GetRepositoryRequest{Name: "charts"})
}

// Objects whose URL the hub understands in more than one spelling are written once. What
// people registered in another spelling is taken over; at another URL it is not.
func TestRepositoryURLsStayAsTheyWereWritten(t *testing.T) {
	b := newBed(t)
	for name, url := range map[string]string{"theirs": "https://git.example/acme/app", "others": "https://git.example/acme/other"} {
		ask(b, b.people.Repositories.Create, &hubv1.CreateRepositoryRequest{Name: name, Type: "git", Url: url})
	}
	b.operate()
	declare := func(name, url string) *v1alpha1.GitRepository {
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: GitRepository\nmetadata: {name: " + name + "}\nspec: {url: '" + url + "'}")
		return &v1alpha1.GitRepository{ObjectMeta: meta1(name, "")}
	}
	for name, url := range map[string]string{
		"slash": "https://git.example/acme/app/", "port": "https://git.example:443/acme/app.git", "capitals": "HTTPS://GIT.example/acme/app",
		"user": "https://contoso@dev.azure.com/contoso/shop/_git/app", "escape": "https://git.example/acme/%61pp", "theirs": "https://git.example/acme/app.git",
	} {
		r := declare(name, url)
		b.want(r, "Synchronized", "True", "Synchronized", "")
		if have := ask(b, b.people.Repositories.Get, &hubv1.GetRepositoryRequest{Name: name}); have.GetUrl() != url {
			t.Errorf("the hub has %q of %s", have.GetUrl(), url)
		}
		b.idle(r)
	}
	if n := b.gate.count("Repositories/Update"); n != 1 {
		t.Errorf("%d repositories were updated, not only the one that people registered", n)
	}
	b.want(declare("others", "https://git.example/acme/app"), "Synchronized", "False", "Error", "cannot be changed")
}
