package oidc_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// published are the ids of the keys that a replica publishes; none is a private half.
func (b *bed) published() map[string]bool {
	b.T.Helper()
	r, err := http.NewRequestWithContext(b.T.Context(), http.MethodGet, b.url+"/oidc/keys", nil)
	if err != nil {
		b.T.Fatal(err)
	}
	ids := map[string]bool{}
	keys, _ := b.send(r).body["keys"].([]any)
	for _, k := range keys {
		one, _ := k.(map[string]any)
		if one["d"] != nil || one["p"] != nil || one["use"] != "sig" {
			b.T.Fatalf("a published key: %v", one)
		}
		id, _ := one["kid"].(string)
		ids[id] = true
	}
	return ids
}

// later moves the clock, and waits until each replica has read its database again.
func (b *bed) later(d time.Duration) {
	b.T.Helper()
	b.Fleet.Clock.Advance(d)
	b.AddToken(identity.TokenRequest{Name: "later"})
	for _, r := range b.replicas {
		eventually.For(b.T, limit, "a replica knows its tokens", func() error {
			if _, err := r.Authenticate(b.T.Context(), "axle_nobody"); !errcode.Is(err, errcode.Unauthorized) {
				return fmt.Errorf("authenticate: %w", err)
			}
			return nil
		})
	}
}

// Keys are replaced while tokens live: a new one is published before it signs, on every
// replica, and an old one after it signed last.
func TestKeysAreReplacedWhileTokensLive(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, replicasOn(d))
		b.run()
		b.user("bob@example.com")
		signs := func() string {
			t.Helper()
			kid, _ := headOf(t, b.trade(b.visitor("bob@example.com").authorize(nil).Get("code")).text("id_token"))["kid"].(string)
			if all := b.published(); !all[kid] {
				t.Errorf("%s signs and is not published: %v", kid, all)
			}
			return kid
		}
		count := func(n int) {
			t.Helper()
			for range len(b.replicas) {
				eventually.For(t, limit, "each replica publishes the keys", func() error {
					b.Fleet.Clock.Advance(2 * time.Minute)
					if all := b.published(); len(all) != n {
						return fmt.Errorf("%d keys, want %d", len(all), n)
					}
					return nil
				})
			}
		}
		first := signs()
		count(2)
		b.later(91 * 24 * time.Hour)
		count(4)
		b.later(time.Minute)
		if kid := signs(); kid != first {
			t.Errorf("%s signs as soon as it is published", kid)
		}
		b.later(25 * time.Hour)
		second := signs()
		if second == first || !b.published()[first] {
			t.Errorf("a day later %s signs, and %v are published", second, b.published())
		}
		b.later(8 * 24 * time.Hour)
		count(2)
		if b.published()[first] {
			t.Error("the old key is published a week after it signed last")
		}
	})
}
