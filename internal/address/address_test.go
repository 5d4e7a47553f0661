package address_test

import (
	"testing"

	"github.com/axle-cd/axle/internal/address"
)

func TestHost(t *testing.T) {
	for given, want := range map[string]string{"192.0.2.1:443": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::1", "192.0.2.1": "192.0.2.1", "": ""} {
		if got := address.Host(given); got != want {
			t.Errorf("%q: %q, not %q", given, got, want)
		}
	}
}
