package generated

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestTheChartsPage runs the example of the page on charts: the objects in the
// cluster, the rendered ones, and the applied ones.
func TestTheChartsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/spec/charts.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks on the page, want three", len(blocks))
	}
	live := strings.Replace(blocks[0][1], "service: shop", "service: s1", 1)
	rendered := strings.Split(blocks[1][1], "---\n")
	got := keep(t, &livingCluster{objects: map[string]string{"Secret database": live}}, map[string][]string{
		rendered[0]: {"/stringData/password"},
		rendered[1]: {"/data/url", "/metadata/annotations/example.com~1id"},
	})
	for _, text := range strings.Split(blocks[2][1], "---\n") {
		var want map[string]any
		if err := yaml.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		metadata, _ := want["metadata"].(map[string]any)
		if diff := cmp.Diff(want, got[want["kind"].(string)+" "+metadata["name"].(string)]); diff != "" {
			t.Errorf("applied (-page +got):\n%s", diff)
		}
	}
}
