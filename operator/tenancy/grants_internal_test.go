package tenancy

import (
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
		if have := grants(spec, from, to); have != c.want {
			t.Errorf("%s: %v", name, have)
		}
	}
	if grants(axlev1alpha1.ReferenceGrantSpec{}, from, to) {
		t.Error("an empty grant allows something")
	}
}
