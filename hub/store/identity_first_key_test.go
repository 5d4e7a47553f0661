package store_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/identity/agentkey"
)

// Agents register at every replica of a hub that just began, and each must
// learn of the key that the others sign with.
func TestReplicasThatBeginTogetherHaveOneSigningKey(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		y := newYard(t, p)
		var signers []*agentkey.Signer
		for range 6 {
			signers = append(signers, y.identities(t, unchanged).Signer)
		}
		var all sync.WaitGroup
		begin := make(chan struct{})
		keys, errs := make([][]agentkey.SigningKey, len(signers)), make([]error, len(signers))
		for i, s := range signers {
			all.Go(func() {
				<-begin
				keys[i], errs[i] = s.SigningKeys(t.Context())
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
