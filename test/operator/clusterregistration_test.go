package operator_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/operator"
	"github.com/axle-cd/axle/test/gitserver"
)

// soon is an operator that looks soon at what is not ready.
func soon(b *bed) operator.Config {
	timing := quick
	timing.Pending = 200 * time.Millisecond
	return operator.Config{TokenFile: b.tokenFile, Timing: timing}
}

// play are the files of a cluster template whose clusters are never made: its management
// cluster has no agent.
func play(class string) map[string]gitserver.Content {
	files := map[string]string{
		"template.yaml": "name: play\ndescription: clusters that are only played\n",
		"schema.json": `{"type": "object", "properties": {"note": {"type": "string"}, "region": {"type": "string"}, "version": {"type": "string", "default": "v1.37.0"},
			"nodePools": {"type": "array", "default": [{"name": "first"}], "items": {"type": "object", "properties": {
				"name": {"type": "string"}, "count": {"type": "integer", "default": 2}, "minSize": {"type": "integer"}, "maxSize": {"type": "integer"}, "instanceType": {"type": "string"}}}}}}`,
		"class/class.yaml": `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: ` + class + `}
spec:
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1, kind: PlayClusterTemplate, name: play}}
  workers: {machineDeployments: [{class: workers}]}
  variables:
  - {name: note, schema: {openAPIV3Schema: {type: string}}}
  - {name: region, schema: {openAPIV3Schema: {type: string}}}
  - {name: instanceType, schema: {openAPIV3Schema: {type: string}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1
kind: PlayClusterTemplate
metadata: {name: play}
spec: {template: {spec: {}}}
`,
	}
	out := map[string]gitserver.Content{}
	for name, text := range files {
		out["clusters/play/"+name] = gitserver.Content(text)
	}
	return out
}

// registered registers the template play for the project shop on the management cluster mgmt,
// as it is in Git now.
func (b *bed) registered(name string) {
	b.Helper()
	ask(b, b.people.ClusterTemplates.Apply, &hubv1.ApplyClusterTemplateRequest{Name: name, Settings: &hubv1.ClusterTemplateSettings{
		Repository: "fleet", Ref: "main", Folder: "clusters/play", ManagementClusters: []string{"mgmt"}, Projects: []string{"shop"},
		Kinds: []string{"Cluster.cluster.x-k8s.io", "ClusterClass.cluster.x-k8s.io", "PlayClusterTemplate.infrastructure.cluster.x-k8s.io"},
	}})
}

// templated makes the projects shop and lab, and the template play of shop.
func (b *bed) templated() {
	b.Helper()
	for _, name := range []string{"shop", "lab"} {
		ask(b, b.people.Projects.Create, &hubv1.CreateProjectRequest{Name: name})
	}
	for _, name := range []string{"mgmt", "other"} {
		ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: name})
	}
	ask(b, b.people.Repositories.Create, &hubv1.CreateRepositoryRequest{Name: "fleet", Url: b.fleet()})
	b.commit(play("first"))
	b.registered("play")
}

func (b *bed) commit(files map[string]gitserver.Content) {
	b.Helper()
	if _, err := b.git.Commit(b.Context(), "fleet", "main", "a template", files); err != nil {
		b.Fatal(err)
	}
}

func (b *bed) origin(cluster string) *hubv1.ClusterOrigin {
	b.Helper()
	return ask(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: cluster}).GetOrigin()
}

// variable is one of the variables of a cluster, with defaults.
func (b *bed) variable(cluster, name string) any {
	b.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(b.origin(cluster).GetVariables()), &all); err != nil {
		b.Fatal(err)
	}
	return all[name]
}

func registration(name, namespace string) *axlev1alpha1.ClusterRegistration {
	return &axlev1alpha1.ClusterRegistration{ObjectMeta: meta1(name, namespace)}
}

// unwritten waits until an object could not be written to the hub, and returns why.
func (b *bed) unwritten(o client.Object) (why string) {
	b.Helper()
	eventually.For(b, limit, o.GetName()+" is refused", func() error {
		if err := b.Get(b.Context(), key(o), o); err != nil {
			return err
		}
		c := meta.FindStatusCondition(statusOf(o).Conditions, "Synchronized")
		if c == nil || c.Status != "False" {
			return fmt.Errorf("status %+v", statusOf(o))
		}
		why = c.Message
		b.Logf("%s: %s", o.GetName(), why)
		return nil
	})
	return why
}

// A registration without a template is a row of the hub, and its token in a Secret, which is
// written again when it is gone. The row goes with it.
func TestClusterRegistrationWritesAToken(t *testing.T) {
	b := newBed(t)
	b.operateWith(soon(b))
	b.own("ClusterRegistration", "edge-7", b.namespace, "{tags: {tier: edge}, tokenSecretRef: {name: edge-7}}")
	o := registration("edge-7", b.namespace)
	b.want(o, "Synchronized", "False", "Error", "bind the ClusterRole axle-operator-secrets")
	b.writable(b.namespace)
	b.want(o, "Ready", "False", "Ready", "no agent has registered for the cluster yet")
	have := ask(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: "edge-7"})
	if have.GetId() != *o.Status.ID || have.GetTags()["tier"] != "edge" || o.Status.Registered || o.Status.TokenExpiresAt.IsZero() {
		t.Errorf("the hub has %v, the status is %+v", have, o.Status)
	}
	byHub(b, have.GetManagedBy(), "operator", "/ClusterRegistration.axle-cd.github.io/"+b.namespace+"/edge-7")
	secret := &corev1.Secret{ObjectMeta: meta1("edge-7", b.namespace)}
	if err := b.Get(t.Context(), key(secret), secret); err != nil || len(secret.Data["token"]) == 0 || string(secret.Data["hubURL"]) == "" {
		t.Fatalf("the Secret has %d keys: %v", len(secret.Data), err)
	}
	first := string(secret.Data["token"])
	if all := b.bootstraps(); len(all) != 1 {
		t.Errorf("tokens %v", all)
	}
	if err := b.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, limit, "the Secret has a token again", func() error {
		secret := &corev1.Secret{ObjectMeta: meta1("edge-7", b.namespace)}
		if err := b.Get(t.Context(), key(secret), secret); err != nil || len(secret.Data["token"]) == 0 || string(secret.Data["token"]) == first {
			return fmt.Errorf("%d keys: %w", len(secret.Data), err)
		}
		return nil
	})
	b.own("ClusterRegistration", "edge-7", b.namespace, "{tags: {tier: core}, handle: seven, tokenSecretRef: {name: edge-7}}")
	eventually.For(t, limit, "the change is in the hub", func() error {
		have := ask(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: "edge-7"})
		if have.GetTags()["tier"] != "core" || have.GetHandle() != "seven" {
			return fmt.Errorf("it has %v", have)
		}
		return nil
	})
	b.deleted(o)
	absent(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: "edge-7"})
	if err := b.Get(t.Context(), key(secret), secret); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret stays: %v", err)
	}
}

// A registration with a template makes the cluster, its variables follow, and its deletion is
// refused with the command that destroys the machines, or leaves them.
func TestClusterRegistrationOfATemplate(t *testing.T) {
	b := newBed(t)
	b.templated()
	b.operate()
	declare := func(name, more string) {
		t.Helper()
		b.own("ClusterRegistration", name, b.namespace, "{project: shop, templateRef: {name: play}, managementCluster: mgmt, "+more+"}")
	}
	hostile := `{{ cluster.name }}{% raw %}\n---\nkind: Secret\n$(reboot) ` + "`id`"
	declare("shop-1", `variables: {note: "`+hostile+`", nodePools: [{name: a, count: 2}]}`)
	o := registration("shop-1", b.namespace)
	b.want(o, "Ready", "False", "Ready", "the cluster is Provisioning")
	b.want(o, "Synchronized", "True", "Synchronized", "")
	made := b.origin("shop-1")
	if s := o.Status.ClusterAPI; s == nil || s.Template != "play" || s.Version != "v1.37.0" || s.Commit != made.GetCommit() || s.ManagementCluster != "mgmt" || s.Namespace != made.GetNamespace() {
		t.Errorf("status %+v of %v", s, made)
	}
	if got := b.variable("shop-1", "note"); got != strings.ReplaceAll(hostile, `\n`, "\n") {
		t.Errorf("the note is %q", got)
	}

	// The template moves, and the cluster stays at its commit.
	b.commit(play("second"))
	b.registered("play")
	declare("shop-1", `variables: {nodePools: [{name: a, count: 3}]}`)
	counts := func(n int) func() error {
		return func() error {
			if got := fmt.Sprint(b.variable("shop-1", "nodePools")); got != fmt.Sprintf("[map[count:%d name:a]]", n) {
				return fmt.Errorf("the pools are %s", got)
			}
			return nil
		}
	}
	b.synchronized(o)
	if now := b.origin("shop-1"); now.GetCommit() != made.GetCommit() || b.variable("shop-1", "note") != nil {
		t.Errorf("it was made of %s and is of %v", made.GetCommit(), now)
	}
	eventually.For(t, limit, "the pool has another number", counts(3))
	declare("shop-1", `variables: {reigon: eu}`)
	b.want(o, "Synchronized", "False", "Error", "variables.reigon: is not a variable of the template; did you mean region?")
	declare("shop-1", `variables: {version: v1.36.0}`)
	b.want(o, "Synchronized", "False", "Error", "variables.version: v1.36.0 is lower than v1.37.0")
	declare("shop-1", `variables: {nodePools: [{name: a, count: 4}]}`)
	b.synchronized(o)
	eventually.For(t, limit, "the pool follows again", counts(4))

	// What cannot change is said by the API server.
	for _, spec := range []string{
		"{project: shop, templateRef: {name: other}, managementCluster: mgmt}", "{project: shop, tokenSecretRef: {name: x}}", "{project: shop, templateRef: {name: play}, managementCluster: other}",
		"{project: shop, templateRef: {name: play}}",
	} {
		if err := b.try("apiVersion: axle-cd.github.io/v1alpha1\nkind: ClusterRegistration\nmetadata: {name: shop-1, namespace: " + b.namespace + "}\nspec: " + spec); err == nil {
			t.Errorf("%s was taken", spec)
		}
	}

	// Another object of the same cluster only reads.
	b.own("ClusterRegistration", "rival", b.namespace, "{name: shop-1, project: shop, templateRef: {name: play}, variables: {nodePools: []}}")
	rival := registration("rival", b.namespace)
	b.want(rival, "Readonly", "True", "Readonly", "it is shown and not changed")
	b.deleted(rival)

	if err := b.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	b.want(o, "Ready", "False", "Error", "axle clusters destroy shop-1 --take-over")
	ask(b, b.people.Clusters.Destroy, &hubv1.DestroyClusterRequest{Name: "shop-1", Management: &hubv1.Management{By: &hubv1.Manager{Tool: "cli"}, TakeOver: true}})
	b.gone(o)
	absent(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: "shop-1"})

	declare("shop-2", `detach: true`)
	kept := registration("shop-2", b.namespace)
	b.want(kept, "Synchronized", "True", "Synchronized", "")
	b.deleted(kept)
	absent(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: "shop-2"})
}

// Whoever may create in one project gets nothing of another's: neither its template, nor a
// management cluster that is not the template's, nor its clusters and machines.
func TestAClusterRegistrationOfATenant(t *testing.T) {
	b := newBed(t)
	b.templated()
	lab := b.cluster.Namespace(t)
	b.opened(lab)
	ask(b, b.people.ServiceAccounts.Create, &hubv1.CreateServiceAccountRequest{Name: "lab"})
	ask(b, b.people.Bindings.Create, &hubv1.CreateBindingRequest{SubjectKind: "service_account", Subject: "lab", Actions: []string{"read", "write", "create"}, Place: &hubv1.Place{Project: "lab"}})
	b.issue("lab", lab)
	b.apply(credentials("lab", lab, lab))
	b.operate()
	declare := func(name, spec string) *axlev1alpha1.ClusterRegistration {
		t.Helper()
		b.own("ClusterRegistration", name, lab, spec)
		return registration(name, lab)
	}
	for name, c := range map[string]struct{ spec, want string }{
		"template":   {"{project: lab, templateRef: {name: play}}", "template: play is not for project lab"},
		"project":    {"{project: shop, templateRef: {name: play}}", ""},
		"default":    {"{templateRef: {name: play}}", ""},
		"row":        {"{project: shop, tokenSecretRef: {name: row}}", ""},
		"unknown":    {"{project: lab, templateRef: {name: eks}}", "eks"},
		"of-another": {"{name: mgmt, project: lab, templateRef: {name: play}}", ""},
	} {
		o := declare(name, c.spec)
		if said := b.unwritten(o); !strings.Contains(said, c.want) {
			t.Errorf("%s: %q lacks %q", name, said, c.want)
		}
	}
	// Its own project's limits hold, and the template's list of management clusters.
	mine := func(project string) {
		t.Helper()
		ask(b, b.people.ClusterTemplates.Apply, &hubv1.ApplyClusterTemplateRequest{Name: "mine", Settings: &hubv1.ClusterTemplateSettings{
			Repository: "fleet", Ref: "main", Folder: "clusters/play", ManagementClusters: []string{"mgmt"}, Projects: []string{project},
			Kinds: []string{"Cluster.cluster.x-k8s.io", "ClusterClass.cluster.x-k8s.io", "PlayClusterTemplate.infrastructure.cluster.x-k8s.io"},
		}})
	}
	mine("lab")
	ask(b, b.people.Projects.Update, &hubv1.UpdateProjectRequest{Name: "lab", Limits: &hubv1.ProjectLimits{Machines: 3}})
	b.want(declare("on-other", "{project: lab, templateRef: {name: mine}, managementCluster: other}"), "Synchronized", "False", "Error", `management_cluster: "other" is not one of template mine`)
	b.want(declare("on-none", "{project: lab, templateRef: {name: mine}, managementCluster: none}"), "Synchronized", "False", "Error", `management_cluster: "none" is not one of template mine`)
	b.want(declare("four", "{project: lab, templateRef: {name: mine}, variables: {nodePools: [{name: a, minSize: 1, maxSize: 4}]}}"), "Synchronized", "False", "Error", "project lab has 0 machines, and its limit is 3; this would be 4 more")
	three := declare("three", "{project: lab, templateRef: {name: mine}, variables: {nodePools: [{name: a, count: 2}]}}")
	b.synchronized(three)
	declare("three", "{project: lab, templateRef: {name: mine}, variables: {nodePools: [{name: a, count: 4}]}}")
	b.want(three, "Synchronized", "False", "Error", "project lab has 2 machines, and its limit is 3; this would be 2 more")
	if got := fmt.Sprint(b.variable("three", "nodePools")); got != "[map[count:2 name:a]]" {
		t.Errorf("the pools are %s", got)
	}
	// A template that is no longer for the project makes no more machines there.
	mine("shop")
	declare("three", "{project: lab, templateRef: {name: mine}, variables: {nodePools: [{name: a, count: 3}]}}")
	b.want(three, "Synchronized", "False", "Error", "template: mine is not for project lab")
	mine("lab")
	declare("three", "{project: lab, templateRef: {name: mine}, variables: {nodePools: [{name: a, count: 1}]}}")
	b.synchronized(three)
}
