package clustertopology_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/axle-cd/axle/internal/clustertopology"
)

func decoded(t *testing.T, text string) clustertopology.Object {
	t.Helper()
	var o clustertopology.Object
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

const (
	machines = `{"workers": {"machineDeployments": [{"class": "workers"}, {"class": "large"}]},
		"variables": [{"name": "region"}, {"name": "taints"}]}`
	pools = `{"workers": {"machinePools": [{"class": "workers"}]},
		"variables": [{"name": "labels"}, {"name": "minSize"}, {"name": "maxSize"}]}`
)

func TestSpec(t *testing.T) {
	for name, c := range map[string]struct{ class, variables, want string }{
		"only a version": {machines, `{"version": "v1.36.4"}`,
			`{"topology": {"classRef": {"name": "c"}, "version": "v1.36.4"}}`},
		"what every cluster has": {machines, `{"version": "v1.36.4", "controlPlaneCount": 3, "podCIDRs": ["10.0.0.0/16"], "serviceCIDRs": ["10.1.0.0/16"]}`,
			`{"topology": {"classRef": {"name": "c"}, "version": "v1.36.4", "controlPlane": {"replicas": 3}},
			  "clusterNetwork": {"pods": {"cidrBlocks": ["10.0.0.0/16"]}, "services": {"cidrBlocks": ["10.1.0.0/16"]}}}`},
		"a value stays a value": {machines, `{"version": "v1.36.4", "region": "{{ .x }}\n---\nkind: Secret"}`,
			`{"topology": {"classRef": {"name": "c"}, "version": "v1.36.4", "variables": [{"name": "region", "value": "{{ .x }}\n---\nkind: Secret"}]}}`},
		"pools of machines": {machines, `{"version": "v1.36.4", "nodePools": [
				{"name": "a", "count": 2, "labels": {"x": "y"}, "taints": []},
				{"name": "b", "class": "large", "count": 2, "minSize": 1, "maxSize": 5}]}`,
			`{"topology": {"classRef": {"name": "c"}, "version": "v1.36.4", "workers": {"machineDeployments": [
				{"name": "a", "class": "workers", "replicas": 2, "metadata": {"labels": {"x": "y"}}, "variables": {"overrides": [{"name": "taints", "value": []}]}},
				{"name": "b", "class": "large", "metadata": {"annotations": {
					"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "1", "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "5"}}}]}}}`},
		"pools of a provider with labels and bounds of its own": {pools, `{"version": "v1.36.4", "nodePools": [{"name": "a", "count": 3, "labels": {"x": "y"}, "minSize": 1, "maxSize": 5}]}`,
			`{"topology": {"classRef": {"name": "c"}, "version": "v1.36.4", "workers": {"machinePools": [{"name": "a", "class": "workers", "replicas": 3,
				"variables": {"overrides": [{"name": "labels", "value": {"x": "y"}}, {"name": "maxSize", "value": 5}, {"name": "minSize", "value": 1}]}}]}}}`},
		"a class that is not there": {machines, `{"version": "v1.36.4", "nodePools": [{"name": "a", "class": "gone"}]}`,
			`{"topology": {"classRef": {"name": "c"}, "version": "v1.36.4", "workers": {"machineDeployments": [{"name": "a", "class": "gone"}]}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := json.Marshal(clustertopology.Spec(decoded(t, c.class), "c", decoded(t, c.variables)))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := decoded(t, string(made)), decoded(t, c.want); !reflect.DeepEqual(got, want) {
				t.Errorf("got %s\nwant %s", made, c.want)
			}
		})
	}
}

func TestComplete(t *testing.T) {
	schema := decoded(t, `{"properties": {"version": {"default": "v1.36.4"}, "region": {},
		"pools": {"default": [{"name": "a"}], "items": {"properties": {"count": {"default": 2}, "spot": {"default": false}}}}}}`)
	for given, want := range map[string]string{
		`{}`: `{"version": "v1.36.4", "pools": [{"name": "a", "count": 2, "spot": false}]}`,
		`{"version": "v1.37.0", "pools": [{"count": 0, "spot": true}, {}]}`: `{"version": "v1.37.0", "pools": [{"count": 0, "spot": true}, {"count": 2, "spot": false}]}`,
		`{"pools": []}`: `{"version": "v1.36.4", "pools": []}`,
	} {
		before := decoded(t, given)
		if got := clustertopology.Complete(schema, before); !reflect.DeepEqual(got, decoded(t, want)) {
			t.Errorf("%s became %v, want %s", given, got, want)
		}
		if !reflect.DeepEqual(before, decoded(t, given)) {
			t.Errorf("%s was changed", given)
		}
	}
}

func TestMachines(t *testing.T) {
	for variables, want := range map[string]int{
		`{}`: 0,
		`{"controlPlaneCount": 3, "nodePools": [{"name": "a"}, {"count": 0}, {"count": 4}]}`: 8,
		`{"nodePools": [{"count": 2, "minSize": 1, "maxSize": 10}]}`:                         10,
		`{"controlPlaneCount": -3, "nodePools": [{"count": "5"}, "x", {"count": 1e300}]}`:    1<<31 - 1,
	} {
		if got := clustertopology.Machines(decoded(t, variables)); got != want {
			t.Errorf("%s: %d machines, want %d", variables, got, want)
		}
	}
}
