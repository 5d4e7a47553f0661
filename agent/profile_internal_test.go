package agent

import "testing"

func TestProfilesAreForThisMachine(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:6060": true, "localhost:6060": true, "[::1]:1": true, ":6060": false, "0.0.0.0:6060": false, "10.0.0.1:1": false, "x": false} {
		if loopback(address) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
}
