package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/bin"
)

func TestCommandLine(t *testing.T) {
	program, err := bin.Path(t.Context(), "axle-operator", bin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  string
		args string
		code int
		says string
	}{
		{"", "--version", 0, "axle-operator "},
		{"", "version", 0, "axle-operator "},
		{"", "--help", 0, "axle-operator run --hub-url https://axle.example.com"},
		{"", "run --help", 0, "--admin-namespaces"},
		{"", "run", 2, "--hub-url"},
		{"", "run extra", 2, "see axle-operator --help"},
		{"", "run --no-such-flag", 2, "see axle-operator --help"},
		{"", "run --log-level shout", 2, "--log-level"},
		{"", "run --workers -1", 2, "--workers"},
		{"AXLE_OPERATOR_WORKERS=many", "run", 2, "AXLE_OPERATOR_WORKERS"},
		{"AXLE_OPERATOR_HUB_URL=https://127.0.0.1:1", "run --token-file /no/such/file", 2, "/no/such/file"},
		{"AXLE_OPERATOR_TOKEN_FILE=" + empty, "run --hub-url https://127.0.0.1:1", 2, "has no token"},
		{"AXLE_OPERATOR_KUBECONFIG=/no/such/config", "run --hub-url https://127.0.0.1:1 --token-file ../../go.mod", 2, "/no/such/config"},
	} {
		cmd := exec.CommandContext(t.Context(), program, strings.Fields(c.args)...)
		cmd.Env = append(os.Environ(), c.env)
		out, err := cmd.CombinedOutput()
		code := 0
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != c.code || !strings.Contains(string(out), c.says) {
			t.Errorf("%s axle-operator %s: exit code %d, want %d with %q: %s", c.env, c.args, code, c.code, c.says, out)
		}
	}
}
