package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// runs are one folder of test/field/manifests.
type runs struct {
	Report   string   `json:"report"`
	Clusters []string `json:"clusters"`
	Runs     []struct {
		Axle   string   `json:"axle"`
		Exit   int      `json:"exit"`
		Says   []string `json:"says"`
		Silent []string `json:"silent"`
	} `json:"runs"`
}

// TestManifestsOfTheField plays every folder of test/field/manifests.
func TestManifestsOfTheField(t *testing.T) {
	folders, err := filepath.Glob("../test/field/manifests/*/runs.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no folders: %v", err)
	}
	for _, file := range folders {
		folder, err := filepath.Abs(filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(folder), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(folder, "runs.yaml"))
			var all runs
			if err == nil {
				err = yaml.UnmarshalStrict(text, &all)
			}
			if err != nil || all.Report == "" || len(all.Runs) == 0 {
				t.Fatalf("no report or no runs: %v", err)
			}
			s := newShell(t)
			t.Chdir(folder)
			for _, cluster := range all.Clusters {
				s.exits(0, "clusters create "+cluster)
			}
			for _, run := range all.Runs {
				code, out, errs := s.run(run.Axle)
				if code != run.Exit {
					t.Fatalf("axle %s: exit %d, want %d:\n%s%s", run.Axle, code, run.Exit, out, errs)
				}
				for _, text := range run.Says {
					if !strings.Contains(out+errs, text) {
						t.Errorf("axle %s does not say %q:\n%s%s", run.Axle, text, out, errs)
					}
				}
				for _, text := range run.Silent {
					if strings.Contains(out+errs, text) {
						t.Errorf("axle %s says %q:\n%s%s", run.Axle, text, out, errs)
					}
				}
			}
		})
	}
}
