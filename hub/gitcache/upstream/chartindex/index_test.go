package chartindex_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/hub/gitcache/upstream/chartindex"
	"github.com/axle-cd/axle/internal/errcode"
)

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// sample has what real indexes have: lists at both indentations, block
// scalars, long quoted lines, comments, nested lists and quotes of all kinds.
const sample = `# made by hand
apiVersion: v1
entries:
  "quoted name":
  - version: '0.1.0'
    urls: ["https://example.com/q-0.1.0.tgz"]
  app:
  - apiVersion: v2
    appVersion: 1.10
    created: "2026-01-02T03:04:05.678Z"
    dependencies:
    - name: redis
      version: 9.9.9
      urls:
      - nothing
    description: |
      A block that looks like fields:
      version: 6.6.6
      - version: 7.7.7
    digest: ` + digest + `
    keywords:
    - version
    name: app
    urls:
    - app-1.2.3.tgz
    - mirror/app-1.2.3.tgz
    version: 1.2.3
  - annotations:
      text: "long
        version: 5.5.5 text"
    version: "1.10"
    digest: sha256:` + digest + `
    urls:
    - https://example.com/a?b=c
    deprecated: true
  - version: 2.0.0
    removed: true
    urls:
        - app-2.0.0.tgz
  # a comment between
  - version: 3.0.0-rc.1+build
    urls:
    - app-3.tgz
  - version: 4.0.0
  - urls:
    - no-version.tgz
  empty: []
  other:
    - description: |
        A table:
        	a	b
      version: >-
        1.0.0
      urls:
        - "other-1.0.0.tgz"
      created: 2026-01-02T03:04:05Z
generated: "2026-01-02T03:04:05Z"
serverInfo: {}
`

func parse(t *testing.T, text string) *chartindex.Index {
	t.Helper()
	x, err := chartindex.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestParse(t *testing.T) {
	t.Parallel()
	whole, err := yaml.YAMLToJSON([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	// A number is no version in JSON; YAML by lines sees what was written.
	inJSON := bytes.Replace(whole, []byte(`"version":1.1,`), []byte(`"version":"1.10",`), 1)
	flow := strings.Replace(sample, "  app:\n", "  flow: [{version: 1.0.0, urls: [f.tgz]}]\n  app:\n", 1)
	for name, text := range map[string]string{"yaml": sample, "windows": strings.ReplaceAll(sample, "\n", "\r\n"), "marked": "\ufeff---\n" + sample, "json": string(inJSON), "flow": flow} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := parse(t, text)
			if x.Versions() < 6 || x.Skipped() != 2 {
				t.Errorf("%d versions of %d charts, %d skipped", x.Versions(), x.Charts(), x.Skipped())
			}
			got, err := x.Find("app", "1.2.3")
			want := chartindex.Version{Chart: "app", Version: "1.2.3", URL: "app-1.2.3.tgz", Digest: digest, Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
			if err != nil || !cmp.Equal(want, got) {
				t.Errorf("%v %s", err, cmp.Diff(want, got))
			}
			if got, err := x.Find("app", ""); err != nil || got.Version != "1.10" || !got.Deprecated || got.Digest != digest {
				t.Errorf("newest is %+v, %v", got, err)
			}
			if got, err := x.Find("quoted name", "x.x.x"); err != nil || got.URL != "https://example.com/q-0.1.0.tgz" {
				t.Errorf("quoted: %+v, %v", got, err)
			}
			if got, err := x.Find("other", "1.x"); err != nil || got.Version != "1.0.0" {
				t.Errorf("other: %+v, %v", got, err)
			}
		})
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	x := parse(t, sample)
	tests := map[string]struct {
		chart, wanted, version, err string
	}{
		"no chart":        {"none", "", "", `no chart "none"`},
		"no versions":     {"empty", "", "", "no version in"},
		"range":           {"app", "~1.2", "1.2.3", ""},
		"range with v":    {"app", ">=v1.0 <1.5", "1.2.3", ""},
		"pre-release":     {"app", ">=3.0.0-0", "3.0.0-rc.1+build", ""},
		"not pre-release": {"app", "3.x", "", "no version in"},
		"exact":           {"app", "3.0.0-rc.1+build", "3.0.0-rc.1+build", ""},
		"withdrawn":       {"app", "2.0.0", "", "withdrawn"},
		"withdrawn range": {"app", "2.x", "", "no version in"},
		"nonsense":        {"app", "not a version", "", "neither a version nor a range"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := x.Find(tt.chart, tt.wanted)
			if tt.err != "" {
				if !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error is %v", err)
				}
				return
			}
			if err != nil || got.Version != tt.version {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":       "",
		"html":        "<!DOCTYPE html>\n<html><body>sign in</body></html>\n",
		"json":        `{"message": "not found"}`,
		"cut json":    `{"entries": {"app": [{"version": "1.0.0", "urls": ["a`,
		"list":        "- a\n- b\n",
		"tabs":        "entries:\n\tapp:\n",
		"no map":      "entries: [1, 2]\n",
		"twice":       "entries:\n  a:\n  - version: 1.0.0\nentries:\n  b:\n",
		"binary":      "\x1f\x8b\x08\x00\x00\x00",
		"json number": `{"entries": 7}`,
		"aliases":     "apiVersion: v1\nentries: {app: [{version: 1.0.0, urls: [a], description: &a " + strings.Repeat("x", 10_000) + "}" + strings.Repeat(", {version: 1.0.0, urls: [a], description: *a}", 1000) + "]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := chartindex.Parse(strings.NewReader(text)); !errcode.Is(err, errcode.Unprocessable) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// large makes an index as helm repo index does, of about 480 bytes a version.
func large(charts, versions int) []byte {
	var b bytes.Buffer
	b.WriteString("apiVersion: v1\nentries:\n")
	for c := range charts {
		fmt.Fprintf(&b, "  chart-%06d:\n", c)
		for v := range versions {
			fmt.Fprintf(&b, `  - apiVersion: v2
    appVersion: 1.%d.0
    created: "2026-01-02T03:04:05.678901234Z"
    description: A chart that does what charts do, in a sentence of the usual length for people
    digest: ab%062x
    home: https://example.com/charts/chart-%06d
    icon: https://example.com/icons/chart-%06d.png
    keywords:
    - one
    - two
    maintainers:
    - email: someone@example.com
      name: Someone
    name: chart-%06d
    urls:
    - https://example.com/releases/chart-%06d-1.%d.0.tgz
    version: 1.%d.0
`, v, c*versions+v, c, c, c, c, v, v)
		}
	}
	return b.Bytes()
}

func TestTooManyVersions(t *testing.T) {
	t.Parallel()
	text := "entries:\n  app:\n" + strings.Repeat("  - version: 1\n    urls:\n    - a\n", chartindex.MaxVersions+1)
	if _, err := chartindex.Parse(strings.NewReader(text)); !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), "more than") {
		t.Errorf("error is %v", err)
	}
}

// TestAnIndexIsSmallInMemory checks the cost of a large index: reading it
// allocates at most a small part of its size, whatever the entries hold.
func TestAnIndexIsSmallInMemory(t *testing.T) {
	raw := large(200, 100)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x, err := chartindex.Parse(bytes.NewReader(raw))
	if err != nil || x.Versions() != 20_000 {
		t.Fatalf("%v", err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := int(after.HeapAlloc) - int(before.HeapAlloc)
	if limit := len(raw) / 2; held > limit {
		t.Errorf("an index of %d bytes holds %d, more than %d", len(raw), held, limit)
	}
	// What must be kept: name, version, URL, digest and flags.
	compact := 0
	for range 20_000 {
		compact += len("https://example.com/releases/chart-000000-1.10.0.tgz") + len("1.10.0") + 32 + 8
	}
	if x.Bytes() > 2*compact {
		t.Errorf("the index takes %d bytes, more than twice the %d that it keeps", x.Bytes(), compact)
	}
	runtime.KeepAlive(x)
}

// FuzzParse feeds any bytes. Whatever is accepted can be searched, and an index
// that a whole YAML parser reads too gives no version that it does not have.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`{"entries":{"a":[{"version":"1.0.0","urls":["u"]}]}}`))
	f.Add([]byte("entries:\n  a:\n  - urls: [x]\n    version: 1\n"))
	f.Add([]byte("entries: {}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		x, err := chartindex.Parse(bytes.NewReader(raw))
		if err != nil {
			if !errcode.Is(err, errcode.Unprocessable) {
				t.Fatalf("error without a code: %v", err)
			}
			return
		}
		for _, name := range []string{"a", "app", "quoted name", ""} {
			v, err := x.Find(name, ">=0.0.0-0")
			if err == nil && (v.Version == "" || v.URL == "") {
				t.Fatalf("found %+v", v)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	raw := large(1000, 100) // about 55 MB
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		x, err := chartindex.Parse(bytes.NewReader(raw))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(x.Bytes()), "index-bytes")
	}
}

func TestJSONAndYAMLAgree(t *testing.T) {
	t.Parallel()
	raw := large(3, 20)
	var any map[string]any
	if err := yaml.Unmarshal(raw, &any); err != nil {
		t.Fatal(err)
	}
	plain, err := json.Marshal(any)
	if err != nil {
		t.Fatal(err)
	}
	a, b := parse(t, string(raw)), parse(t, string(plain))
	if a.Versions() != b.Versions() || a.Charts() != b.Charts() {
		t.Fatalf("%d and %d versions", a.Versions(), b.Versions())
	}
	for c := range 3 {
		for v := range 20 {
			name, version := fmt.Sprintf("chart-%06d", c), fmt.Sprintf("1.%d.0", v)
			x, err := a.Find(name, version)
			y, err2 := b.Find(name, version)
			if err != nil || err2 != nil || x != y {
				t.Errorf("%+v, %v and %+v, %v", x, err, y, err2)
			}
		}
	}
}
