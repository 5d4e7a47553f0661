package git

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/gitref"
)

// gone accepts what is sent and is then closed by the other end, so that no
// more can be sent.
type gone struct{ asks int }

func (g *gone) Write(p []byte) (int, error) {
	if g.asks == 0 {
		return 0, io.EOF
	}
	g.asks--
	return len(p), nil
}
func (g *gone) Close() error { return io.EOF }

// A server that has answered may close before it receives the end of the
// request. The listing is complete.
func TestListingIsWholeWhenTheServerLeavesAtOnce(t *testing.T) {
	lines := func(all ...string) string {
		text := ""
		for _, line := range all {
			text += fmt.Sprintf("%04x%s", len(line)+4, line)
		}
		return text + "0000"
	}
	id := strings.Repeat("ab", 20)
	for name, tc := range map[string]struct {
		asks int
		says string
	}{
		"protocol 2": {1, lines("version 2\n", "ls-refs\n", "object-format=sha1\n") + lines(id+" refs/heads/main\n")},
		"protocol 0": {0, lines(id+" HEAD\x00symref=HEAD:refs/heads/main\n", id+" refs/heads/main\n")},
	} {
		var seen []string
		ses := &session{in: &gone{tc.asks}, out: strings.NewReader(tc.says)}
		_, err := listSession(ses, gitref.AllPrefixes, func(r gitref.Ref) error {
			seen = append(seen, r.Name)
			return nil
		})
		if err != nil || !strings.Contains(strings.Join(seen, " "), "refs/heads/main") {
			t.Errorf("%s: %v, %v", name, seen, err)
		}
	}
}
