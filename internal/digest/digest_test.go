package digest_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/digest"
)

var update = flag.Bool("update", false, "write the vectors anew")

const vectorFile = "testdata/content-digest-vectors.json"

type vector struct {
	Name    string        `json:"name"`
	Entries []vectorEntry `json:"entries"`
	Digest  string        `json:"digest"`
}

type vectorEntry struct {
	Path    string      `json:"path"`
	Type    digest.Type `json:"type"`
	Content string      `json:"content"` // bytes of the file, or target of the link
}

func (v vector) digest(t *testing.T) digest.Digest {
	t.Helper()
	b := digest.New()
	for _, e := range v.Entries {
		if err := b.Add(e.Path, e.Type, digest.SumOf([]byte(e.Content))); err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
	}
	return b.Digest()
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	raw, err := os.ReadFile(vectorFile)
	if err != nil {
		t.Fatal(err)
	}
	var vs []vector
	if err := json.Unmarshal(raw, &vs); err != nil {
		t.Fatal(err)
	}
	return vs
}

func TestGoldenVectors(t *testing.T) {
	vs := readVectors(t)
	if len(vs) < 6 {
		t.Fatalf("only %d vectors", len(vs))
	}
	seen := map[string]string{}
	for i := range vs {
		got := string(vs[i].digest(t))
		if *update {
			vs[i].Digest = got
		}
		if diff := cmp.Diff(vs[i].Digest, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", vs[i].Name, diff)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have one digest", vs[i].Name, other)
		}
		seen[got] = vs[i].Name
	}
	if *update {
		raw, err := json.MarshalIndent(vs, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(vectorFile, append(raw, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOrderOfAddDoesNotMatter(t *testing.T) {
	for _, v := range readVectors(t) {
		want := v.digest(t)
		for i, j := 0, len(v.Entries)-1; i < j; i, j = i+1, j-1 {
			v.Entries[i], v.Entries[j] = v.Entries[j], v.Entries[i]
		}
		if got := v.digest(t); got != want {
			t.Errorf("%s: reversed gives %s, want %s", v.Name, got, want)
		}
	}
}

func TestAddRefusesPaths(t *testing.T) {
	tests := map[string]struct {
		add  []string
		want string // part of the reason; empty is accepted
	}{
		"plain":              {[]string{"a/b", "a/c", "a.b", "b"}, ""},
		"accents are names":  {[]string{"caf\u00e9", "cafe\u0301"}, ""},
		"backslash is text":  {[]string{`a\b`}, ""},
		"dash":               {[]string{"-x/--y"}, ""},
		"empty":              {[]string{""}, "is empty"},
		"absolute":           {[]string{"/etc/passwd"}, "is absolute"},
		"escape":             {[]string{"a/../../b"}, `segment ".."`},
		"dot":                {[]string{"./a"}, `segment "."`},
		"double slash":       {[]string{"a//b"}, "empty segment"},
		"trailing slash":     {[]string{"a/"}, "empty segment"},
		"newline":            {[]string{"a\nb"}, "control character"},
		"nul":                {[]string{"a\x00b"}, "control character"},
		"not utf-8":          {[]string{"a\xffb"}, "not valid UTF-8"},
		"long name":          {[]string{strings.Repeat("a", 256)}, "longer than 255"},
		"long path":          {[]string{strings.Repeat("a/", 1024) + "b"}, "longer than 2048"},
		"twice":              {[]string{"a/b", "a/b"}, "twice"},
		"case":               {[]string{"a/Readme", "a/README"}, "case only"},
		"case of a folder":   {[]string{"a/b", "A/c"}, "case only"},
		"case beyond ASCII":  {[]string{"Ärger", "ärger"}, "case only"},
		"file then folder":   {[]string{"a", "a/b"}, "both a file and a folder"},
		"folder then file":   {[]string{"a/b/c", "a/b"}, "both a file and a folder"},
		"folded file, below": {[]string{"A", "a/b"}, "case only"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := digest.New()
			var err error
			for _, p := range tt.add {
				err = errors.Join(err, b.Add(p, digest.File, digest.SumOf(nil)))
			}
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var refused *digest.PathError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error is %v, want a *PathError with %q", err, tt.want)
			}
		})
	}
}

func TestCheckLink(t *testing.T) {
	tests := map[string]struct {
		path, target, want string
	}{
		"beside":          {"a/b", "c", ""},
		"up inside":       {"a/b", "../c/d", ""},
		"to the root":     {"a/b", "..", ""},
		"dangling":        {"a", "nowhere", ""},
		"absolute":        {"a", "/etc/passwd", "absolute"},
		"escape":          {"a/b", "../../c", "outside"},
		"up after a name": {"a/b", "c/../../../d", "after a name"},
		"nothing":         {"a", "", "nothing"},
		"newline":         {"a", "b\nc", "plain UTF-8"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := digest.CheckLink(tt.path, tt.target)
			if tt.want == "" && err != nil {
				t.Fatal(err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Fatalf("error is %v, want %q", err, tt.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	good := string(digest.New().Digest())
	if d, err := digest.Parse(good); err != nil || string(d) != good {
		t.Fatalf("Parse(%q) = %q, %v", good, d, err)
	}
	for _, bad := range []string{"", "axle1:", good[:len(good)-1], good + "0", strings.ToUpper(good), "sha256:" + good[6:],
		"axle1:" + strings.Repeat("G", 64), "axle1:" + strings.Repeat("z", 64), "axle1:../" + good[9:]} {
		if _, err := digest.Parse(bad); err == nil {
			t.Errorf("Parse(%q) accepts it", bad)
		}
	}
}

func TestVerify(t *testing.T) {
	var mismatch *digest.MismatchError
	if err := digest.Verify("axle1:a", "axle1:b"); !errors.As(err, &mismatch) || mismatch.Got != "axle1:b" {
		t.Errorf("Verify of different digests: %v", err)
	}
	if err := digest.Verify("axle1:a", "axle1:a"); err != nil {
		t.Error(err)
	}
}
