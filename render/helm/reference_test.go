package helm_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/render/helm"
)

// TestDocumentsAsHelmHandsThemOn renders texts in which Helm puts line ends
// that the template did not write.
func TestDocumentsAsHelmHandsThemOn(t *testing.T) {
	object := func(name, data string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n  x: " + data
	}
	tests := map[string]struct {
		text string
		want map[string]string
	}{
		"block at the end":         {object("a", "|\n    text"), map[string]string{"a": "text\n"}},
		"kept line ends":           {object("a", "|+\n    text\n") + "---\n" + object("b", "|+\n    text\n"), map[string]string{"a": "text\n\n", "b": "text\n\n"}},
		"marker before a document": {"---" + object("a", "one\n") + "---" + object("b", "two"), map[string]string{"a": "one", "b": "two"}},
		"marker with a comment":    {"--- # first\n" + object("a", "one"), map[string]string{"a": "one"}},
		"dashes that are none":     {object("a", "|\n    -----BEGIN\n    ---\n"), map[string]string{"a": "-----BEGIN\n---\n"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result, err := helm.Render(t.Context(), request(t, map[string]string{"templates/a.yaml": test.text}))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for i := range result.Objects {
				data, _ := result.Objects[i].Data["data"].(map[string]any)
				got[result.Objects[i].Key("").Name], _ = data["x"].(string)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHooksThatHelmDoesNotKnow leaves out what Helm leaves out, with a warning.
func TestHooksThatHelmDoesNotKnow(t *testing.T) {
	hook := func(name, hooks string) string {
		return strings.Replace(settings, "{name: settings}", "{name: "+name+", annotations: {helm.sh/hook: \""+hooks+"\"}}", 1)
	}
	result, err := helm.Render(t.Context(), request(t, map[string]string{
		"templates/a.yaml": hook("known", "Pre-Install, post-upgrade"),
		"templates/b.yaml": hook("old", "crd-install"),
		"templates/c.yaml": hook("mixed", "pre-install,someday"),
		"templates/d.yaml": hook("empty", ""),
	}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"known"}, names(result)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if len(result.Warnings) != 3 || !strings.Contains(result.Warnings[0], "templates/b.yaml: ConfigMap old is a hook for \"crd-install\"") {
		t.Errorf("warnings %q, want one for each object that is left out", result.Warnings)
	}
}

// TestAnOrderThatDiffersIsGenerated marks what lists the keys of a map.
func TestAnOrderThatDiffersIsGenerated(t *testing.T) {
	result, err := helm.Render(t.Context(), request(t, map[string]string{
		"values.yaml":      "all: {a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9, j: 10, k: 11, l: 12}\n",
		"templates/a.yaml": settings + "  order: {{ range until 12 }}{{ keys $.Values.all | join \"\" }}{{ end }}\n  sorted: {{ keys .Values.all | sortAlpha | join \"\" }}\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/data/order"}, result.Objects[0].Volatile); diff != "" {
		t.Errorf("generated (-want +got):\n%s", diff)
	}
}
