package hub

import (
	"testing"

	"github.com/axle-cd/axle/internal/errcode"
)

// A second process on one data folder is refused, whatever the database is, and the folder is
// free when the first has ended.
func TestSecondReplicaOnOneFolderIsRefused(t *testing.T) {
	dir := t.TempDir()
	first, err := lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := lockFolder(dir); !errcode.Is(err, errcode.Conflict) {
		t.Errorf("%v, %v", second, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := lockFolder(dir); err != nil {
		t.Errorf("the folder is not free: %v", err)
	}
}
