package manifest_test

import (
	"strings"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// The fields of a Cluster with a Provider become variables, as values, and a Provider in the
// same files is nothing by itself.
func TestClusterOfAProvider(t *testing.T) {
	const group = "apiVersion: deployments.plural.sh/v1alpha1\n"
	for _, tt := range []struct{ provider, cluster, variables, wrong string }{
		{"{cloud: aws, name: eks}", "{providerRef: {name: p}}", `{}`, ""},
		{"{cloud: aws, name: eks}", "{providerRef: {name: p}, version: '1.37.0'}", `{"version":"v1.37.0"}`, ""},
		{"{cloud: aws, name: eks}", "{providerRef: {name: p}, version: '{{ x }}$(id)'}", `{"version":"{{ x }}$(id)"}`, ""},
		{"{cloud: gcp, name: eks}", "{providerRef: {name: p}, cloud: gcp, cloudSettings: {aws: {region: a}, gcp: {project: b, network: c, region: d}}}", `{"network":"c","project":"b","region":"d"}`, ""},
		{"{cloud: aws, name: eks}", "{providerRef: {name: p}, nodePools: [{name: a, instanceType: b, minSize: 1, maxSize: 2, labels: {c: d}, taints: [{key: e, value: f, effect: NoSchedule}], cloudSettings: {aws: {launchTemplateId: g}}}]}",
			`{"nodePools":[{"instanceType":"b","labels":{"c":"d"},"launchTemplateId":"g","maxSize":2,"minSize":1,"name":"a","taints":[{"effect":"NoSchedule","key":"e","value":"f"}]}]}`, ""},
		{"{cloud: azure, name: aks}", "{providerRef: {name: p}}", "", "spec.cloud: there is no cluster template for azure yet"},
		{"{cloud: aws, name: eks}", "{providerRef: {name: q}}", "", "Provider q of spec.providerRef is not among the files"},
		{"{cloud: aws, name: eks}", "{providerRef: {name: p}, cloud: gcp}", "", "spec.cloud is gcp, and Provider p is of aws"},
	} {
		items, err := read(t, group+"kind: Cluster\nmetadata: {name: shop-1, namespace: team}\nspec: "+tt.cluster+"\n---\n"+group+"kind: Provider\nmetadata: {name: p}\nspec: "+tt.provider)
		if tt.wrong != "" {
			if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s of %s: %v, want %s", tt.cluster, tt.provider, err, tt.wrong)
			}
			continue
		}
		if err != nil || len(items) != 1 {
			t.Errorf("%s of %s: %d items, %v", tt.cluster, tt.provider, len(items), err)
			continue
		}
		made, _ := items[0].Request.(*hubv1.CreateClusterRequest)
		if from := made.GetFromTemplate(); from.GetTemplate() != "eks" || from.GetVariables() != tt.variables || items[0].Cluster.GetVariables() != tt.variables || made.GetName() != "shop-1" || len(items[0].NotActing) > 0 {
			t.Errorf("%s of %s: %v, not acting %v", tt.cluster, tt.provider, made, items[0].NotActing)
		}
	}
	// What a ClusterSync wrote for a cluster of the hub makes none.
	items, err := read(t, group+"kind: Cluster\nmetadata: {name: shop-1, annotations: {axle-cd.github.io/cluster-id: cl_1}}\nspec: {providerRef: {name: p}}")
	if err != nil || len(items) != 1 || items[0].Request != nil || len(items[0].NotActing) != 1 {
		t.Errorf("%v, %v", items, err)
	}
}
