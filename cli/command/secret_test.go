package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli/command"
)

// TestOneLastLineEndIsLeftOut, wherever a value is read from: env:NAME kept it, a file lost
// every blank, and standard input all lines but the first.
func TestOneLastLineEndIsLeftOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "value")
	for text, want := range map[string]string{
		"hunter2\n": "hunter2", "hunter2": "hunter2", " hunter2 \r\n": " hunter2 ", "one\ntwo\n\n": "one\ntwo\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("AXLE_TEST_VALUE", text)
		for _, from := range []string{file, "-", "env:AXLE_TEST_VALUE"} {
			a := &command.App{Streams: command.Streams{In: strings.NewReader(text)}}
			got, err := a.SecretValues([]string{"key=" + from})
			if err != nil || got["key"] != want {
				t.Errorf("%q from %s: %q, want %q, %v", text, from, got["key"], want, err)
			}
			a.In = strings.NewReader(text)
			if whole, err := a.ReadSecret("ca-cert-file", from, true); err != nil || whole != text {
				t.Errorf("a whole file from %s: %q, want %q, %v", from, whole, text, err)
			}
		}
	}
}
