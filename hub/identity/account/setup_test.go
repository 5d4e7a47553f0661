package account_test

import (
	"testing"

	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/identitytest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestSetupWorksOnce(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		parts := identitytest.Replica(fleettest.New(t, d))
		first, err := parts.PrepareSetup(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parts.PrepareSetup(t.Context(), first); err != nil || again != first {
			t.Errorf("a restart made another setup token, %v", err)
		}
		_, err = parts.Setup(t.Context(), first+"x", "ann@example.com")
		fleettest.WantCode(t, err, errcode.Unauthorized)
		_, err = parts.Setup(t.Context(), first, "not an address")
		fleettest.WantCode(t, err, errcode.Invalid)
		made, err := parts.Setup(t.Context(), first, "ann@example.com")
		if err != nil {
			t.Fatal(err)
		}
		ann, err := parts.Authenticate(t.Context(), made.Secret)
		if err != nil || !ann.Admin || ann.Name != "ann@example.com" || ann.Kind != identity.KindUser {
			t.Errorf("first administrator %+v, %v", ann, err)
		}
		_, err = parts.Setup(t.Context(), first, "eve@example.com")
		fleettest.WantCode(t, err, errcode.Unauthorized)
		if after, err := parts.PrepareSetup(t.Context(), first); err != nil || after != "" {
			t.Errorf("a setup token is left after the setup, %v", err)
		}
	})
}
