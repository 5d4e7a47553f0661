package operator_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
)

// application is the one of the hub with a name, nil for none.
func (b *bed) application(name string) *hubv1.Application {
	b.Helper()
	objects, _ := b.people.Objects("Application")
	all, err := objects.List(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, one := range all {
		if a := one.(*hubv1.Application); a.GetName() == name {
			return a
		}
	}
	return nil
}

// authenticates reports whether the hub's provider takes the credentials of a client.
func (b *bed) authenticates(id, secret string) bool {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.hub.URL+"/oidc/token", strings.NewReader(url.Values{"grant_type": {"client_credentials"}}.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusUnauthorized {
		b.Fatalf("the provider answered %s", answer.Status)
	}
	return answer.StatusCode == http.StatusOK
}

// held is a Secret, nil for none.
func (b *bed) held(name string) *corev1.Secret {
	b.Helper()
	secret := &corev1.Secret{ObjectMeta: meta1(name, b.namespace)}
	if err := b.Get(b.Context(), key(secret), secret); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		b.Fatal(err)
	}
	return secret
}

func (b *bed) provider(name, annotations, spec string) *v1alpha1.OIDCProvider {
	b.Helper()
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: OIDCProvider\nmetadata: {name: " + name + ", namespace: " + b.namespace + ", annotations: {" + annotations + "}}\nspec: " + spec)
	return &v1alpha1.OIDCProvider{ObjectMeta: meta1(name, b.namespace)}
}

// An OIDCProvider is an application: the operator makes its secret, and the hub's provider
// takes what the Secret has. Nobody may log in without an annotation. A Secret that is
// deleted comes back with another secret, and all goes with the object.
func TestOIDCProvider(t *testing.T) {
	b := newBed(t)
	b.operate()
	spec := "{redirectUris: ['http://127.0.0.1/callback'], credentialsSecretRef: {name: grafana-oidc}}"
	o := b.provider("grafana", "", spec)
	b.want(o, "Synchronized", "False", "Error", "bind the ClusterRole axle-operator-secrets")
	if b.application("grafana") != nil {
		t.Error("the hub has an application whose secret nobody can store")
	}
	b.writable(b.namespace)
	b.want(o, "Ready", "False", "Ready", "nobody may log in yet: name people or groups in the annotations axle-cd.github.io/users")
	a := b.application("grafana")
	if s := a.GetSettings(); s.GetProject() != "default" || len(s.GetUsers())+len(s.GetGroups()) != 0 || s.GetRedirectUris()[0] != "http://127.0.0.1/callback" {
		t.Errorf("settings %v", s)
	}
	byHub(b, a.GetManagedBy(), "operator", "/OIDCProvider.deployments.plural.sh/"+b.namespace+"/grafana")
	b.provider("grafana", "axle-cd.github.io/users: 'ada@example.com, grace@example.com', axle-cd.github.io/groups: sre", spec)
	b.want(o, "Ready", "True", "Ready", "")
	if s := b.application("grafana").GetSettings(); len(s.GetUsers()) != 2 || len(s.GetGroups()) != 1 {
		t.Errorf("settings %v", s)
	}
	first := b.held("grafana-oidc")
	id, secret := string(first.Data["clientId"]), string(first.Data["clientSecret"])
	if id != a.GetId() || string(first.Data["issuer"]) != b.hub.URL+"/oidc" || !b.authenticates(id, secret) || b.authenticates(id, secret+"x") {
		t.Errorf("the Secret has the client %q of %q", id, first.Data["issuer"])
	}
	b.idle(o)
	_, err := b.people.ApplicationClients.Rotate(t.Context(), request(&hubv1.RotateApplicationSecretRequest{Name: "grafana"}))
	if !contains(err, "its secret is in a Secret there: replace it there") || !b.authenticates(id, secret) {
		t.Errorf("a rotation whose secret would reach nobody: %v", err)
	}

	if err := b.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, limit, "another secret is valid", func() error {
		now := b.held("grafana-oidc")
		if now == nil || string(now.Data["clientId"]) != id || string(now.Data["clientSecret"]) == secret || !b.authenticates(id, string(now.Data["clientSecret"])) {
			return fmt.Errorf("Secret %v", now != nil)
		}
		return nil
	})
	if !b.authenticates(id, secret) {
		t.Error("the former secret ended at once: an application that has read it would be out")
	}

	b.provider("grafana", "axle-cd.github.io/groups: sre", "{redirectUris: ['http://127.0.0.1/callback'], credentialsSecretRef: {name: moved}}")
	eventually.For(t, limit, "the Secret moved", func() error {
		if b.held("grafana-oidc") != nil || b.held("moved") == nil {
			return fmt.Errorf("former %v, new %v", b.held("grafana-oidc") != nil, b.held("moved") != nil)
		}
		return nil
	})
	b.deleted(o)
	if b.application("grafana") != nil || b.held("moved") != nil {
		t.Errorf("after the deletion: application %v, Secret %v", b.application("grafana"), b.held("moved") != nil)
	}
}

// The credentials of an existing client are taken over from a Secret that people made, which
// is never written and stays.
func TestOIDCProviderTakesAClientOver(t *testing.T) {
	b := newBed(t)
	b.writable(b.namespace)
	b.operate()
	b.secret("dex", b.namespace, map[string]string{"clientId": "grafana", "clientSecret": "of-the-former-provider"})
	o := b.provider("dashboards", "axle-cd.github.io/users: ada@example.com", "{name: grafana, credentialsSecretRef: {name: dex}}")
	b.want(o, "Ready", "True", "Ready", "")
	if !b.authenticates("grafana", "of-the-former-provider") {
		t.Error("the former secret is refused")
	}
	if got := b.held("dex"); len(got.Data) != 2 || len(got.Annotations) > 1 {
		t.Errorf("the Secret of people has %d keys and %v", len(got.Data), got.Annotations)
	}
	b.secret("dex", b.namespace, map[string]string{"clientSecret": "another-one-of-people"})
	eventually.For(t, limit, "a changed secret is taken over", func() error {
		if !b.authenticates("grafana", "another-one-of-people") {
			return fmt.Errorf("refused")
		}
		return nil
	})
	b.deleted(o)
	if b.held("dex") == nil || b.application("grafana") != nil {
		t.Error("the Secret of people went, or the application stays")
	}

	for name, data := range map[string]map[string]string{
		"has no key clientSecret":              {"password": "of-something-else"},
		"has 5 characters; 16 to 512 are allo": {"clientId": "short", "clientSecret": "short"},
		"has a form that is not for clients":   {"clientId": "sts.amazonaws.com", "clientSecret": "long-enough-to-be-one"},
	} {
		if err := b.Delete(t.Context(), b.held("dex")); err != nil {
			t.Fatal(err)
		}
		b.secret("dex", b.namespace, data)
		o := b.provider("refused", "", "{credentialsSecretRef: {name: dex}}")
		b.want(o, "Synchronized", "False", "Error", name)
		if got := b.held("dex"); len(got.Data) != len(data) || b.application("refused") != nil {
			t.Errorf("%s: the Secret has %d keys, application %v", name, len(got.Data), b.application("refused"))
		}
		b.deleted(o)
	}
	nameless := b.provider("nameless", "", "{credentialsSecretRef: {}}")
	b.want(nameless, "Synchronized", "False", "Error", "spec.credentialsSecretRef: name is missing")
	own := b.provider("own", "", "{credentialsSecretRef: {name: sh.helm.release.v1.x.v1}}")
	b.want(own, "Synchronized", "False", "Error", "Helm's")
	elsewhere := b.provider("elsewhere", "axle-cd.github.io/project: shop", "{credentialsSecretRef: {name: elsewhere}}")
	b.want(elsewhere, "Synchronized", "False", "NotFound", `project "shop" does not exist`)
	ask(b, b.people.Projects.Create, &hubv1.CreateProjectRequest{Name: "shop"})
	b.synchronized(elsewhere)
}
