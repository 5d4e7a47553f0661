package apply

import (
	"os"
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/agent/ignore"
)

// The examples of the pages on drift and ownership are read as the agent does.
func TestExamplesOfThePages(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	example := func(page string) []byte {
		t.Helper()
		text, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		found := block.FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s has no example", page)
		}
		return found[1]
	}
	var service struct {
		Spec struct {
			SyncConfig struct {
				DiffNormalizers []struct {
					Kind         string
					JSONPointers []string
				}
			}
		}
	}
	if err := yaml.Unmarshal(example("drift.md"), &service); err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, rule := range service.Spec.SyncConfig.DiffNormalizers {
		for _, text := range rule.JSONPointers {
			if err := ignore.Check(text); err != nil {
				t.Error(err)
			}
			read++
		}
	}
	if read != 3 {
		t.Errorf("%d paths were read", read)
	}
	var kept struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := yaml.Unmarshal(example("ownership.md"), &kept); err != nil {
		t.Fatal(err)
	}
	if got := wave.PruningOf(nil, kept.Metadata.Annotations); got != wave.PruneNever {
		t.Errorf("the example's object is pruned: %v", got)
	}
}
