package operator_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
)

// bootstraps are the bootstrap tokens of the hub.
func (b *bed) bootstraps() (all []*hubv1.Token) {
	b.Helper()
	for _, t := range ask(b, b.people.Tokens.List, &hubv1.ListTokensRequest{}).GetTokens() {
		if t.GetKind() == "bootstrap" {
			all = append(all, t)
		}
	}
	return all
}

// A token for clusters is made once, written to a Secret that did not exist, and revoked
// with its object.
func TestRegistrationToken(t *testing.T) {
	b := newBed(t)
	b.operate()
	b.own("RegistrationToken", "edge", b.namespace, "{project: edge, namePattern: 'edge-*', maxUses: 3, lifetime: 2h, tokenSecretRef: {name: edge}}")
	o := &axlev1alpha1.RegistrationToken{ObjectMeta: meta1("edge", b.namespace)}
	b.want(o, "Synchronized", "False", "Error", "bind the ClusterRole axle-operator-secrets")
	if n := b.gate.count("Tokens/CreateBootstrap"); n > 0 {
		t.Errorf("%d tokens were made that cannot be stored", n)
	}
	b.writable(b.namespace)
	b.want(o, "Synchronized", "False", "NotFound", `project "edge" does not exist`)
	ask(b, b.people.Projects.Create, &hubv1.CreateProjectRequest{Name: "edge"})
	b.synchronized(o)
	all := b.bootstraps()
	if len(all) != 1 || all[0].GetId() != *o.Status.ID || all[0].GetProject() != "edge" || all[0].GetUsesLeft() != 3 || o.Status.UsesLeft != 3 || o.Status.ExpiresAt.IsZero() {
		t.Fatalf("tokens %v, status %+v", all, o.Status)
	}
	byHub(b, all[0].GetManagedBy(), "operator", "/RegistrationToken.axle-cd.github.io/"+b.namespace+"/edge")
	secret := &corev1.Secret{ObjectMeta: meta1("edge", b.namespace)}
	if err := b.Get(t.Context(), key(secret), secret); err != nil || len(secret.Data["token"]) == 0 {
		t.Fatalf("the Secret has %d keys: %v", len(secret.Data), err)
	}
	b.idle(o)

	// A Secret that exists is never overwritten.
	b.secret("theirs", b.namespace, map[string]string{"token": "mine"})
	b.own("RegistrationToken", "rival", b.namespace, "{project: edge, tokenSecretRef: {name: theirs}}")
	rival := &axlev1alpha1.RegistrationToken{ObjectMeta: meta1("rival", b.namespace)}
	b.want(rival, "Synchronized", "False", "Error", "exists and was not written for this object")
	b.deleted(rival)
	if len(b.bootstraps()) != 1 {
		t.Errorf("tokens %v", b.bootstraps())
	}
	// One that was revoked is not made again.
	ask(b, b.people.Tokens.Revoke, &hubv1.RevokeTokenRequest{Id: *o.Status.ID})
	made := b.gate.count("Tokens/CreateBootstrap")
	looked := b.gate.count("Tokens/List")
	o.Status.SHA = nil
	if err := b.Status().Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	b.touch(o)
	b.counted(looked+1, "Tokens/List")
	b.synchronized(o)
	if now := b.gate.count("Tokens/CreateBootstrap"); now != made {
		t.Errorf("%d more tokens", now-made)
	}
	b.deleted(o)
	if err := b.Get(t.Context(), key(secret), secret); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret stays: %v", err)
	}
}

// An operator that was killed when the hub had made the token makes another, and the one
// that nobody knows goes.
func TestBootstrapTokenAfterAKill(t *testing.T) {
	b := newBed(t)
	b.writable(b.namespace)
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: edge}\nspec: {name: edge}")
	stop := b.operate()
	b.synchronized(&v1alpha1.Project{ObjectMeta: meta1("edge", "")})
	killed := make(chan struct{})
	b.gate.setAfter("Tokens/CreateBootstrap", func() {
		b.gate.setAfter("Tokens/CreateBootstrap", nil)
		b.gate.setDown(true)
		// The answer is lost: the Secret is not written.
		close(killed)
		panic(http.ErrAbortHandler)
	})
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: BootstrapToken\nmetadata: {name: edge, namespace: " + b.namespace + "}\nspec: {projectRef: {name: edge}, tokenSecretRef: {name: edge, namespace: " + b.namespace + "}}")
	<-killed
	stop()
	b.gate.setDown(false)
	lost := b.bootstraps() //rest: the operator that made it has ended
	if len(lost) != 1 {
		t.Fatalf("tokens %v", lost)
	}
	b.operate()
	o := &v1alpha1.BootstrapToken{ObjectMeta: meta1("edge", b.namespace)}
	b.synchronized(o)
	eventually.For(t, limit, "one token, not the lost one", func() error {
		all := b.bootstraps()
		if len(all) != 1 || all[0].GetId() == lost[0].GetId() || all[0].GetId() != *o.Status.ID {
			return fmt.Errorf("tokens %v", all)
		}
		return nil
	})
	var secret corev1.Secret
	if err := b.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: "edge"}, &secret); err != nil || !strings.Contains(secret.Annotations["axle-cd.github.io/token-id"], *o.Status.ID) {
		t.Errorf("Secret %v: %v", secret.Annotations, err)
	}
	b.deleted(o)
	if all := b.bootstraps(); len(all) > 0 {
		t.Errorf("tokens %v", all)
	}
}

// The operator makes the Secret of a webhook that has none, and a new value in it becomes
// the secret of the same URL.
func TestWebhookSecret(t *testing.T) {
	b := newBed(t)
	b.operate()
	b.own("Webhook", "push", b.namespace, "{provider: github, secretRef: {name: push, key: secret}}")
	o := &axlev1alpha1.Webhook{ObjectMeta: meta1("push", b.namespace)}
	b.want(o, "Synchronized", "False", "Error", "bind the ClusterRole axle-operator-secrets")
	b.writable(b.namespace)
	b.synchronized(o)
	var secret corev1.Secret
	if err := b.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: "push"}, &secret); err != nil || len(secret.Data["secret"]) < 32 || len(secret.OwnerReferences) != 1 {
		t.Fatalf("Secret %v: %v", secret.OwnerReferences, err)
	}
	url := o.Status.URL
	if url == "" {
		t.Errorf("status %+v", o.Status)
	}
	b.idle(o)
	b.secret("push", b.namespace, map[string]string{"secret": "another-secret-of-people"})
	b.counted(2, "Webhooks/Create")
	b.synchronized(o)
	if o.Status.URL != url || len(ask(b, b.people.Webhooks.List, &hubv1.ListWebhooksRequest{}).GetWebhooks()) != 1 {
		t.Errorf("the URL became %s, was %s", o.Status.URL, url)
	}
	b.deleted(o)
}
