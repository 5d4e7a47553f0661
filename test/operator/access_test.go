package operator_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
)

func TestGroup(t *testing.T) {
	b := newBed(t)
	ask(b, b.people.Groups.Create, &hubv1.CreateGroupRequest{Name: "theirs", Description: "by Ann"})
	b.operate()
	declare := func(name, spec string) *v1alpha1.Group {
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Group\nmetadata: {name: " + name + ", namespace: " + b.namespace + "}\nspec: {" + spec + "}")
		return &v1alpha1.Group{ObjectMeta: meta1(name, b.namespace)}
	}
	g := declare("sre", "name: on call, description: first")
	b.synchronized(g)
	b.want(g, "Ready", "True", "Ready", "")
	have := ask(b, b.people.Groups.Get, &hubv1.GetGroupRequest{Name: "on call"})
	if have.GetDescription() != "first" || *g.Status.ID != have.GetId() || len(g.Status.NotActing) != 0 {
		t.Errorf("group %v, status %+v", have, g.Status)
	}
	b.idle(g)

	// Members that others added stay, whatever changes.
	ask(b, b.people.Groups.AddMember, &hubv1.AddMemberRequest{Group: "on call", User: "admin@example.com"})
	declare("sre", "name: on call, description: second, global: true")
	b.synchronized(g)
	if len(g.Status.NotActing) != 2 || g.Status.NotActing[0] != "spec.description" || g.Status.NotActing[1] != "spec.global" {
		t.Errorf("not acting: %q", g.Status.NotActing)
	}
	if have := ask(b, b.people.Groups.Get, &hubv1.GetGroupRequest{Name: "on call"}); have.GetMembers() != 1 {
		t.Errorf("group %v", have)
	}

	// A group that the hub lost is made again, and one of others is only shown.
	ask(b, b.people.Groups.Delete, &hubv1.DeleteGroupRequest{Name: "on call", Management: &hubv1.Management{TakeOver: true}})
	declare("sre", "name: on call, description: third")
	b.synchronized(g)
	ask(b, b.people.Groups.Get, &hubv1.GetGroupRequest{Name: "on call"})
	theirs := declare("theirs", "description: from Git")
	b.want(theirs, "Readonly", "True", "Readonly", "")
	b.deleted(theirs)
	ask(b, b.people.Groups.Get, &hubv1.GetGroupRequest{Name: "theirs"})

	b.gate.setDown(true)
	if err := b.Delete(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	b.want(g, "Synchronized", "False", "Error", "cannot reach the hub")
	b.gate.setDown(false)
	b.gone(g)
	absent(b, b.people.Groups.Get, &hubv1.GetGroupRequest{Name: "on call"})
}

// written returns the token in a Secret once it is another one than before, and as whom
// it acts. One that ends just after it was read is read again: its successor is there then.
func (b *bed) written(name, namespace, before string) (token string, who *hubv1.Identity) {
	b.Helper()
	eventually.For(b, limit, "a token is in Secret "+name, func() error {
		var secret corev1.Secret
		if err := b.Get(b.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &secret); err != nil {
			return err
		}
		if token = string(secret.Data["token"]); token == "" || token == before {
			return fmt.Errorf("the token is %q", token)
		}
		held, err := sdk.New(sdk.Config{URL: b.hub.URL, Token: token})
		if err != nil {
			return err
		}
		answer, err := held.Sessions.WhoAmI(b.Context(), request(&hubv1.WhoAmIRequest{}))
		if err != nil {
			return fmt.Errorf("as whom it acts: %w", err)
		}
		who = answer.Msg
		return nil
	})
	return token, who
}

// refused fails unless the hub refuses a token.
func (b *bed) refused(token string) {
	b.Helper()
	held, err := sdk.New(sdk.Config{URL: b.hub.URL, Token: token})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := held.Sessions.WhoAmI(b.Context(), request(&hubv1.WhoAmIRequest{})); !errcode.Is(err, errcode.Unauthorized) {
		b.Errorf("an old token acts: %v", err)
	}
}

func (b *bed) account(name, spec string) *v1alpha1.ServiceAccount {
	b.Helper()
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceAccount\nmetadata: {name: " + name + "}\nspec: {" + spec + "}")
	return &v1alpha1.ServiceAccount{ObjectMeta: meta1(name, "")}
}

func TestServiceAccount(t *testing.T) {
	b := newBed(t)
	b.operate()
	spec := "email: Edge@example.test, tokenSecretRef: {name: edge, namespace: " + b.namespace + "}"
	a := b.account("edge", spec)
	b.want(a, "Synchronized", "False", "Error", "bind the ClusterRole axle-operator-secrets")
	b.writable(b.namespace)
	b.synchronized(a)
	b.want(a, "ReadyToken", "True", "Ready", "")
	first, who := b.written("edge", b.namespace, "")
	if who.GetName() != "edge.at.example.test" || who.GetId() != *a.Status.ID || strings.Join(who.GetScopes(), " ") != "read write" {
		t.Errorf("the token acts as %v, status %+v", who, a.Status)
	}
	b.idle(a)

	// A Secret that is deleted comes back, with another token.
	secret := &corev1.Secret{ObjectMeta: meta1("edge", b.namespace)}
	if err := b.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	second, _ := b.written("edge", b.namespace, first)

	// Other terms are another token, and the end of the one before.
	b.account("edge", spec+", scopes: [{apis: [cluster.read]}], assumeBindings: []")
	third, who := b.written("edge", b.namespace, second)
	if strings.Join(who.GetScopes(), " ") != "read" {
		t.Errorf("a token for reading has the scopes %q", who.GetScopes())
	}
	b.synchronized(a)
	b.refused(second)
	if len(a.Status.NotActing) != 1 || a.Status.NotActing[0] != "spec.scopes" {
		t.Errorf("not acting: %q", a.Status.NotActing)
	}

	// In another Secret: the one before goes, and so does its token.
	b.account("edge", strings.Replace(spec, "name: edge", "name: moved", 1))
	b.written("moved", b.namespace, "")
	b.synchronized(a)
	if err := b.Get(t.Context(), key(secret), secret); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret before is still there: %v", err)
	}
	b.refused(third)

	b.gate.setDown(true)
	if err := b.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	b.want(a, "Synchronized", "False", "Error", "cannot reach the hub")
	b.gate.setDown(false)
	b.gone(a)
	for _, one := range ask(b, b.people.ServiceAccounts.List, &hubv1.ListServiceAccountsRequest{}).GetAccounts() {
		if one.GetName() == "edge.at.example.test" {
			t.Error("the account is still there")
		}
	}
	if err := b.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: "moved"}, secret); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret is still there: %v", err)
	}
}

// What is not the resource's own is neither overwritten nor handed out.
func TestServiceAccountsOfOthers(t *testing.T) {
	b := newBed(t)
	b.writable(b.namespace)
	for name, admin := range map[string]bool{"bot": false, "root": true, "runs": true} {
		ask(b, b.people.ServiceAccounts.Create, &hubv1.CreateServiceAccountRequest{Name: name, Admin: admin})
	}
	b.token(ask(b, b.people.ServiceAccounts.CreateToken, &hubv1.CreateServiceAccountTokenRequest{Account: "runs", Name: "run", Scopes: []string{"admin"}}).GetSecret())
	b.operate()
	ref := ", tokenSecretRef: {namespace: " + b.namespace + ", name: "
	b.secret("theirs", b.namespace, map[string]string{"token": "theirs"})
	overwrites := b.account("overwrites", "email: new"+ref+"theirs}")
	b.want(overwrites, "Synchronized", "False", "Error", "was not written for this object")
	root := b.account("root", "email: root"+ref+"root}")
	b.want(root, "Synchronized", "False", "Error", "is an administrator")
	bot := b.account("bot", "email: bot"+ref+"bot}")
	b.synchronized(bot)
	if _, who := b.written("bot", b.namespace, ""); who.GetName() != "bot" {
		t.Errorf("an adopted account's token acts as %v", who)
	}
	var secret corev1.Secret
	if err := b.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: "theirs"}, &secret); err != nil || string(secret.Data["token"]) != "theirs" {
		t.Errorf("a Secret of others became %v, %v", secret.Data, err)
	}
	b.deleted(root)
	b.deleted(overwrites)
	if err := b.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: "theirs"}, &secret); err != nil {
		t.Errorf("a Secret of others was deleted: %v", err)
	}
}

// A token is renewed when two thirds of its life are over.
func TestTokenIsRenewed(t *testing.T) {
	b := newBed(t)
	b.writable(b.namespace)
	b.operate()
	a := b.account("short", "email: short, tokenExpiry: 6s, tokenSecretRef: {name: short, namespace: "+b.namespace+"}")
	b.synchronized(a)
	first, _ := b.written("short", b.namespace, "")
	b.written("short", b.namespace, first)
}

func TestFederatedCredential(t *testing.T) {
	b := newBed(t)
	ask(b, b.people.ServiceAccounts.Create, &hubv1.CreateServiceAccountRequest{Name: "other"})
	ask(b, b.people.Federation.Create, &hubv1.CreateTrustRequest{Name: "theirs", Issuer: "https://ci.example", Audience: "hub", Account: "other", Claims: map[string]string{"sub": "a"}})
	b.operate()
	declare := func(name, spec string) *v1alpha1.FederatedCredential {
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: FederatedCredential\nmetadata: {name: " + name + "}\nspec: {issuer: 'https://ci.example', user: edge@example.test, " + spec + "}")
		return &v1alpha1.FederatedCredential{ObjectMeta: meta1(name, "")}
	}
	trust := func() *hubv1.Trust {
		for _, one := range ask(b, b.people.Federation.List, &hubv1.ListTrustsRequest{}).GetTrusts() {
			if one.GetName() == "ci" {
				return one
			}
		}
		return nil
	}
	c := declare("ci", "claimsLike: {sub: 'repo:platform/.*'}")
	b.want(c, "Synchronized", "False", "NotFound", "service account \"edge.at.example.test\" does not exist")
	b.account("edge", "email: edge@example.test")
	b.synchronized(c)
	have := trust()
	if have.GetAudience() != b.gate.URL || have.GetClaims()["sub"] != "/repo:platform/.*/" || have.GetAccount() != "edge.at.example.test" || strings.Join(have.GetScopes(), " ") != "read" || *c.Status.ID != have.GetId() {
		t.Errorf("trust %v, status %+v", have, c.Status)
	}
	b.idle(c)

	declare("ci", "claimsLike: {sub: 'repo:platform/.*', aud: fleet}, scopes: [read, write]")
	b.synchronized(c)
	if have := trust(); have.GetAudience() != "fleet" || len(have.GetClaims()) != 1 || strings.Join(have.GetScopes(), " ") != "read write" {
		t.Errorf("after the change: %v", have)
	}
	declare("ci", "claimsLike: {sub: '.*'}")
	b.want(c, "Synchronized", "False", "Error", "claims")
	declare("ci", "claimsLike: {sub: a}, scopes: [root]")
	b.want(c, "Synchronized", "False", "Error", "root")
	eventually.For(b, limit, "what was refused leaves the trust as it was", func() error {
		if have := trust(); have.GetAudience() != "fleet" {
			return fmt.Errorf("the hub has %v", have)
		}
		return nil
	})

	// One of others is neither shown as this one nor taken over.
	theirs := declare("theirs", "claimsLike: {sub: b}")
	b.want(theirs, "Synchronized", "False", "Error", "exists in the hub and was not created by this object")
	b.deleted(theirs)

	declare("ci", "claimsLike: {sub: a}")
	b.synchronized(c)
	b.gate.setDown(true)
	if err := b.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	b.want(c, "Synchronized", "False", "Error", "cannot reach the hub")
	b.gate.setDown(false)
	b.gone(c)
	if have := trust(); have != nil {
		t.Errorf("still there: %v", have)
	}
}

// An operator that ends between the hub's token and the Secret leaves a token that
// nobody knows; its successor writes another one.
func TestKilledBeforeTheTokenIsWritten(t *testing.T) {
	b := newBed(t)
	b.writable(b.namespace)
	made, dead := make(chan struct{}), make(chan struct{})
	b.gate.setAfter("ServiceAccounts/CreateToken", func() { close(made); <-dead })
	stop := b.operate()
	a := b.account("edge", "email: edge, tokenSecretRef: {name: edge, namespace: "+b.namespace+"}")
	<-made
	b.gate.setAfter("ServiceAccounts/CreateToken", nil)
	stop()
	close(dead)
	var secret corev1.Secret
	if err := b.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: "edge"}, &secret); !apierrors.IsNotFound(err) {
		t.Fatalf("the operator was not killed in between: %v", err)
	}
	b.operate()
	b.synchronized(a)
	if _, who := b.written("edge", b.namespace, ""); who.GetName() != "edge" {
		t.Errorf("the token acts as %v", who)
	}
	if n := b.gate.count("ServiceAccounts/Create"); n != 1 {
		t.Errorf("%d accounts were created", n)
	}
}
