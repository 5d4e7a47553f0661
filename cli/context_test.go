package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli"
)

// TestContextsAreListedAndSwitched: the file of contexts is all that these
// commands need, and no token leaves it.
func TestContextsAreListedAndSwitched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	file := "current: prod\ncontexts:\n  prod: {url: https://prod.example.com, token: axle_secret, session: true}\n  test: {url: https://test.example.com, token: axle_secret}\n"
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AXLE_CONFIG", path)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"context list --no-headers", 0, "* prod https://prod.example.com session - test https://test.example.com token"},
		{"context show -o name", 0, "prod"},
		{"context use test", 0, "the context is test (https://test.example.com)"},
		{"context current -o jsonpath={.name}", 0, "test"},
		{"context show prod -o jsonpath={.url}", 0, "https://prod.example.com"},
		{"context use other", 4, `there is no context "other"; the contexts are: prod, test`},
	} {
		var out bytes.Buffer
		code := cli.Run(t.Context(), strings.Fields(c.args), cli.Streams{Out: &out, Err: &out})
		got := strings.Join(strings.Fields(out.String()), " ")
		if code != c.code || !strings.Contains(got, c.want) || strings.Contains(got, "axle_secret") {
			t.Errorf("axle %s: exit %d, %q, want %d and %q", c.args, code, got, c.code, c.want)
		}
	}
}

// TestOldNamesOfCommandsWork for one release after they were replaced.
func TestOldNamesOfCommandsWork(t *testing.T) {
	for old, now := range map[string]string{
		"contexts list": "axle servicecontexts list", "context-values get": "axle servicecontexts get",
		"config backends": "axle backends list", "config migrate": "axle backends migrate", "config rotate-key": "axle backends rotate-key",
	} {
		var out bytes.Buffer
		code := cli.Run(t.Context(), append(strings.Fields(old), "--help"), cli.Streams{Out: &out, Err: &out})
		if code != 0 || !strings.Contains(out.String(), "  "+now) {
			t.Errorf("axle %s: exit %d, and not the help of %s:\n%s", old, code, now, out.String())
		}
	}
}
