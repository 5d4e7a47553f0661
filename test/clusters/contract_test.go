package clusters

import (
	"io/fs"
	"os"
	"path"
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
	made, err := read(os.DirFS(path.Join(folder, name)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return made
}

// Every template holds its contract, on an API server that has the definitions of its provider
// and the webhooks of Cluster API's core; so does the one of the test bed.
func TestTemplatesHoldTheContract(t *testing.T) {
	s := install(t, extracted(t), nil)
	if own := os.Getenv("AXLE_TEMPLATE"); own != "" { // make template
		s.core(t)
		made, err := read(os.DirFS(own))
		if err != nil {
			t.Fatalf("%s: %v", own, err)
		}
		s.holds(t, made)
		return
	}
	mutations(t, s) // without the core, whose webhooks look for the class of each Cluster for seconds
	s.core(t)
	t.Run("what the webhooks refuse", func(t *testing.T) { refuses(t, s) })
	for _, name := range append(shipped(t), "../bed") {
		t.Run(name, func(t *testing.T) {
			made := mustRead(t, name)
			if made.Name != path.Base(name) || made.Description == "" || made.Provider.Name == "" && name != "../bed" {
				t.Errorf("template.yaml has the name %q, the description %q, the provider %q", made.Name, made.Description, made.Provider.Name)
			}
			s.holds(t, made)
		})
	}
	t.Run("the page Fork a template", func(t *testing.T) { forkATemplate(t, s) })
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
