package kube

import (
	"fmt"
	"maps"
	"testing"
)

// TestEachKeyIsWrittenBackWithItsOwnRevision finds that no two keys come back with one revision,
// of which an API server's watch may lose the second.
func TestEachKeyIsWrittenBackWithItsOwnRevision(t *testing.T) {
	c, err := Lease(t.Context(), ClusterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	first := &state{Keys: maps.Clone(c.first.Keys)}
	const lost = 20
	for n := range lost {
		first.Keys[fmt.Sprintf("lost/%d", n)] = entry{Value: []byte("value")}
	}
	if err := c.writeBack(t.Context(), first); err == nil {
		t.Error("keys that were gone were no change")
	}
	revisions := map[int64]bool{}
	for n := range lost {
		revisions[first.Keys[fmt.Sprintf("lost/%d", n)].Revision] = true
	}
	if len(revisions) != lost {
		t.Errorf("%d keys were written with %d revisions", lost, len(revisions))
	}
	if err := c.Close(); err != nil { // which deletes them
		t.Error(err)
	}
}
