package archtest_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// A package that the race detector leaves alone holds no instance of a generic function:
// the linker may keep that one for the whole program (ADR 120). Which instances a package
// holds is the same without the detector, and such a build is in Go's cache: the programs'.
func TestUnwatchedHasNoGenericCode(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`-gcflags=(\S+)=-race=false`).FindAllSubmatch(makefile, -1)
	if len(flags) != 1 {
		t.Fatalf("the Makefile leaves %d packages alone, not one: look at each here", len(flags))
	}
	name := string(flags[0][1])
	run := func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "go", args...)
		var errs bytes.Buffer
		command.Stderr = &errs
		out, err := command.Output()
		if err != nil {
			t.Fatalf("go %s: %v: %s", strings.Join(args, " "), err, errs.Bytes())
		}
		return string(out)
	}
	compiled := strings.Fields(run("list", "-export", "-f", "{{.Export}}", name))
	if len(compiled) != 1 {
		t.Fatalf("%s is %d packages; it must name one", name, len(compiled))
	}
	symbols := run("tool", "nm", compiled[0])
	if !strings.Contains(symbols, name+".") {
		t.Fatalf("%s has no symbols of %s", compiled[0], name)
	}
	for line := range strings.Lines(symbols) {
		if strings.Contains(line, "go.shape") {
			t.Errorf("%s holds generic code: %s", name, line)
		}
	}
}
