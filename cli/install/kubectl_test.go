package install_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestKubectlLinesAreForTheClusterOfTheRun holds that no text of an install or of axle up names
// kubectl by itself: it would act on the current context, which may be another cluster.
func TestKubectlLinesAreForTheClusterOfTheRun(t *testing.T) {
	bare := regexp.MustCompile(`"[^"\n]*kubectl (?:-n|get|create|delete|uncordon|describe|logs|patch|apply)\b`)
	for _, folder := range []string{".", "../up"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) < 5 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range bare.FindAll(text, -1) {
				t.Errorf("%s: %s: begin it with kubectl() of the run", file, line)
			}
		}
	}
}
