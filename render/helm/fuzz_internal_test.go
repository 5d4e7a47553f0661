package helm

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
)

// generators is what generator looks for.
var generators = regexp.MustCompile(`\b(rand[A-Z]\w*|gen[A-Z]\w*|uuidv4|shuffle|htpasswd|bcrypt|encryptAES|buildCustomCert)\b|\b(?:keys|values)\s+[.$(]`)

// FuzzTexts holds that a chart's texts are searched and split as the expression and Helm's
// own function do.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{
		"a: {{ randAlpha 4 }}", "{{genCA}}", "genera: rand", "x_genA", "a genA.b", "rand\xffA randa", "uuidv4", "uuidv4x", "(shuffle", "keys .Values", "keys\t\n$x",
		"values", "values x", "skeys .", "keys(", "values  (dict)", "bcrypt", "encryptAES.", "1buildCustomCert", "",
		"---\na: b\n---\nc: d\n", "a: b\n---c: d\n------\ne: f", "\n \n---\n---\n\n  x: y\n--- # z\n", "a\r\n---\r\nb\r\n", "\u00a0---\na", "a\n ---\nb\n---", "---", "\u2028\n---\n\u0085a",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := generator([]byte(text)), generators.MatchString(text); got != want {
			t.Errorf("%q generates: %v, want %v", text, got, want)
		}
		var got []string
		for _, d := range documents(text) {
			got = append(got, strings.TrimSuffix(d.text, "\n"))
			if line := strings.Join(strings.SplitAfter(text, "\n")[d.above:], ""); !strings.Contains(line, got[len(got)-1]) {
				t.Errorf("%q: the document %q is not below line %d", text, d.text, d.above)
			}
		}
		var want []string
		split := releaseutil.SplitManifests(text)
		for i := range len(split) {
			want = append(want, split["manifest-"+strconv.Itoa(i)])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-Helm +ours):\n%s", text, diff)
		}
	})
}

// FuzzMergeValues holds what laying values over each other must keep: it never
// panics, the same texts give the same values, a text over itself changes
// nothing, and the last text's plain values win.
func FuzzMergeValues(f *testing.F) {
	f.Add([]byte("a: 1\nb: {c: d}\n"), []byte("b: {c: null, e: f}\n"))
	f.Add([]byte("a: [1, 2]\n"), []byte("a: {b: c}\n---\na: x\n"))
	f.Add([]byte("? {a: b}\n: c\n"), []byte("<<: *x\n"))
	f.Fuzz(func(t *testing.T, low, high []byte) {
		texts := []valuesText{{name: "low", text: low}, {name: "high", text: high}}
		merged, err := mergeValues(texts)
		if err != nil {
			return
		}
		again, err := mergeValues(append(texts, valuesText{name: "again", text: high}))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(merged, again); diff != "" {
			t.Errorf("the same values again changed something:\n%s", diff)
		}
		only, err := mergeValues(texts[1:])
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range only {
			if _, isMap := value.(map[string]any); isMap {
				continue
			}
			if diff := cmp.Diff(value, merged[key]); diff != "" {
				t.Errorf("%q of the last text does not win:\n%s", key, diff)
			}
		}
	})
}
