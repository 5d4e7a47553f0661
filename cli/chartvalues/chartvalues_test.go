package chartvalues_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/cli/chartvalues"
)

func TestSetsAreHelms(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		before string
		sets   chartvalues.Sets
		want   string
	}{
		"nested":          {"", chartvalues.Sets{Plain: []string{"image.tag=v2,replicas=3"}}, "{image: {tag: v2}, replicas: 3}"},
		"a list":          {"", chartvalues.Sets{Plain: []string{"hosts={a,b}", "ports[1].name=web"}}, "{hosts: [a, b], ports: [null, {name: web}]}"},
		"an escaped dot":  {"", chartvalues.Sets{Plain: []string{`labels.example\.org/a=x`}}, "{labels: {example.org/a: x}}"},
		"beside others":   {"image: {tag: v1, name: app}", chartvalues.Sets{Plain: []string{"image.tag=v2"}}, "{image: {tag: v2, name: app}}"},
		"a text":          {"", chartvalues.Sets{Strings: []string{"port=80"}}, `{port: "80"}`},
		"out of a file":   {"", chartvalues.Sets{Files: []string{"motd=" + file}}, "{motd: from a file}"},
		"null takes away": {"a: 1\nb: 2", chartvalues.Sets{Plain: []string{"a=null"}}, "{a: null, b: 2}"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.sets.Into(test.before)
			if err != nil {
				t.Fatal(err)
			}
			var a, b map[string]any
			if err := yaml.Unmarshal([]byte(got), &a); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(test.want), &b); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
	for _, bad := range []chartvalues.Sets{{Plain: []string{"key"}}, {Files: []string{"a=/nowhere/at/all"}}} {
		if _, err := bad.Into(""); err == nil || !strings.Contains(err.Error(), "--var") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, err := (chartvalues.Sets{Plain: []string{"a=b"}}).Into("- a list"); err == nil {
		t.Error("values that are a list are set into")
	}
}
