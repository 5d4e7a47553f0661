package operator_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
)

// A compatibility matrix is written as it is declared, what breaks a rule is named by its
// path, and the hub has none when the object is gone.
func TestMatricesAreDeclared(t *testing.T) {
	b := newBed(t)
	b.operate()
	declare := func(versions string) client.Object {
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: CustomCompatibilityMatrix\nmetadata: {name: edge-proxy}\nspec: {versions: [" + versions + "]}")
		return &v1alpha1.CustomCompatibilityMatrix{ObjectMeta: meta1("edge-proxy", "")}
	}
	objects, _ := b.people.Objects("CustomCompatibilityMatrix")
	has := func(want string) {
		t.Helper()
		all, err := objects.List(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, one := range all {
			for _, v := range one.(*hubv1.CustomCompatibilityMatrix).GetSettings().GetVersions() {
				got += v.GetVersion() + " "
			}
		}
		if got != want {
			t.Errorf("the hub has %q, want %q", got, want)
		}
	}
	o := declare("{version: 1.4.0, kube: ['1.36']}")
	b.synchronized(o)
	has("1.4.0 ")
	b.idle(o)
	declare("{version: 1.4.0, kube: ['1.36']}, {version: 1.5.0, kube: ['1.37'], summary: {breakingChanges: [the port is 8443]}}")
	b.synchronized(o)
	has("1.4.0 1.5.0 ")
	declare("{version: 1.4.0, kube: ['1.36']}, {version: 1.6.0, kube: [latest]}")
	b.want(o, "Synchronized", "False", "Error", `versions[1].kube: "latest" is not valid`)
	has("1.4.0 1.5.0 ")
	if err := b.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	b.gone(o)
	has("")
}
