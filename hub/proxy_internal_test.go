package hub

import (
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
)

func TestAClusterThatIsMadeSaysSo(t *testing.T) {
	made := fleet.Origin{TemplateID: "ctp_a", Management: "mgmt"}
	gone := made
	gone.Destroying = true
	for want, c := range map[string]fleet.Cluster{
		"is being made on cluster mgmt and has no agent yet; axle clusters get a shows how far it is": {Name: "a", Origin: made},
		"is being destroyed": {Name: "a", Origin: gone, RegisteredAt: 1},
	} {
		if have := unmade(c); have != want {
			t.Errorf("%q, want %q", have, want)
		}
	}
	for name, c := range map[string]fleet.Cluster{"it is connected": {Origin: made, RegisteredAt: 1}, "somebody else makes it": {}} {
		if have := unmade(c); have != "" {
			t.Errorf("%s: %q", name, have)
		}
	}
}
