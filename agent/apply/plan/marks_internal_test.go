package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// TestEveryMarkWithoutEffectIsAWarning: each mark of another tool that has no effect is a warning,
// as an annotation and as a label, in any case, and the pages for those who come from there
// list exactly these as such.
func TestEveryMarkWithoutEffectIsAWarning(t *testing.T) {
	pages := map[string]string{} // lines that promise a warning
	files, err := filepath.Glob("../../../docs/from/*.md")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	promised := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "| `") && strings.Contains(line, "none, with a warning of the service") {
				mark, _, _ := strings.Cut(line[1:], "|")
				pages[strings.ToLower(mark)] = file
				promised += strings.Count(mark, ",") + 1
			}
		}
	}
	if promised != len(foreign) {
		t.Errorf("the pages promise %d warnings %v, and there are %d", promised, pages, len(foreign))
	}
	for _, f := range foreign {
		for _, at := range []string{"annotations", "labels"} {
			for _, value := range []string{f.value, strings.ToUpper(f.value)} {
				o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{at: map[string]any{f.key: value, "other": value}}}}
				m := marks{}
				m.note(kubeobj.Ref{Kind: "ConfigMap", Name: "a"}, o)
				if got := m.problems(); len(got) != 1 || !got[0].Warning || !strings.Contains(got[0].Message, f.key+": "+f.value) {
					t.Errorf("%s: %s in its %s: %v", f.key, value, at, got)
				}
			}
		}
		o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"annotations": map[string]any{f.key: "another"}}}}
		m := marks{}
		if m.note(kubeobj.Ref{}, o); len(m.problems()) > 0 {
			t.Errorf("%s: another value is warned of", f.key)
		}
		found := false
		for mark := range pages {
			found = found || strings.Contains(mark, f.key) && strings.Contains(mark, f.value)
		}
		if !found {
			t.Errorf("no page says that %s: %s has no effect", f.key, f.value)
		}
	}
}
