package operator_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// installFlux applies the CRDs of Flux's sources; version replaces v1. They go with the test.
func (b *bed) installFlux(version string) {
	b.Helper()
	names, err := filepath.Glob("testdata/flux/*.yaml")
	if err != nil || len(names) != 4 {
		b.Fatalf("%q, %v", names, err)
	}
	b.fluxGone()
	b.Cleanup(b.removeFlux)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		b.apply(strings.TrimPrefix(strings.ReplaceAll(string(text), "\n    name: v1\n", "\n    name: "+version+"\n"), "---\n"))
	}
	eventually.For(b, limit, "the sources are served", func() error {
		for _, kind := range []string{"Bucket", "GitRepository", "HelmRepository", "OCIRepository"} {
			list := &unstructured.UnstructuredList{}
			list.SetAPIVersion("source.toolkit.fluxcd.io/" + version)
			list.SetKind(kind + "List")
			if err := b.List(b.Context(), list); err != nil {
				return err
			}
		}
		return nil
	})
}

// definitions are the CRDs of Flux's sources.
func definitions() (all []*unstructured.Unstructured) {
	for _, plural := range []string{"buckets", "gitrepositories", "helmrepositories", "ocirepositories"} {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("apiextensions.k8s.io/v1")
		o.SetKind("CustomResourceDefinition")
		o.SetName(plural + ".source.toolkit.fluxcd.io")
		all = append(all, o)
	}
	return all
}

func (b *bed) removeFlux() {
	b.Helper()
	for _, o := range definitions() {
		if err := client.IgnoreNotFound(b.Delete(context.WithoutCancel(b.Context()), o)); err != nil {
			b.Error(err)
		}
	}
}

// fluxGone waits until the CRDs are gone.
func (b *bed) fluxGone() {
	b.Helper()
	for _, o := range definitions() {
		b.vanished(o)
	}
}

// flux applies a source.
func (b *bed) flux(kind, name, namespace, spec string) {
	b.Helper()
	b.apply("apiVersion: source.toolkit.fluxcd.io/v1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nspec: " + spec)
}

func (b *bed) repository(name string) *hubv1.Repository {
	b.Helper()
	return ask(b, b.people.Repositories.Get, &hubv1.GetRepositoryRequest{Name: name})
}

// becomes waits for the repository of the hub.
func (b *bed) becomes(name, what string, is func(*hubv1.Repository) bool) {
	b.Helper()
	eventually.For(b, limit, what, func() error {
		have, err := b.people.Repositories.Get(b.Context(), request(&hubv1.GetRepositoryRequest{Name: name}))
		if err != nil {
			return err
		}
		if !is(have.Msg) {
			return fmt.Errorf("%v", have.Msg)
		}
		return nil
	})
}

// The operator starts without Flux. When its kinds come, the source that a service names
// becomes a repository, and no other one. It follows the source, goes with the last
// service, and nothing is ever written to Flux's objects.
func TestSourcesOfFlux(t *testing.T) {
	b := newBed(t)
	b.operate()
	mark, err := b.cluster.AuditMark()
	if err != nil {
		t.Fatal(err)
	}
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-1"})
	url := b.fleet()
	if _, err := b.git.Commit(t.Context(), "fleet", "next", "add web", map[string]gitserver.Content{"web/config.yaml": gitserver.Content("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: next\n")}); err != nil {
		t.Fatal(err)
	}
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceDeployment\nmetadata: {name: web, namespace: " + b.namespace + "}\n" +
		"spec: {cluster: edge-1, detach: true, sourceRef: {kind: GitRepository, name: podinfo}, git: {folder: web}}")
	s := &v1alpha1.ServiceDeployment{ObjectMeta: meta1("web", b.namespace)}
	b.want(s, "Synchronized", "False", "NotFound", "the cluster has no kind GitRepository of Flux")

	b.installFlux("v1")
	b.want(s, "Synchronized", "False", "NotFound", "GitRepository "+b.namespace+"/podinfo of Flux does not exist")
	for i := range 10 {
		b.flux("HelmRepository", fmt.Sprintf("unused-%d", i), b.namespace, "{interval: 5m, url: 'https://charts.example/unused'}")
		b.flux("Bucket", fmt.Sprintf("unused-%d", i), b.foreign, "{interval: 5m, bucketName: unused, endpoint: minio.example}")
	}
	b.flux("GitRepository", "podinfo", b.namespace, "{interval: 1m, url: '"+url+"', ref: {branch: main}, ignore: '/*.md'}")
	b.synchronized(s)
	name := "gitrepository." + b.namespace + ".podinfo"
	made := &axlev1alpha1.Repository{ObjectMeta: meta1("gitrepository.podinfo", b.namespace)}
	b.synchronized(made)
	if got := strings.Join(made.Status.NotActing, " "); got != "source.spec.ignore source.spec.interval source.spec.timeout" && got != "source.spec.ignore source.spec.interval" {
		t.Errorf("not acting: %s", got)
	}
	web := &hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: "web"}}
	if spec := ask(b, b.people.Services.Get, web).GetSpec(); spec.GetRepository() != name || spec.GetGit().GetRef() != "main" {
		t.Errorf("the service follows %v", spec)
	}
	all := ask(b, b.people.Repositories.List, &hubv1.ListRepositoriesRequest{})
	if len(all.GetRepositories()) != 1 {
		t.Errorf("repositories: %v", all.GetRepositories())
	}
	if by := all.GetRepositories()[0].GetManagedBy(); by.GetTool() != "operator" || !strings.HasSuffix(by.GetId(), "/Repository.axle-cd.github.io/"+b.namespace+"/gitrepository.podinfo") {
		t.Errorf("it is managed by %v", by)
	}

	// Another ref, and a Secret that comes later and changes.
	b.flux("GitRepository", "podinfo", b.namespace, "{interval: 1m, url: '"+url+"', ref: {branch: next}, secretRef: {name: login}}")
	b.want(made, "Synchronized", "False", "NotFound", "Secret "+b.namespace+"/login of spec.secretRef of the source does not exist")
	b.secret("login", b.namespace, map[string]string{"username": "git", "password": "first"})
	b.becomes(name, "it logs in", func(r *hubv1.Repository) bool { return r.GetAuth() == "basic" })
	eventually.For(t, limit, "the service follows the other ref", func() error {
		if ref := ask(b, b.people.Services.Get, web).GetSpec().GetGit().GetRef(); ref != "next" {
			return fmt.Errorf("it follows %s", ref)
		}
		return nil
	})
	b.synchronized(made)
	writes := b.gate.count("Repositories/Update")
	b.secret("login", b.namespace, map[string]string{"username": "git", "password": "second"})
	b.counted(writes+1, "Repositories/Update")
	b.synchronized(made)

	// Another URL without the Secret: the login does not go there.
	moved := strings.Replace(url, "127.0.0.1", "localhost", 1)
	b.flux("GitRepository", "podinfo", b.namespace, "{interval: 1m, url: '"+moved+"', ref: {branch: next}}")
	b.becomes(name, "it moved without its login", func(r *hubv1.Repository) bool { return r.GetUrl() == moved && r.GetAuth() == "none" })

	// Nothing is taken over while it is suspended.
	b.flux("GitRepository", "podinfo", b.namespace, "{interval: 1m, url: '"+url+"', ref: {branch: next}, suspend: true}")
	b.want(made, "Ready", "False", "Suspended", "suspended")
	if have := b.repository(name); have.GetUrl() != moved {
		t.Errorf("a suspended source moved the repository to %s", have.GetUrl())
	}
	b.flux("GitRepository", "podinfo", b.namespace, "{interval: 1m, url: '"+url+"', ref: {branch: next}, suspend: false}")
	b.becomes(name, "it moved back", func(r *hubv1.Repository) bool { return r.GetUrl() == url })

	// The kinds go: nothing is deleted. They come back.
	b.removeFlux()
	b.want(made, "Synchronized", "False", "NotFound", "Flux")
	b.fluxGone()
	b.repository(name)
	b.installFlux("v1")
	b.flux("GitRepository", "podinfo", b.namespace, "{interval: 1m, url: '"+url+"', ref: {branch: next}}")
	b.synchronized(made)

	// The repository goes after the last service that names the source.
	b.deleted(s)
	source := &unstructured.Unstructured{}
	source.SetAPIVersion("source.toolkit.fluxcd.io/v1")
	source.SetKind("GitRepository")
	source.SetName("podinfo")
	source.SetNamespace(b.namespace)
	if err := b.Delete(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, limit, "the Repository goes at its next check", func() error {
		if err := b.Get(t.Context(), key(made), made); err != nil {
			return client.IgnoreNotFound(err)
		}
		made.Annotations["example.com/touched"] = rand.Text()
		return errors.Join(errors.New("still there"), b.Update(t.Context(), made))
	})
	absent(b, b.people.Repositories.Get, &hubv1.GetRepositoryRequest{Name: name})

	events, err := b.cluster.AuditSince(mark)
	if err != nil {
		t.Fatal(err)
	}
	reads := 0
	for _, e := range events.ByUser("system:serviceaccount:" + b.namespace + ":axle-operator") {
		if e.Object.Group != "source.toolkit.fluxcd.io" {
			continue
		}
		reads++
		if e.Verb != "get" && e.Verb != "list" && e.Verb != "watch" {
			t.Errorf("the operator wrote to Flux: %s %s", e.Verb, e.URI)
		}
	}
	if reads == 0 {
		t.Error("the audit log has no request for Flux's objects")
	}
}

// helm.repository names a HelmRepository of Flux, of an older version as well, or else a
// repository of the hub.
func TestHelmRepositoryOfFlux(t *testing.T) {
	b := newBed(t)
	b.installFlux("v1beta2")
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-1"})
	ask(b, b.people.Repositories.Create, &hubv1.CreateRepositoryRequest{Name: "bitnami", Type: "helm", Url: "https://charts.example/bitnami"})
	b.operate()
	b.apply("apiVersion: source.toolkit.fluxcd.io/v1beta2\nkind: HelmRepository\nmetadata: {name: podinfo, namespace: " + b.namespace + "}\nspec: {interval: 5m, url: 'https://charts.example/podinfo'}")
	for chart, repository := range map[string]string{"podinfo": "helmrepository." + b.namespace + ".podinfo", "bitnami": "bitnami"} {
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceDeployment\nmetadata: {name: " + chart + ", namespace: " + b.namespace + "}\n" +
			"spec: {cluster: edge-1, detach: true, helm: {repository: {name: " + chart + ", namespace: " + b.namespace + "}, chart: " + chart + ", version: 1.x}}")
		b.synchronized(&v1alpha1.ServiceDeployment{ObjectMeta: meta1(chart, b.namespace)})
		have := ask(b, b.people.Services.Get, &hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: chart}})
		if got := have.GetSpec().GetHelm().GetRepository(); got != repository {
			t.Errorf("the chart %s is of %q, want %q", chart, got, repository)
		}
	}
}

// A tenant gets neither a source nor a Secret of another namespace, and acts with their
// own account.
func TestSourcesOfFluxOfTenants(t *testing.T) {
	b := newBed(t)
	b.installFlux("v1")
	team := b.tenant("team-a", "edge-1")
	b.issue("team-a", team)
	b.apply(credentials("a", team, team))
	b.secret("login", b.namespace, map[string]string{"username": "git", "password": "of the platform"})
	b.operate()
	url := b.fleet()
	b.flux("GitRepository", "shared", b.namespace, "{interval: 1m, url: '"+url+"', ref: {branch: main}, secretRef: {name: login}}")
	declare := func(name, source string) *v1alpha1.ServiceDeployment {
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceDeployment\nmetadata: {name: " + name + ", namespace: " + team + "}\n" +
			"spec: {cluster: edge-1, detach: true, sourceRef: " + source + ", git: {folder: web}}")
		return &v1alpha1.ServiceDeployment{ObjectMeta: meta1(name, team)}
	}
	// The source of others needs a grant, also to learn whether it exists.
	theirs := declare("theirs", "{kind: GitRepository, name: shared, namespace: "+b.namespace+"}")
	b.want(theirs, "Synchronized", "False", "Error", "no ReferenceGrant in namespace "+b.namespace)
	b.want(declare("guess", "{kind: GitRepository, name: absent, namespace: "+b.namespace+"}"), "Synchronized", "False", "Error", "no ReferenceGrant in namespace "+b.namespace)
	var made axlev1alpha1.RepositoryList
	if err := b.List(t.Context(), &made); err != nil || len(made.Items) != 0 {
		t.Errorf("made without a grant: %v, %v", made.Items, err)
	}

	// Their own source names a Secret by its name: it is the one of their namespace.
	evil := b.git.URL("evil")
	b.flux("GitRepository", "evil", team, "{interval: 1m, url: '"+evil+"', secretRef: {name: login}}")
	declare("evil", "{kind: GitRepository, name: evil}")
	r := &axlev1alpha1.Repository{ObjectMeta: meta1("gitrepository.evil", team)}
	eventually.For(t, limit, "the Repository is made", func() error { return b.Get(t.Context(), key(r), r) })
	b.want(r, "Synchronized", "False", "NotFound", "Secret "+team+"/login of spec.secretRef of the source does not exist")
	b.secret("login", team, map[string]string{"username": "git", "password": "of the team"})
	// Their account may create no repository of the default project.
	b.want(r, "Synchronized", "False", "NotFound", `project "default" does not exist`)
	absent(b, b.people.Repositories.Get, &hubv1.GetRepositoryRequest{Name: "gitrepository." + team + ".evil"})

	// With a grant, the source of the platform is used, with the platform's account.
	b.apply("apiVersion: axle-cd.github.io/v1alpha1\nkind: ReferenceGrant\nmetadata: {name: team, namespace: " + b.namespace + "}\n" +
		"spec: {from: [{group: deployments.plural.sh, kind: ServiceDeployment, namespace: " + team + "}], to: [{group: source.toolkit.fluxcd.io, kind: GitRepository, name: shared}]}")
	b.synchronized(&axlev1alpha1.Repository{ObjectMeta: meta1("gitrepository.shared", b.namespace)})
	b.synchronized(theirs)
}
