package skew_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli/skew"
)

func TestWarning(t *testing.T) {
	for name, tc := range map[string]struct{ command, hub, want string }{
		"the same":          {"1.4.0", "1.4.2", ""},
		"one behind":        {"1.3.9", "v1.4.0", ""},
		"one ahead":         {"v1.5.0-rc.1", "1.4.0", ""},
		"two behind":        {"1.2.0", "1.4.0", "upgrade this command"},
		"two ahead":         {"1.6.0", "1.4.0", "upgrade the hub"},
		"another major":     {"1.4.0", "2.4.0", "upgrade this command"},
		"no hub":            {"1.4.0", "", ""},
		"a commit":          {"main-3f2a9c1", "1.4.0", ""},
		"development build": {"0.1.0-dev", "0.1.0-dev", ""},
	} {
		if got := skew.Warning(tc.command, tc.hub); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q in it", name, got, tc.want)
		}
	}
}
