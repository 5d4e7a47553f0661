package kinds

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/sdk/manifest"
)

const root = "../.."

var update = flag.Bool("update", false, "write the list of definitions anew")

// definitions returns all CRDs, sorted by kind.
func definitions(t *testing.T) []*definition {
	t.Helper()
	all, err := readDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Each kind has a page with its example and a row for each field, but for what is within
// a reference or a condition. Schema-only kinds have a row of a page that they share.
func TestEveryKindHasAPage(t *testing.T) {
	pages, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range definitions(t) {
		page := pages["spec/kinds/"+d.page()]
		if d.row().SchemaOnly {
			if !strings.Contains(page, "\n| "+d.kind()+" | `"+d.api()+"` |") {
				t.Errorf("%s has no row in spec/kinds/%s", d.kind(), d.page())
			}
			continue
		}
		if text, _ := example(t, d); !strings.Contains(page, text) {
			t.Errorf("the page of %s does not have its example:\n%s", d.kind(), page)
		}
		for path, field := range d.fields() {
			outer, _, deeper := strings.Cut(path, ".")
			if (outer == "spec" || outer == "status") && deeper && !within(d, path) && !strings.Contains(page, "\n| `"+path+"` | "+typeOf(field)+" |") {
				t.Errorf("the page of %s has no row for %s", d.kind(), path)
			}
		}
	}
	index := pages["spec/kinds/all.md"]
	for _, d := range definitions(t) {
		if !strings.Contains(index, "\n| ["+d.kind()+"]("+d.page()+") |") {
			t.Errorf("spec/kinds/all.md has no row for %s", d.kind())
		}
	}
}

// within reports whether a field is a part of a well-known type, which has one row.
func within(d *definition, path string) bool {
	for outer, field := range d.fields() {
		if (whole[shape(field)] != "" || outer == "status.conditions") && (strings.HasPrefix(path, outer+".") || strings.HasPrefix(path, outer+"[]")) {
			return true
		}
	}
	return false
}

// The page of a kind says that axle apply reads it, or does not, as it is, and its
// example is one that is not ignored. Secrets that an example names are not beside it.
func TestPagesSayWhoReadsAKind(t *testing.T) {
	pages, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range definitions(t) {
		if d.row().Level != kinds.Full || d.row().Cluster {
			continue
		}
		_, err := manifest.Read([]string{filepath.Join(root, d.example())}, nil)
		reads := err == nil || strings.Contains(err.Error(), "is not among the files")
		if !reads && !strings.Contains(err.Error(), "is for the operator") {
			t.Errorf("the example of %s: %v", d.kind(), err)
		}
		if says := strings.Contains(pages["spec/kinds/"+d.page()], "`axle apply -f FILE`"); says != reads {
			t.Errorf("the page of %s says that axle apply reads it: %v, and %v", d.kind(), says, err)
		}
	}
}

func TestEveryExampleIsOfAKind(t *testing.T) {
	var known []string
	for _, d := range definitions(t) {
		known = append(known, filepath.Base(d.example()))
	}
	examples, err := filepath.Glob(filepath.Join(root, "examples/kinds/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range examples {
		if !slices.Contains(known, filepath.Base(path)) {
			t.Errorf("%s is of no kind", path)
		}
	}
}

// The hook of stock Helm may change the definitions of this tree and no others.
func TestHookKnowsOurDefinitions(t *testing.T) {
	const list = root + "/deploy/charts/axle/files/definitions.txt"
	var names []string
	for _, d := range definitions(t) {
		names = append(names, d.Spec.Names.Plural+"."+d.Spec.Group)
	}
	slices.Sort(names)
	want := strings.Join(names, "\n") + "\n"
	if *update {
		if err := os.WriteFile(list, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(list); err != nil || string(have) != want || len(names) < 50 {
		t.Errorf("%s differs from deploy/crds (%v): run make generate", list, err)
	}
}
