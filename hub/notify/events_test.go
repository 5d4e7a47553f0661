package notify_test

import (
	"io/fs"
	"os"
	"path/filepath"
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
	hub := sources(t)
	for i, e := range notify.Events {
		if want := "| `" + e.Name + "` | " + e.Says + " |"; i < len(rows) && rows[i] != want {
			t.Errorf("row %d is\n%s\nwant\n%s", i, rows[i], want)
		}
		for _, kind := range e.Kinds {
			if !strings.Contains(hub, `"`+kind+`"`) {
				t.Errorf("nothing in the hub records %s of %s", kind, e.Name)
			}
		}
	}
}

// sources are those of the hub but this package and tests.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "notify":
			return fs.SkipDir
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(file)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
