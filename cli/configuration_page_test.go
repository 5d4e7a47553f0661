package cli_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli"
)

// Every command that the page on configuration shows is one: its words are
// commands and its flags exist.
func TestThePageOnConfigurationShowsRealCommands(t *testing.T) {
	page, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(page)) {
		words, ok := strings.CutPrefix(line, "    axle ")
		if !ok {
			continue
		}
		n++
		var out, errs bytes.Buffer
		args := append(strings.Fields(words), "--hub", "http://127.0.0.1:1", "--token-file", "/missing")
		code := cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		// It must fail because there is no hub, not because the command is unknown.
		if code == 2 || code == 0 {
			t.Errorf("axle %s: status %d: %s%s", strings.TrimSpace(words), code, out.String(), errs.String())
		}
	}
	if n < 8 {
		t.Errorf("only %d commands were found", n)
	}
}
