// Package skew compares the version of the command with that of its hub. It
// makes no calls; axle version prints what it returns.
package skew

import (
	"fmt"

	"github.com/Masterminds/semver/v3"
)

// Supported is how many minor versions the command and the hub may be apart.
const Supported = 1

// Warning says that the two versions are further apart than Supported, or have
// other major versions. It is empty if they fit, or if one of them is no
// version.
func Warning(command, hub string) string {
	c, err := semver.NewVersion(command)
	if err != nil {
		return ""
	}
	h, err := semver.NewVersion(hub)
	if err != nil {
		return ""
	}
	apart := max(c.Minor(), h.Minor()) - min(c.Minor(), h.Minor())
	if c.Major() == h.Major() && apart <= Supported {
		return ""
	}
	older := "this command"
	if h.LessThan(c) {
		older = "the hub"
	}
	return fmt.Sprintf("axle %s and its hub %s are more than %d minor version apart; some calls may fail; upgrade %s", command, hub, Supported, older)
}
