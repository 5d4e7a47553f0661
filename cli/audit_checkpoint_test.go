package cli_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the hub's database

	"github.com/axle-cd/axle/cli"
	"github.com/axle-cd/axle/hub/hubtest"
)

// auditing runs axle against a hub and returns its output.
func auditing(t *testing.T, h *hubtest.Hub, args ...string) (code int, text string) {
	t.Helper()
	t.Setenv("AXLE_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	t.Setenv("AXLE_HUB_URL", h.URL)
	t.Setenv("AXLE_TOKEN", h.AdminToken)
	var out bytes.Buffer
	code = cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
	return code, out.String()
}

// Somebody truncates the log in the database of a hub whose own memory is lost: the
// rest is consistent, but the checkpoint that was stored elsewhere reveals it, at the
// hub and in an export.
func TestCheckpointKeptElsewhereShowsACutLog(t *testing.T) {
	dir, safe := t.TempDir(), filepath.Join(t.TempDir(), "checkpoints.jsonl")
	h := hubtest.New(t, hubtest.Config{DataDir: dir})
	for _, name := range []string{"one", "two", "three"} {
		if code, text := auditing(t, h, "projects", "create", name); code != 0 {
			t.Fatalf("%d %s", code, text)
		}
		if code, text := auditing(t, h, "audit", "checkpoint", "--file", safe); code != 0 || !strings.Contains(text, "ends at record") {
			t.Fatalf("%d %s", code, text)
		}
	}
	if code, text := auditing(t, h, "audit", "verify", "--checkpoint", safe); code != 0 || !strings.Contains(text, "the 3 stored checkpoints") {
		t.Fatalf("%d %s", code, text)
	}
	if code, text := auditing(t, h, "audit", "checkpoint"); code != 0 || !strings.Contains(text, `"kind":"seen"`) {
		t.Errorf("%d %s", code, text)
	}
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "hub.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"DELETE FROM audit WHERE seq > 2", "DELETE FROM audit_checkpoints", "UPDATE audit_head SET seq = 2, hash = (SELECT hash FROM audit WHERE seq = 2)",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(statement, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "audit-checkpoint.json")); err != nil {
		t.Fatal(err)
	}
	h = hubtest.New(t, hubtest.Config{DataDir: dir})
	if code, text := auditing(t, h, "audit", "verify"); code != 0 {
		t.Errorf("what is left does not hold: %d %s", code, text)
	}
	if code, text := auditing(t, h, "audit", "verify", "--checkpoint", safe); code != 1 || !strings.Contains(text, "the end is missing") {
		t.Errorf("%d %s", code, text)
	}
	code, text := auditing(t, h, "audit", "export")
	if code != 0 {
		t.Fatal(text)
	}
	export := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(export, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := auditing(t, h, "audit", "verify", "--file", export, "--checkpoint", safe); code != 1 || !strings.Contains(text, "the end is missing") {
		t.Errorf("the export: %d %s", code, text)
	}
	// Longer than it was: other records stand in their places.
	for _, name := range []string{"four", "five", "six", "seven", "eight"} {
		if code, text := auditing(t, h, "projects", "create", name); code != 0 {
			t.Fatalf("%d %s", code, text)
		}
	}
	if code, text := auditing(t, h, "audit", "verify", "--checkpoint", safe); code != 1 || !strings.Contains(text, "is not the one that the checkpoint") {
		t.Errorf("%d %s", code, text)
	}
	// An empty file proves nothing.
	for name, content := range map[string]string{"empty": "", "text": "hello\n", "a cut": `{"kind":"cut","seq":1,"hash":"x","key_id":"k"}`} {
		path := filepath.Join(t.TempDir(), "checkpoint")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, text := auditing(t, h, "audit", "verify", "--checkpoint", path); code == 0 || !strings.Contains(text, path) {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
}
