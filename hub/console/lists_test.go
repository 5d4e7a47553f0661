package console_test

import (
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// A list for a project or cluster that does not exist is an error, because an
// empty list would be misleading.
func TestListsOfPlacesThatAreNotThere(t *testing.T) {
	b := newBed(t)
	refused(t, b.services.List, &hubv1.ListServicesRequest{Cluster: "edge-9"}, errcode.NotFound, "cluster edge-9")
	refused(t, b.services.List, &hubv1.ListServicesRequest{Project: "nowhere"}, errcode.NotFound, `project "nowhere"`)
	refused(t, b.clusters.List, &hubv1.ListClustersRequest{Project: "nowhere"}, errcode.NotFound, `project "nowhere"`)
	refused(t, b.repositories.List, &hubv1.ListRepositoriesRequest{Project: "nowhere"}, errcode.NotFound, `project "nowhere"`)
	must(t, b.clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-1"})
	if all := must(t, b.services.List, &hubv1.ListServicesRequest{Cluster: "edge-1", Project: "default"}).GetServices(); len(all) != 0 {
		t.Errorf("a cluster without services has %d", len(all))
	}
}
