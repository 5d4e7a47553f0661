package store_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/identity"
)

// Agents register at every replica of a hub that just began, and each must
// learn of the key that the others sign with.
func TestReplicasThatBeginTogetherHaveOneSigningKey(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		y := newYard(t, p)
		var directories []*identity.Directory
		for range 6 {
			d, err := identity.New(identity.Config{Store: y.store, Writer: y.store, Clusters: y.Fleet, Sealer: y.sealer, Clock: y.clock})
			if err != nil {
				t.Fatal(err)
			}
			directories = append(directories, d)
		}
		var all sync.WaitGroup
		begin := make(chan struct{})
		keys, errs := make([][]identity.SigningKey, len(directories)), make([]error, len(directories))
		for i, d := range directories {
			all.Go(func() {
				<-begin
				keys[i], errs[i] = d.SigningKeys(t.Context())
			})
		}
		close(begin)
		all.Wait()
		for i := range keys {
			if errs[i] != nil || len(keys[i]) != 1 {
				t.Fatalf("replica %d has %d keys, %v", i, len(keys[i]), errs[i])
			}
			if diff := cmp.Diff(keys[0], keys[i]); diff != "" {
				t.Errorf("replica %d has another key (-first +this):\n%s", i, diff)
			}
		}
	})
}
