package tenancy

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
)

func TestGrants(t *testing.T) {
	from := Object{"deployments.plural.sh", "ServiceDeployment", types.NamespacedName{Namespace: "edge", Name: "web"}}
	to := Object{"", "Secret", types.NamespacedName{Namespace: "platform", Name: "keys"}}
	service := axlev1alpha1.ReferenceGrantFrom{Group: from.Group, Kind: from.Kind, Namespace: "edge"}
	secrets := axlev1alpha1.ReferenceGrantTo{Kind: "Secret"}
	keys, others := secrets, secrets
	keys.Name, others.Name = new("keys"), new("others")
	for name, c := range map[string]struct {
		from axlev1alpha1.ReferenceGrantFrom
		to   axlev1alpha1.ReferenceGrantTo
		want bool
	}{
		"all Secrets":           {service, secrets, true},
		"this Secret":           {service, keys, true},
		"another Secret":        {service, others, false},
		"another kind":          {service, axlev1alpha1.ReferenceGrantTo{Kind: "ConfigMap"}, false},
		"another group":         {service, axlev1alpha1.ReferenceGrantTo{Group: "example.com", Kind: "Secret"}, false},
		"from another kind":     {axlev1alpha1.ReferenceGrantFrom{Group: from.Group, Kind: "GitRepository", Namespace: "edge"}, secrets, false},
		"from another group":    {axlev1alpha1.ReferenceGrantFrom{Group: "", Kind: from.Kind, Namespace: "edge"}, secrets, false},
		"from elsewhere":        {axlev1alpha1.ReferenceGrantFrom{Group: from.Group, Kind: from.Kind, Namespace: "core"}, secrets, false},
		"from cluster-scoped":   {axlev1alpha1.ReferenceGrantFrom{Group: from.Group, Kind: from.Kind}, secrets, false},
		"nothing in particular": {},
	} {
		spec := axlev1alpha1.ReferenceGrantSpec{From: []axlev1alpha1.ReferenceGrantFrom{c.from}, To: []axlev1alpha1.ReferenceGrantTo{c.to}}
		if have := grants(spec, from, to, false); have != c.want {
			t.Errorf("%s: %v", name, have)
		}
	}
	if grants(axlev1alpha1.ReferenceGrantSpec{}, from, to, false) {
		t.Error("an empty grant allows something")
	}
}

// A grant to write is for one Secret and does not let anybody read, and one to read
// does not let anybody write.
func TestGrantsToWrite(t *testing.T) {
	from := Object{Group: "deployments.plural.sh", Kind: "GeneratedSecret", NamespacedName: types.NamespacedName{Namespace: "a", Name: "x"}}
	to := Object{Kind: "Secret", NamespacedName: types.NamespacedName{Namespace: "b", Name: "s"}}
	yes, no, s, other := true, false, "s", "other"
	for name, c := range map[string]struct {
		to          axlev1alpha1.ReferenceGrantTo
		read, write bool
	}{
		"all, to read":         {axlev1alpha1.ReferenceGrantTo{Kind: "Secret"}, true, false},
		"this one, to read":    {axlev1alpha1.ReferenceGrantTo{Kind: "Secret", Name: &s, Write: &no}, true, false},
		"this one, to write":   {axlev1alpha1.ReferenceGrantTo{Kind: "Secret", Name: &s, Write: &yes}, false, true},
		"another one to write": {axlev1alpha1.ReferenceGrantTo{Kind: "Secret", Name: &other, Write: &yes}, false, false},
		"all, to write":        {axlev1alpha1.ReferenceGrantTo{Kind: "Secret", Write: &yes}, false, false},
	} {
		spec := axlev1alpha1.ReferenceGrantSpec{
			From: []axlev1alpha1.ReferenceGrantFrom{{Group: from.Group, Kind: from.Kind, Namespace: from.Namespace}}, To: []axlev1alpha1.ReferenceGrantTo{c.to},
		}
		if read, write := grants(spec, from, to, false), grants(spec, from, to, true); read != c.read || write != c.write {
			t.Errorf("%s: reads %v, writes %v", name, read, write)
		}
	}
}

// Who may write objects in the namespace of the control plane must not read its database
// or its key with them, nor change them.
func TestSecretsOfTheControlPlane(t *testing.T) {
	at := func(namespace, name string) Object {
		return Object{Kind: "Secret", NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	}
	of := &Tenancy{admins: map[string]bool{"axle": true}, own: map[types.NamespacedName]bool{at("axle", "axle-db").NamespacedName: true}}
	from := Object{Group: "deployments.plural.sh", Kind: "NotificationSink", NamespacedName: types.NamespacedName{Namespace: "axle", Name: "x"}}
	for to, want := range map[Object]bool{
		at("axle", "axle-db"): false, at("axle", "sh.helm.release.v1.axle.v1"): false, at("axle", "token-of-git"): true,
		{Kind: "ConfigMap", NamespacedName: types.NamespacedName{Namespace: "axle", Name: "axle-db"}}: true,
	} {
		for _, may := range []func(context.Context, string, Object, Object) error{of.MayName, of.MayWrite} {
			if err := may(t.Context(), "spec.secretRef", from, to); (err == nil) != want || err != nil && !strings.Contains(err.Error(), "Secret of its own") {
				t.Errorf("%s %s: %v", to.Kind, to.NamespacedName, err)
			}
		}
	}
}
