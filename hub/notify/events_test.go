package notify_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/notify"
)

// The page for users has the table of events, and each kind that an event consists of is
// recorded somewhere in the hub.
func TestEventsAreAsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/howto/notifications.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(page)) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` |"); ok && strings.Contains(name, ".") && strings.HasPrefix(line, "| `") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	if len(rows) != len(notify.Events) {
		t.Errorf("the page has %d events and not %d", len(rows), len(notify.Events))
	}
	for i, e := range notify.Events {
		if want := "| `" + e.Name + "` | " + e.Says + " |"; i < len(rows) && rows[i] != want {
			t.Errorf("row %d is\n%s\nwant\n%s", i, rows[i], want)
		}
		for _, kind := range e.Kinds {
			if err := exec.CommandContext(t.Context(), "grep", "-rqF", "--include=*.go", "--exclude=*_test.go", "--exclude-dir=notify", `"`+kind+`"`, "..").Run(); err != nil {
				t.Errorf("nothing in the hub records %s of %s", kind, e.Name)
			}
		}
	}
}
