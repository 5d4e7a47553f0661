package sizes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// TestPromisesHaveTests holds that each line of the files of promises of test/field has a test, a
// row of one or a case that exists.
func TestPromisesHaveTests(t *testing.T) {
	known := tests(t)
	for file, least := range map[string]int{"promises.txt": 50, "safety.txt": 40, "expressions.txt": 15} {
		text, err := os.ReadFile(root + "/test/field/" + file)
		if err != nil {
			t.Fatal(err)
		}
		promises := 0
		for n, line := range strings.Split(string(text), "\n") {
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			promises++
			at := fmt.Sprintf("%s:%d", file, n+1)
			if file == "expressions.txt" {
				line = expression(t, at, line)
			}
			proven(t, known, at, line)
		}
		if promises < least {
			t.Errorf("%s: %d promises were found", file, promises)
		}
	}
}

// TestEveryStreamIsPromisedToEnd holds that safety.txt names each call that streams: a new one
// has a test that it ends with its right.
func TestEveryStreamIsPromisedToEnd(t *testing.T) {
	text, err := os.ReadFile(root + "/test/field/safety.txt")
	if err != nil {
		t.Fatal(err)
	}
	streams := 0
	protoregistry.GlobalFiles.RangeFilesByPackage("axle.hub.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				m := service.Methods().Get(j)
				if !m.IsStreamingServer() && !m.IsStreamingClient() {
					continue
				}
				streams++
				if call := fmt.Sprintf("%s/%s", service.Name(), m.Name()); !regexp.MustCompile(regexp.QuoteMeta(call) + `\b[^|\n]* \| `).Match(text) {
					t.Errorf("no line of safety.txt says that %s ends with the right to it", call)
				}
			}
		}
		return true
	})
	if streams < 4 {
		t.Errorf("%d calls that stream were found", streams)
	}
}

var part = regexp.MustCompile(`"[^"]+"|\S+`)

// expression is a line of expressions.txt as one of promises: the tests of its two columns.
func expression(t *testing.T, at, line string) string {
	t.Helper()
	parts := strings.Split(line, " | ")
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		t.Fatalf("%s is not EXPRESSION: FIELDS | TESTS | TESTS OF WHAT OTHERS WAITED: %s", at, line)
	}
	if strings.HasPrefix(parts[2], "- ") {
		parts[2] = ""
	}
	return parts[0] + " | " + parts[1] + " " + parts[2]
}

// proven fails for a line that names no test, or one that does not exist.
func proven(t *testing.T, known map[string]string, at, line string) {
	t.Helper()
	what, proof, ok := strings.Cut(line, " | ")
	if !ok || what == "" || proof == "" {
		t.Fatalf("%s is not WHAT HOLDS | TESTS: %s", at, line)
	}
	folder := ""
	for _, one := range part.FindAllString(proof, -1) {
		row, quoted := strings.CutPrefix(one, `"`)
		switch _, err := os.Stat(filepath.Join(root, one)); {
		case quoted:
			if row = strings.TrimSuffix(row, `"`); !said(t, folder, row) {
				t.Errorf("%s: no test file of %s has %q", at, folder, row)
			}
		case known[one] != "":
			folder = one[:strings.LastIndexByte(one, '.')]
		case err != nil:
			t.Errorf("%s: there is no test and no file %s", at, one)
		}
	}
}

// said reports whether a test file of a folder has a text.
func said(t *testing.T, folder, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if folder == "" || err != nil {
		return false
	}
	for _, file := range files {
		all, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(all), text) {
			return true
		}
	}
	return false
}
