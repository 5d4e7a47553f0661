package up

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/kubeapply"
)

var update = flag.Bool("update", false, "write examples/up/local")

// examples are the public examples of generated repositories, by the answer to --workload.
var examples = map[string]string{"none": "../../examples/up/local", "docker": "../../examples/up/local-docker"}

// exampleAnswers are its answers; its version is no release, so that it changes with the
// skeleton and not with each release.
func exampleAnswers() *answers {
	a := &answers{URL: "https://axle.example.com", Email: "you@example.com", Repository: "https://git.example.com/you/fleet.git", Login: true}
	a.complete()
	a.Version = "1.4.2"
	return a
}

func rendered(t *testing.T, a *answers) map[string][]byte {
	t.Helper()
	from, err := skeleton()
	if err != nil {
		t.Fatal(err)
	}
	files, err := render(from, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The examples are what axle up generates. With -update they are made again.
func TestTheExampleIsGenerated(t *testing.T) {
	for workload, example := range examples {
		a := exampleAnswers()
		a.Workload = workload
		isGenerated(t, example, rendered(t, a))
	}
}

func isGenerated(t *testing.T, example string, files map[string][]byte) {
	t.Helper()
	if *update {
		if err := os.RemoveAll(example); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if _, err := write(example, name, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	have := map[string][]byte{}
	err := filepath.WalkDir(example, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(example, path)
		if err != nil {
			return err
		}
		have[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(have)); !slices.Equal(a, b) {
		t.Errorf("%s: generated %q, committed %q: go test ./cli/up -run %s -update", example, a, b, t.Name())
	}
	for name, text := range files {
		if string(have[name]) != string(text) {
			t.Errorf("%s/%s differs: go test ./cli/up -run %s -update", example, name, t.Name())
		}
	}
}

// Whatever the answers are, no marker stays, every manifest is YAML, and no answer breaks
// out of its place.
func TestEveryCombinationIsWhole(t *testing.T) {
	for _, login := range []bool{true, false} {
		for _, repository := range []string{"", "https://git.example.com/you/fleet.git", "ssh://git@git.example.com:2222/you/fleet.git"} {
			for _, branch := range []string{"", "release/1.0"} {
				for _, workload := range workloadNames() {
					a := exampleAnswers()
					a.Login, a.Repository, a.Branch, a.Workload = login, repository, branch, workload
					a.complete()
					if err := a.check(); err != nil {
						t.Error(err)
					}
					whole(t, rendered(t, a))
				}
			}
		}
	}
}

func whole(t *testing.T, files map[string][]byte) {
	t.Helper()
	objects := 0
	for name, text := range files {
		if strings.Contains(string(text), "](..") {
			t.Errorf("%s leads out of the repository:\n%s", name, text)
		}
		if strings.Contains(string(text), "[[") || strings.Contains(string(text), "<no value>") {
			t.Errorf("%s has a marker:\n%s", name, text)
		}
		var any any
		switch {
		case strings.Contains(name, "/templates/") || !strings.Contains(name, ".yaml"):
		case strings.HasPrefix(name, "bootstrap/"):
			list, err := kubeapply.Documents(text)
			if err != nil || len(list) == 0 {
				t.Errorf("%s: %d objects, %v", name, len(list), err)
			}
			objects += len(list)
		default:
			if err := yaml.UnmarshalStrict(text, &any); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if objects < 10 {
		t.Errorf("only %d objects", objects)
	}
}

// Answers that would end in a file as something else are refused.
func TestAnswersAreChecked(t *testing.T) {
	for name, change := range map[string]func(*answers){
		"a secret in the URL": func(a *answers) { a.Repository = "https://you:s3cret@git.example.com/fleet.git" },
		"a file":              func(a *answers) { a.Repository = "/srv/fleet.git" },
		"no TLS":              func(a *answers) { a.URL = "http://axle.example.com" },
		"YAML in the URL":     func(a *answers) { a.URL = "https://axle.example.com: {x: y}" },
		"a line":              func(a *answers) { a.Email = "you@example.com\nadmin: true" },
		"no e-mail":           func(a *answers) { a.Email = "you" },
		"an option as branch": func(a *answers) { a.Branch = "--upload-pack=x" },
		"a name of YAML":      func(a *answers) { a.Name = "a: b" },
		"a template":          func(a *answers) { a.Repository = "https://git.example.com/{{.x}}.git" },
		"no such workload":    func(a *answers) { a.Workload = "vms" },
		"no address":          func(a *answers) { a.URL = "" },
	} {
		a := exampleAnswers()
		change(a)
		if err := a.check(); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a generated repository says of ours is there.
func TestLinksOfTemplatesLeadSomewhere(t *testing.T) {
	for _, workload := range []string{"docker", "bed"} {
		a := exampleAnswers()
		a.Workload = workload
		links := 0
		for name, text := range rendered(t, a) {
			for _, after := range strings.Split(string(text), source)[1:] {
				links++
				file, _, _ := strings.Cut(strings.FieldsFunc(after, func(r rune) bool { return strings.ContainsRune(")#> \n", r) })[0], "#")
				if _, err := os.Stat(filepath.Join("../..", file)); err != nil {
					t.Errorf("%s of %s: %v", name, workload, err)
				}
			}
			if path.Ext(name) == ".md" && strings.Contains(string(text), "](../") {
				t.Errorf("%s of %s has a link out of the repository", name, workload)
			}
		}
		if workload == "docker" && links < 2 {
			t.Errorf("%d links", links)
		}
	}
}
