package cli_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/pages"
)

// TestThePagesOfSignIns runs the commands of the how-tos as they stand there, and the object
// that one of them shows, on a real hub.
func TestThePagesOfSignIns(t *testing.T) {
	all, err := pages.Commands("..", "axle")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := pages.Blocks("../docs/howto/add-an-application.md", "yaml")
	if err != nil || len(shown) != 1 {
		t.Fatal(len(shown), err)
	}
	s := newShell(t)
	t.Chdir(s.dir)
	for _, line := range []string{"projects create shop", "clusters create edge-1 --project shop", "groups create shop-admins", "groups create shop-editors"} {
		s.exits(0, line)
	}
	s.write("secret.txt", "a secret of the former provider\n")
	ran := 0
	for _, c := range all {
		if c.Page != "docs/howto/add-an-application.md" && c.Page != "docs/howto/put-a-login-in-front.md" || c.Named {
			continue
		}
		line := strings.Join(c.Words, " ")
		if strings.Contains(line, "--client-id") { // a client that there was before the hub's
			s.exits(0, "applications delete grafana --yes")
		}
		ran++
		if code, out, errs := s.run(line); code != 0 {
			t.Errorf("%s:%d: axle %s: exit %d: %s%s", c.Page, c.Line, line, code, out, errs)
		}
	}
	if ran < 6 {
		t.Errorf("only %d commands were found", ran)
	}
	s.exits(0, "applications delete grafana --yes")
	s.exits(0, "apply -f "+s.write("grafana.yaml", shown[0].Text), "grafana")
	for _, line := range []string{"applications client grafana", "applications client wiki", "applications logins"} {
		s.exits(0, line)
	}
}
