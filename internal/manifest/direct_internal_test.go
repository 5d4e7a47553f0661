package manifest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// FuzzDirect holds that a document becomes what it becomes by way of JSON.
func FuzzDirect(f *testing.F) {
	for _, text := range []string{
		"a: 1\nb: 1.50\nc: 1e3\nd: -0.0\ne: 0x1F\nf: 0o17\ng: 017\nh: 1_000\ni: 18446744073709551615\nj: -9223372036854775808\nk: 1e400\nl: .inf\nm: .nan\n",
		"a: yes\nb: on\nc: ~\nd:\ne: \"\\xff\\u0000\\ud800\"\nf: !!binary /w==\ng: 2001-01-01\nh: !!timestamp 2001-01-01\ni: 12:30:45\n",
		"1: a\n1.5: b\ntrue: c\n~: d\n", "1: a\n\"1\": b\n", "? [a]\n: b\n", "x: &x {a: b}\ny: {<<: *x, c: d}\nz: [*x, *x]\n", "a: b\na: c\n",
		"- a\n- {b: []}\n- {}\n", "text\n", "", "# only\n", "a: |\n  x\n  y\n", "a: !!set {b, c}\n", "a: !!float 3\nb: !!str 4\nc: 1e21\nd: 1e-7\ne: 123456789012345678901234567890\n",
		// Blocks.
		"a: b # c\nd:\n  e: |-\n    x\n\n     y\n  f: |+\n\n    z\n\n# g\nh:\n- i: j\n  k:\n  - l\n  -\n    m: n\n- - o\n  - p\n-\n- q\n  r\n\n  s\nt:\n",
		"a: 'b''c' # d\ne: \"f\\n\"\ng: []\nh: {}\ni: [j, 1, {k: null}]\nl: -1\nm: .5\nn: -o\np: NULL\nq: Off\nr: a:b#c\ns: 1_0\nt: 007\nu: ~\nv: (w)\n",
		"a:\n    b: c\n  d: e\n", "a: b\n  c: d\n", "a:\n- b\n c: d\n", "a: |\n  b\n c\n", "a: |\n   \n  b\n", "a: |\n\tb\n", "a: |1\n  b\n", "a: >-\n  b\n  c\n", "a: \"b\n  c\"\n", "a: b\n...\n", " a: b\n",
		"\"a\": 'b\n  c\n\n  d'\n'e f':\n  \"g\\n\n   h \"\ni:\n  {}\nj:\n  'k': l\nm:\n  \"n\"\no: =\np: :q\n", "a: \"b\nc\"\n", "a: 'b\n\n", "\"a\n", "'a'': b\n", "a: \"\\\n  b\"\n",
		"a: b\n# c\n  d\n", "a: b #c\n  d\n", "a: - b\n", "a: b: c\n", "a: b:\n", "- a\nb: c\n", "a: b\n- c\n", "a: 1\n  2\n", "a:\n  # b\n  c: d\n", "a: [b]: c\n", "a: []0\n", "a: \"b\" c\n", "a: b\tc\n", "a:\tb\n", "a:\n\t- b\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := direct(text)
		if !ok {
			return
		}
		encoded, err := yaml.YAMLToJSONStrict(text)
		if err != nil {
			t.Fatalf("%q is %v; by way of JSON it is %v", text, got, err)
		}
		decoder := json.NewDecoder(bytes.NewReader(encoded))
		decoder.UseNumber()
		var want any
		if err := decoder.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-by way of JSON +direct):\n%s", text, diff)
		}
	})
}
