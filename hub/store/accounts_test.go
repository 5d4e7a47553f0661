package store_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// commit runs fn in a transaction.
func commit(t *testing.T, s *store.Store, fn func(ctx context.Context) error) {
	t.Helper()
	if err := s.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func TestPasswordsAndPasskeysAreKept(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t)
		if _, err := s.Password(t.Context(), "usr_x"); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("no password: %v", err)
		}
		want := account.StoredPassword{UserID: "usr_x", Hash: "h", ChangedAt: 5, SealedTOTP: "t", TOTPStep: 7}
		commit(t, s, func(ctx context.Context) error {
			return s.PutPassword(ctx, account.StoredPassword{UserID: "usr_x", Hash: "old"})
		})
		commit(t, s, func(ctx context.Context) error { return s.PutPassword(ctx, want) })
		if got, err := s.Password(t.Context(), "usr_x"); err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
		for step, fresh := range map[int64]bool{7: false, 6: false} {
			commit(t, s, func(ctx context.Context) error {
				if ok, err := s.UseTOTPStep(ctx, "usr_x", step); ok != fresh || err != nil {
					t.Errorf("step %d: %v %v", step, ok, err)
				}
				return nil
			})
		}
		commit(t, s, func(ctx context.Context) error {
			if ok, err := s.UseTOTPStep(ctx, "usr_x", 8); !ok || err != nil {
				t.Errorf("the next step: %v %v", ok, err)
			}
			return nil
		})
		key := account.Passkey{ID: "k1", UserID: "usr_x", Name: "phone", Credential: "{}", CreatedAt: 1}
		commit(t, s, func(ctx context.Context) error { return s.InsertPasskey(ctx, key) })
		fleettest.WantCode(t, s.Write(t.Context(), func(ctx context.Context) error { return s.InsertPasskey(ctx, key) }), errcode.Conflict)
		key.Credential, key.LastUsedAt = `{"n":2}`, 9
		commit(t, s, func(ctx context.Context) error { return s.UpdatePasskey(ctx, key) })
		if got, err := s.Passkeys(t.Context(), "usr_x"); err != nil || len(got) != 1 || got[0] != key {
			t.Errorf("%+v, %v", got, err)
		}
		commit(t, s, func(ctx context.Context) error {
			if ok, err := s.DeletePasskey(ctx, "usr_other", "k1"); ok || err != nil {
				t.Errorf("somebody else's: %v %v", ok, err)
			}
			if ok, err := s.DeletePasskey(ctx, "usr_x", "k1"); !ok || err != nil {
				t.Errorf("their own: %v %v", ok, err)
			}
			return nil
		})
	})
}

func TestDevicesAreBoundedAndOnce(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t)
		device := func(hash, code, source string, created int64) account.Device {
			return account.Device{Hash: []byte(hash), UserCode: code, Source: source, Scopes: []string{"read"}, Interval: 5, CreatedAt: created, ExpiresAt: 1000}
		}
		for _, d := range []account.Device{device("h1", "A", "x", 1), device("h2", "B", "x", 2), device("h3", "C", "y", 0)} {
			commit(t, s, func(ctx context.Context) error { return s.InsertDevice(ctx, d) })
		}
		fleettest.WantCode(t, s.Write(t.Context(), func(ctx context.Context) error { return s.InsertDevice(ctx, device("h9", "A", "x", 1)) }), errcode.Conflict)
		if all, own, err := s.CountDevices(t.Context(), "x", 999); all != 3 || own != 2 || err != nil {
			t.Errorf("%d, %d, %v", all, own, err)
		}
		commit(t, s, func(ctx context.Context) error { return s.DropBusiestDevice(ctx, 999) })
		if _, err := s.Device(t.Context(), []byte("h1")); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("the oldest of the busiest: %v", err)
		}
		changed, err := s.DeviceByUserCode(t.Context(), "B")
		if err != nil {
			t.Fatal(err)
		}
		changed.UserID, changed.UserToken, changed.PolledAt, changed.Interval = "u", "t", 7, 10
		commit(t, s, func(ctx context.Context) error { return s.UpdateDevice(ctx, changed) })
		got, err := s.Device(t.Context(), []byte("h2"))
		if diff := cmp.Diff(changed, got); diff != "" || err != nil {
			t.Errorf("%s %v", diff, err)
		}
		commit(t, s, func(ctx context.Context) error { return s.DeleteDevice(ctx, []byte("h2")) })
		commit(t, s, func(ctx context.Context) error { return s.UseOnce(ctx, "state a", 500) })
		fleettest.WantCode(t, s.Write(t.Context(), func(ctx context.Context) error { return s.UseOnce(ctx, "state a", 500) }), errcode.Conflict)
		commit(t, s, func(ctx context.Context) error { return s.DropSessions(ctx, 2000) })
		commit(t, s, func(ctx context.Context) error { return s.UseOnce(ctx, "state a", 500) })
		if all, _, err := s.CountDevices(t.Context(), "", 0); all != 0 || err != nil {
			t.Errorf("%d devices that expired, %v", all, err)
		}
	})
}
