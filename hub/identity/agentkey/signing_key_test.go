package agentkey_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/identity/identitytest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// Agents register at every replica of a hub that just began, and each must
// learn of the key that the others sign with.
func TestReplicasThatBeginTogetherHaveOneSigningKey(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		f := fleettest.New(t, d)
		var signers []*agentkey.Signer
		for range 6 {
			signers = append(signers, identitytest.On(f, nil).Signer)
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

// TestAKeySetHasTheSignaturesOfOneReading checks that a renewal loses no signature
// when another replica's rotation empties the keys in memory at that moment.
func TestAKeySetHasTheSignaturesOfOneReading(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		a, r := env.AddAgent("edge-1")
		for range 2 {
			if _, err := env.RotateSigningKey(t.Context()); err != nil {
				t.Fatal(err)
			}
			env.Fleet.Clock.Advance(49 * time.Hour)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for ctx.Err() == nil {
				_ = env.Signer.Rebuild(ctx)
			}
		}()
		for range 50 {
			renewed, err := env.Renew(t.Context(), a.Renewal(r.ClusterID, env.Fleet.Clock.Now()))
			if err != nil {
				t.Error(err)
				break
			}
			if n := 1 + len(renewed.More); n != 3 {
				t.Errorf("%d signatures, want one of each of 3 keys", n)
				break
			}
		}
		stop()
		<-ended
	})
}

// TestRotationsReachAgentsThatWereOff checks that whichever key an agent pinned
// within a year, a renewal brings the keys in force under a signature that it knows.
func TestRotationsReachAgentsThatWereOff(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		a, r := env.AddAgent("edge-1")
		pinned := r.SigningKeys
		rotate := func() {
			t.Helper()
			made, err := env.RotateSigningKey(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			pinned = append(pinned, made)
			env.Fleet.Clock.Advance(49 * time.Hour)
		}
		for range 3 {
			rotate()
		}
		known := func(renewed agentkey.Renewed, key agentkey.SigningKey) bool {
			payload := agentkey.KeysPayload(renewed.SigningKeys)
			for _, s := range append(renewed.More, renewed.Signature) {
				if s.KeyID == key.ID && ed25519.Verify(key.PublicKey, payload, s.Bytes) {
					return true
				}
			}
			return false
		}
		renewed, err := env.Renew(t.Context(), a.Renewal(r.ClusterID, env.Fleet.Clock.Now()))
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range pinned {
			if !known(renewed, key) {
				t.Errorf("key %d of %d does not vouch for the present ones", i, len(pinned))
			}
		}
		if len(renewed.SigningKeys) != 2 {
			t.Errorf("%d keys are in force, want the last two", len(renewed.SigningKeys))
		}
		env.Fleet.Clock.Advance(366 * 24 * time.Hour)
		_, _ = env.RotateSigningKey(t.Context()) // Conflict when the directory did so by itself
		env.Fleet.Clock.Advance(49 * time.Hour)
		if renewed, err = env.Renew(t.Context(), a.Renewal(r.ClusterID, env.Fleet.Clock.Now())); err != nil {
			t.Fatal(err)
		}
		if known(renewed, pinned[0]) {
			t.Error("a year later, a key that was retired then still vouches")
		}
	})
}

func TestSigningKeysRotateByThemselves(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		if _, err := env.Sign(t.Context(), []byte("list")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- env.Keys.Run(ctx) }()
		count := func() int {
			keys, err := env.SigningKeys(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(keys)
		}
		env.Fleet.Clock.Advance(89 * 24 * time.Hour)
		env.Fleet.Clock.Advance(2 * time.Hour)
		if n := count(); n != 1 {
			t.Errorf("%d keys after 89 days", n)
		}
		err := eventually.Wait(t.Context(), time.Minute, func() error {
			env.Fleet.Clock.Advance(2 * time.Hour)
			if n := count(); n != 2 {
				return fmt.Errorf("%d keys", n)
			}
			return nil
		})
		cancel()
		if err != nil || <-ended != nil {
			t.Error(err)
		}
	})
}

func TestSigningKeysRotate(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		sign := func() agentkey.Signature {
			t.Helper()
			s, err := env.Sign(t.Context(), []byte("list"))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		first := sign()
		second, err := env.RotateSigningKey(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := sign(); got.KeyID != first.KeyID {
			t.Error("a key that agents do not know yet signs")
		}
		_, err = env.RotateSigningKey(t.Context())
		fleettest.WantCode(t, err, errcode.Conflict)
		env.Fleet.Clock.Advance(48 * time.Hour)
		got := sign()
		if got.KeyID != second.ID || !ed25519.Verify(second.PublicKey, []byte("list"), got.Bytes) {
			t.Errorf("signed by %s, want %s", got.KeyID, second.ID)
		}
		if _, err := env.RotateSigningKey(t.Context()); err != nil {
			t.Fatal(err)
		}
		keys, err := env.SigningKeys(t.Context())
		if err != nil || len(keys) != 2 || keys[0].ID != second.ID {
			t.Errorf("keys in force %v, %v", keys, err)
		}
	})
}
