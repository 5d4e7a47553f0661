package apply

import (
	"slices"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// A prune deletes what its set manages: nothing of others, and nothing that is being deleted.
func TestAPruneKeepsWhatOthersManage(t *testing.T) {
	fleet := &hubv1.Manager{Tool: "apply", Id: "fleet"}
	names, err := present([]*hubv1.GlobalService{
		{Name: "own", ManagedBy: fleet}, {Name: "leaving", ManagedBy: fleet, Deleting: true},
		{Name: "other-set", ManagedBy: &hubv1.Manager{Tool: "apply", Id: "shop"}}, {Name: "nobodys"},
	}, nil, fleet, (*hubv1.GlobalService).GetName)
	if err != nil || !slices.Equal(names, []string{"own"}) {
		t.Errorf("%q, %v", names, err)
	}
}
