package specv1_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/bin"
)

var (
	item = regexp.MustCompile(`(?m)^[0-9]+\. \*\*(.+?)\*\*: ((?s).*?)\n(?:[0-9]+\.|\n)`)
	path = regexp.MustCompile("`([a-z0-9_]+(?:/[a-z0-9_.]+)+|render)`")
)

// checklist returns the places of docs/checklists/add-a-field.md with their paths.
func checklist(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/checklists/add-a-field.md")
	if err != nil {
		t.Fatal(err)
	}
	places := map[string][]string{}
	for at := 0; ; {
		m := item.FindSubmatchIndex(text[at:])
		if m == nil {
			return places
		}
		for _, p := range path.FindAllSubmatch(text[at+m[4]:at+m[5]], -1) {
			name := string(text[at+m[2] : at+m[3]])
			places[name] = append(places[name], string(p[1]))
		}
		at += m[5]
	}
}

// naming returns the files, written by hand and not tests, that name a field in Go, JSON
// or protobuf.
func naming(t *testing.T, field string) []string {
	t.Helper()
	for _, dir := range []string{"agent", "api", "cli", "cmd", "deploy", "docs/spec", "hub", "internal", "operator", "render", "sdk", "terraform"} {
		if err := bin.Inputs(dir); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("git", "-C", "../../..", "grep", "-l", "-i", "-w", "-e", field, "-e", snake(field), "-e", "Get"+field, "--",
		"*.go", "*.proto", "docs/spec/*.md", ":!*_test.go", ":!*.pb.go", ":!*zz_generated*", ":!test", ":!api/hub/v1/spec.proto", ":!api/agent/v1/spec.proto").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(bytes.TrimSpace(out)))
}

// A field is written in the four places that the checklist names, and nowhere else.
func TestAFieldTouchesFourPlaces(t *testing.T) {
	places := checklist(t)
	if len(places) != 4 {
		t.Fatalf("the checklist has %d places: %q", len(places), places)
	}
	for _, field := range []string{"envsubst", "luaScript", "enforceNamespace", "ignoreCrds"} {
		found := map[string]bool{}
		for _, file := range naming(t, field) {
			in := ""
			for place, paths := range places {
				if slices.ContainsFunc(paths, func(p string) bool { return file == p || strings.HasPrefix(file, p+"/") }) {
					in = place
				}
			}
			if found[in] = true; in == "" {
				t.Errorf("%s: %s names it and is no place of the checklist", field, file)
			}
		}
		for place := range places {
			if !found[place] {
				t.Errorf("%s: nothing of %q names it", field, place)
			}
		}
	}
}
