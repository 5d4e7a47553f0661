package clusters

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

const folder = "../../deploy/clusters"

func shipped(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if !slices.Equal(names, []string{"docker", "eks", "gke"}) {
		t.Errorf("templates are %v: docs and this test know docker, eks and gke", names)
	}
	return names
}

func mustRead(t *testing.T, name string) *template {
	t.Helper()
	made, err := read(os.DirFS(folder + "/" + name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return made
}

// Every template holds its contract, on an API server that has the definitions of its provider.
func TestTemplatesHoldTheContract(t *testing.T) {
	s := install(t)
	for _, name := range shipped(t) {
		t.Run(name, func(t *testing.T) {
			made := mustRead(t, name)
			if made.Name != name || made.Description == "" || made.Provider.Name == "" {
				t.Errorf("template.yaml has the name %q, the description %q, the provider %q", made.Name, made.Description, made.Provider.Name)
			}
			if err := made.static(t.Context()); err != nil {
				t.Error(err)
			}
			if err := s.judge(t.Context(), made); err != nil {
				t.Error(err)
			}
			t.Logf("%d objects, %d sets of variables", len(made.objects), len(made.variants()))
		})
	}
	if own := os.Getenv("AXLE_TEMPLATE"); own != "" { // make template
		made, err := read(os.DirFS(own))
		if err != nil {
			t.Fatalf("%s: %v", own, err)
		}
		if err := errors.Join(made.static(t.Context()), s.judge(t.Context(), made)); err != nil {
			t.Fatalf("%s: %v", own, err)
		}
		t.Logf("%s holds the contract, with %d sets of variables", own, len(made.variants()))
		return
	}
	mutations(t, s)
}

// Each README has what somebody needs who pays for the clusters.
func TestReadmesSayWhatIsNotProven(t *testing.T) {
	for _, name := range shipped(t) {
		text, err := fs.ReadFile(os.DirFS(folder), name+"/README.md")
		if err != nil {
			t.Fatal(err)
		}
		for _, heading := range []string{"## Rights", "## Proven, and not proven", "## Order of deletion", "## Fork it"} {
			if !strings.Contains(string(text), "\n"+heading+"\n") {
				t.Errorf("%s/README.md has no part %q", name, heading)
			}
		}
	}
}
