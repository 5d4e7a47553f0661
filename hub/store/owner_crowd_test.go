//go:build soak

package store_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/eventually"
)

// TestTwentyThousandRepositoriesAreOwnedWithinAMinute checks that a hub which starts
// with that many acquires them all and keeps them: leases are acquired in batches
// beside the renewals, and a lease that is held never expires because others are
// still being acquired. In make test shard.TestTwentyThousandLeasesTakeFortyCalls holds
// the number by calls.
func TestTwentyThousandRepositoriesAreOwnedWithinAMinute(t *testing.T) {
	const limit, repositories = time.Minute, 20_000
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t)
		for first := 0; first < repositories; first += 500 {
			err := s.Write(t.Context(), func(ctx context.Context) error {
				for i := first; i < first+500; i++ {
					r := gitcache.Repository{ID: fmt.Sprintf("repo_%05d", i), Name: fmt.Sprintf("r%05d", i), Kind: gitcache.KindGit, URL: "http://127.0.0.1:1/r.git"}
					if _, err := s.CreateRepository(ctx, r, gitcache.Credentials{}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		cache, err := gitcache.New(gitcache.Config{Store: s, Dir: t.TempDir(), Replica: "hub-0", AllowHTTP: true,
			AllowUpstreamCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		began := time.Now()
		go func() { done <- cache.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("cache: %v", err)
			}
		})
		owned, first := 0, time.Time{}
		eventually.For(t, limit, "all are owned", func() error {
			if owned, first, err = s.HeldBy(t.Context(), "hub-0"); err == nil && owned < repositories {
				err = fmt.Errorf("%d of %d are owned", owned, repositories)
			}
			return err
		})
		t.Logf("%d repositories were owned after %v", owned, time.Since(began).Round(time.Millisecond))
		// Longer than a lease, and than its holder's own fence.
		eventually.For(t, 3*limit, "all are held on", func() error {
			n, until, err := s.HeldBy(t.Context(), "hub-0")
			if err == nil && n < repositories {
				t.Fatalf("%d of %d are still owned", n, repositories)
			}
			if err != nil {
				return err
			}
			if until.Before(first.Add(35 * time.Second)) {
				return fmt.Errorf("the oldest was held until %v, which is %v later", until, until.Sub(first))
			}
			return nil
		})
	})
}
