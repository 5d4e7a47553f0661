package generated_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/generated"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/manifest"
)

// nothing is a cluster without objects.
type nothing struct{}

func (nothing) Lookup(context.Context, render.LookupKey) ([]byte, error) { return nil, nil }

// kept renders documents twice, as a renderer does, and returns the applied objects of
// the first render.
func kept(t *testing.T, revision, first, second string) []*unstructured.Unstructured {
	t.Helper()
	a, _, err := manifest.Decode("a.yaml", []byte(first))
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := manifest.Decode("a.yaml", []byte(second))
	if err != nil {
		t.Fatal(err)
	}
	if err := manifest.MarkVolatile(a, b); err != nil {
		t.Fatal(err)
	}
	var rendered []render.Object
	var objects []*unstructured.Unstructured
	for i := range a {
		text, err := a[i].JSON()
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			t.Fatal(err)
		}
		rendered, objects = append(rendered, render.Object{JSON: text, Volatile: a[i].Volatile}), append(objects, object)
	}
	if err := generated.Keep(t.Context(), nothing{}, generated.Service{ID: "s1", Namespace: "shop", Revision: revision}, rendered, objects); err != nil {
		t.Fatal(err)
	}
	return objects
}

// A hook with a random name, a password, and an object that it reads by that name.
func hooks(chance, password string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: init-%[1]s, annotations: {helm.sh/hook: pre-install}}
stringData: {password: %[2]s}
---
apiVersion: batch/v1
kind: Job
metadata: {name: web-migrate-%[1]s, annotations: {helm.sh/hook: pre-install}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a, envFrom: [{secretRef: {name: init-%[1]s}}]}]}}}
---
apiVersion: v1
kind: Pod
metadata: {generateName: web-test-, annotations: {helm.sh/hook: test}}
spec: {restartPolicy: Never, containers: [{name: a, image: a}]}
---
apiVersion: v1
kind: Pod
metadata: {generateName: web-test-, annotations: {helm.sh/hook: test}}
spec: {restartPolicy: Never, containers: [{name: a, image: a}]}
---
apiVersion: batch/v1
kind: Job
metadata: {generateName: nightly-}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
`, chance, password)
}

// TestWhatRunsHasOneNameInARevision: whatever chance says, names and identities
// are the same in each render of a revision, and others in the next.
func TestWhatRunsHasOneNameInARevision(t *testing.T) {
	one := kept(t, "r1", hooks("ab1cd", "hunter22"), hooks("xy2zw", "tr0ub4dor"))
	again := kept(t, "r1", hooks("ab9zz", "correct-horse"), hooks("ab8zz", "battery-staple"))
	next := kept(t, "r2", hooks("ab1cd", "hunter22"), hooks("xy2zw", "tr0ub4dor"))
	names := map[string]bool{}
	for i, prefix := range []string{"init-", "web-migrate-", "web-test-", "web-test-", "nightly-"} {
		name := one[i].GetName()
		switch {
		case !strings.HasPrefix(name, prefix) || len(name) != len(prefix)+8 || one[i].GetGenerateName() != "":
			t.Errorf("%d is called %q, of %q", i, name, one[i].GetGenerateName())
		case names[name]:
			t.Errorf("two are called %s", name)
		case name != again[i].GetName():
			t.Errorf("%s is called %s when it is rendered again", name, again[i].GetName())
		case name == next[i].GetName():
			t.Errorf("%s has its name in the next revision too", name)
		}
		names[name] = true
		identity := func(o *unstructured.Unstructured) string { return o.GetAnnotations()[kubeobj.IdentityAnnotation] }
		if identity(one[i]) == "" || identity(one[i]) != identity(again[i]) {
			t.Errorf("%s is another run: %q, %q", name, identity(one[i]), identity(again[i]))
		}
	}
	text, err := json.Marshal(one[1].Object["spec"])
	if err != nil || !strings.Contains(string(text), one[0].GetName()) {
		t.Errorf("the Job reads a Secret that is not there: %s", text)
	}
	if password, _, _ := unstructured.NestedString(one[0].Object, "stringData", "password"); password != "hunter22" {
		t.Errorf("the password is %q", password)
	}
}

// An object that stays keeps its own name, and has no identity.
func TestWhatStaysIsLeftAlone(t *testing.T) {
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: b, annotations: {helm.sh/hook: post-install}}\nspec: {}\n"
	for _, o := range kept(t, "r1", text, text) {
		if o.GetAnnotations()[kubeobj.IdentityAnnotation] != "" || len(o.GetName()) != 1 {
			t.Errorf("%v", o.Object)
		}
	}
}

// A name that is made up has to be of what runs; a long one is cut.
func TestNamesThatCannotBeKept(t *testing.T) {
	for what, text := range map[string]string{
		"a ConfigMap":           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-%s}\n",
		"an ordinary Job":       "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a-%s}\n",
		"a Pod that stays":      "apiVersion: v1\nkind: Pod\nmetadata: {name: a-%s}\n",
		"an ordered Deployment": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a-%s, annotations: {deployment.plural.sh/sync-hook: pre-sync}}\n",
	} {
		a, _, err := manifest.Decode("chart/templates/a.yaml", fmt.Appendf(nil, text, "x1"))
		if err != nil {
			t.Fatal(err)
		}
		b, _, _ := manifest.Decode("chart/templates/a.yaml", fmt.Appendf(nil, text, "y2"))
		if err := manifest.MarkVolatile(a, b); err == nil || !strings.Contains(err.Error(), "chart/templates/a.yaml") || !strings.Contains(err.Error(), "differs in each render") {
			t.Errorf("%s: %v", what, err)
		}
		generate := strings.Replace(text, "name: a-%s", "generateName: a-", 1)
		if _, _, err := manifest.Decode("a.yaml", []byte(generate)); (err == nil) != (what == "an ordinary Job") {
			t.Errorf("%s without a name: %v", what, err)
		}
	}
	long := strings.Repeat("long-", 20)
	o := kept(t, "r1", "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: "+long+"}\n", "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: "+long+"}\n")
	if name := o[0].GetName(); len(name) != 63 {
		t.Errorf("%q", name)
	}
}
