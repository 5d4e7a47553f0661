package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/internal/hashchain"
)

// An export is checked without a hub, and the first record that was changed is
// named.
func TestAuditVerifyOfAFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	var end hashchain.End
	for range 3 {
		line := hashchain.Next(end, []byte(`{"actor":"ann"}`))
		if err := lines.Encode(hashchain.Exported{Line: &line}); err != nil {
			t.Fatal(err)
		}
		end = line.End()
	}
	path := filepath.Join(dir, "audit.jsonl")
	run := func(content string) (int, string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		code := Run(context.Background(), []string{"audit", "verify", "--file", path}, Streams{In: strings.NewReader(""), Out: &out, Err: &out})
		return code, out.String()
	}
	if code, out := run(text.String()); code != exitcode.Done || !strings.Contains(out, "3 records") {
		t.Errorf("a whole one: %d, %s", code, out)
	}
	// The second line's record.
	parts := strings.SplitAfter(text.String(), "\n")
	parts[1] = strings.Replace(parts[1], "ann", "bob", 1)
	if code, out := run(strings.Join(parts, "")); code != exitcode.Failed || !strings.Contains(out, "record 2") {
		t.Errorf("an edited one: %d, %s", code, out)
	}
	if code, out := run(`{"gap":{"from":1,"to":5,"reason":"dropped"}}` + "\n"); code != exitcode.Failed || !strings.Contains(out, "1 to 5") {
		t.Errorf("a gap: %d, %s", code, out)
	}
}
