package clusters

import (
	"reflect"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// A pool is shown with what is wanted of it and what there is, also when only one of both is
// known.
func TestPoolsAreThoseOfTheVariablesAndOfTheReport(t *testing.T) {
	list, err := poolsIn(&hubv1.ClusterOrigin{
		Variables: `{"version": "v1.37.0", "nodePools": [{"name": "b", "count": 3}, {"name": "a", "minSize": 1, "maxSize": 5, "count": 2}, {"name": "new", "count": 0}, {"name": "open"}]}`,
		State: &hubv1.MadeState{Pools: []*hubv1.MadeMachines{
			{Name: "b", Phase: "ScalingUp", Desired: 3, Ready: 2, UpToDate: 3, Versions: []string{"v1.36.0", "v1.37.0"}}, {Name: "a", Desired: 4, Ready: 4}, {Name: "gone", Phase: "ScalingDown", Desired: 0, Ready: 1},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var names, bounds []string
	for _, p := range list {
		names, bounds = append(names, p.Name), append(bounds, p.bounds())
	}
	if !reflect.DeepEqual(names, []string{"a", "b", "gone", "new", "open"}) || !reflect.DeepEqual(bounds, []string{"1 to 5", "3", "", "0", ""}) {
		t.Errorf("the pools %q are to have %q", names, bounds)
	}
	if b := list[1]; b.Desired != 3 || b.Ready != 2 || b.UpToDate != 3 || b.Phase != "ScalingUp" || len(b.Versions) != 2 {
		t.Errorf("it is %+v", b)
	}
	if list, err := poolsIn(&hubv1.ClusterOrigin{}); err != nil || len(list) > 0 {
		t.Errorf("of a cluster without variables: %v, %v", list, err)
	}
	if _, err := poolsIn(&hubv1.ClusterOrigin{Variables: `{"nodePools": 1}`}); err == nil {
		t.Error("something else is no pools")
	}
}
