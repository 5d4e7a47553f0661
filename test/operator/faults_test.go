package operator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/operator"
)

const project = "apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {name: shop, description: %s}"

func TestDeleteWhileTheHubIsDown(t *testing.T) {
	b := newBed(t)
	b.operate()
	b.apply(fmt.Sprintf(project, "first"))
	p := &v1alpha1.Project{ObjectMeta: meta1("shop", "")}
	b.synchronized(p)
	b.gate.setDown(true)
	if err := b.Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	b.want(p, "Synchronized", "False", "Error", "cannot reach the hub")
	if len(p.Finalizers) != 1 {
		t.Errorf("finalizers %q", p.Finalizers)
	}
	b.gate.setDown(false)
	b.gone(p)
	absent(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "shop"})
}

// An operator that ends between the hub's answer and the status leaves one project,
// which its successor knows as the object's.
func TestKilledBetweenTheCallAndTheStatus(t *testing.T) {
	b := newBed(t)
	created, dead := make(chan struct{}), make(chan struct{})
	b.gate.setAfter("Projects/Create", func() { close(created); <-dead })
	stop := b.operate()
	// With drift detection off, what others made is only shown.
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {name: shop, description: first, reconciliation: {driftDetection: false}}")
	<-created
	b.gate.setAfter("Projects/Create", nil)
	stop()
	close(dead)
	p := &v1alpha1.Project{ObjectMeta: meta1("shop", "")}
	if err := b.Get(t.Context(), key(p), p); err != nil {
		t.Fatal(err)
	}
	if p.Status.ID != nil || len(p.Finalizers) != 1 {
		t.Fatalf("the operator was not killed in between: %+v, finalizers %q", p.Status, p.Finalizers)
	}
	//rest: the operator that made it has ended
	before := ask(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "shop"})

	b.operate()
	b.synchronized(p)
	if p.Status.Readonly || *p.Status.ID != before.GetId() {
		t.Errorf("status %+v, want project %s", p.Status, before.GetId())
	}
	if n := b.gate.count("Projects/Create"); n != 1 {
		t.Errorf("%d creates", n)
	}
	b.deleted(p)
	absent(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "shop"})
}

// Nobody acts with the operator's token from outside the admin namespaces, nor
// reaches out of them.
func TestForeignNamespaces(t *testing.T) {
	b := newBed(t)
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-1"})
	if err := b.Create(t.Context(), &corev1.Secret{ObjectMeta: meta1("git", b.foreign), StringData: map[string]string{"password": "not yours"}}); err != nil {
		t.Fatal(err)
	}
	b.operate()
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceDeployment\nmetadata: {name: web, namespace: " + b.foreign + "}\n" +
		"spec: {cluster: edge-1, git: {url: 'https://git.example', ref: main, folder: web}}")
	s := &v1alpha1.ServiceDeployment{ObjectMeta: meta1("web", b.foreign)}
	b.want(s, "Synchronized", "False", "Error", "no NamespaceCredentials name it")
	if len(s.Finalizers) != 0 {
		t.Errorf("finalizers %q", s.Finalizers)
	}
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: GitRepository\nmetadata: {name: fleet}\n" +
		"spec: {url: 'https://git.example/fleet', credentialsRef: {name: git, namespace: " + b.foreign + "}}")
	r := &v1alpha1.GitRepository{ObjectMeta: meta1("fleet", "")}
	b.want(r, "Synchronized", "False", "Error", "spec.credentialsRef names Secret "+b.foreign+"/git")
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Cluster\nmetadata: {name: edge, namespace: " + b.foreign + "}\nspec: {handle: edge-1}")
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceDeployment\nmetadata: {name: web, namespace: " + b.namespace + "}\n" +
		"spec: {clusterRef: {name: edge, namespace: " + b.foreign + "}, git: {url: 'https://git.example', ref: main, folder: web}}")
	b.want(&v1alpha1.ServiceDeployment{ObjectMeta: meta1("web", b.namespace)}, "Synchronized", "False", "Error", "spec.clusterRef names Cluster "+b.foreign+"/edge")
	if n := b.gate.count(); n != 0 {
		t.Errorf("the hub was called %d times", n)
	}
	b.deleted(s)
}

// A change by others is found at the check, which is a read while nothing changed.
func TestDrift(t *testing.T) {
	b := newBed(t)
	b.operate()
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {name: shop, description: from Git, reconciliation: {interval: 100ms}}")
	b.synchronized(&v1alpha1.Project{ObjectMeta: meta1("shop", "")})
	reads := b.gate.count("Projects/Get")
	eventually.For(b, limit, "three checks", func() error {
		if n := b.gate.count("Projects/Get"); n < reads+3 {
			return fmt.Errorf("%d reads, %d before", n, reads)
		}
		return nil
	})
	if n := b.gate.count("Projects/Create", "Projects/Update"); n != 1 {
		t.Errorf("%d writes without a change", n)
	}
	ask(b, b.people.Projects.Update, &hubv1.UpdateProjectRequest{Name: "shop", Description: new("by Ann"), Management: &hubv1.Management{TakeOver: true}})
	eventually.For(b, limit, "the declared description is back", func() error {
		if have := ask(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "shop"}); have.GetDescription() != "from Git" {
			return fmt.Errorf("%v", have)
		}
		return nil
	})
	// So is a project that the hub lost.
	ask(b, b.people.Projects.Delete, &hubv1.DeleteProjectRequest{Name: "shop", Management: &hubv1.Management{TakeOver: true}})
	eventually.For(b, limit, "the project is back", func() error {
		_, err := b.people.Projects.Get(t.Context(), request(&hubv1.GetProjectRequest{Name: "shop"}))
		return err
	})
}

// A token is replaced in its file, without a restart.
func TestTokenIsReadAgain(t *testing.T) {
	b := newBed(t)
	b.token("not a token")
	b.operate()
	b.apply(fmt.Sprintf(project, "first"))
	p := &v1alpha1.Project{ObjectMeta: meta1("shop", "")}
	b.want(p, "Synchronized", "False", "Error", "token")
	b.token(b.hub.AdminToken)
	b.synchronized(p)
}

// A restart with nothing to do makes no call.
func TestRestartIsQuiet(t *testing.T) {
	b := newBed(t)
	stop := b.operate()
	b.declare()
	// The service alone may be there first: the others would be written after the restart.
	b.synchronized(&v1alpha1.Cluster{ObjectMeta: meta1("edge", b.namespace)})
	b.synchronized(&v1alpha1.GitRepository{ObjectMeta: meta1("fleet", "")})
	b.rest()
	stop()
	before, handled := b.gate.count(), map[string]float64{}
	kinds := []string{"Cluster", "GitRepository", "ServiceDeployment"}
	for _, kind := range kinds {
		handled[kind] = b.reconciles(kind)
	}
	b.operate()
	eventually.For(b, limit, "the new operator looked at everything", func() error {
		for _, kind := range kinds {
			if b.reconciles(kind) == handled[kind] {
				return fmt.Errorf("no %s", kind)
			}
		}
		return nil
	})
	b.rest()
	if now := b.gate.count(); now != before {
		t.Errorf("%d calls after a restart: %v", now-before, b.gate.since(before))
	}
}

// Rights of an older version are told at the start, with the kind and what to do.
func TestRightsThatAreMissing(t *testing.T) {
	b := newBed(t)
	role := &rbacv1.ClusterRole{}
	if err := b.Get(t.Context(), client.ObjectKey{Name: "axle-operator"}, role); err != nil {
		t.Fatal(err)
	}
	for i := range role.Rules {
		role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(r string) bool { return r == "globalservices" })
	}
	if err := b.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", b.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	itself, err := client.New(config, client.Options{Scheme: b.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	eventually.For(b, limit, "the API server knows the new rights", func() error {
		if err := itself.List(t.Context(), &v1alpha1.GlobalServiceList{}); !apierrors.IsForbidden(err) {
			return fmt.Errorf("global services are listed: %v", err)
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	err = operator.Run(ctx, operator.Config{HubURL: b.gate.URL, TokenFile: b.tokenFile, Kubeconfig: b.kubeconfig, Namespace: b.namespace, Timing: quick})
	if !errcode.Is(err, errcode.Forbidden) || !strings.Contains(err.Error(), "may not read the kind GlobalService: apply the rights of this version") {
		t.Errorf("the operator ended with %v", err)
	}
}
