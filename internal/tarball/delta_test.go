package tarball_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/tarball"
)

// content is a tarball with its digest and its unpacked folder.
type content struct {
	raw    []byte
	digest digest.Digest
	dir    string
}

func unpacked(t testing.TB, files ...file) content {
	t.Helper()
	var buf bytes.Buffer
	d, _, err := tarball.Write(&buf, entries(files...), tarball.Options{Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "tree")
	if _, _, err := tarball.Unpack(t.Context(), bytes.NewReader(buf.Bytes()), dir, tarball.Limits{}); err != nil {
		t.Fatal(err)
	}
	return content{buf.Bytes(), d, dir}
}

func delta(t testing.TB, a, b content) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := tarball.WriteDelta(t.Context(), &out, bytes.NewReader(a.raw), bytes.NewReader(b.raw), tarball.Delta{From: a.digest, To: b.digest}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func rebuild(t testing.TB, d []byte, a, b content) error {
	t.Helper()
	parent := t.TempDir()
	dir := filepath.Join(parent, "new")
	got, stats, err := tarball.ApplyDelta(t.Context(), bytes.NewReader(d), a.dir, dir, tarball.Delta{From: a.digest, To: b.digest}, tarball.Limits{})
	if err != nil {
		if left, _ := os.ReadDir(parent); len(left) != 0 {
			t.Fatalf("left behind: %v", left)
		}
		return err
	}
	again, same, err := tarball.Hash(t.Context(), dir, tarball.Limits{})
	if err != nil || again != got || same != stats {
		t.Fatalf("on disk is %s %+v (%v), reported were %s %+v", again, same, err, got, stats)
	}
	return digest.Verify(b.digest, got)
}

// yaml is text as manifests have it.
func yaml(seed uint64, lines int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "  - name: value-%d\n    image: registry.example.com/team-%d/app:%x\n", i, r.IntN(9), r.Uint64())
	}
	return b.String()
}

func TestDeltaRebuildsTheNewContent(t *testing.T) {
	big := yaml(1, 2000)
	tests := map[string]struct{ a, b []file }{
		"same":                  {sample, sample},
		"one changed":           {[]file{{"a", "one", 0}, {"b", "two", 0}}, []file{{"a", "one", 0}, {"b", "three", 0}}},
		"added":                 {[]file{{"b", "two", 0}}, []file{{"a/x", "one", 0}, {"b", "two", 0}, {"c", "", 0}}},
		"removed":               {sample, sample[:2]},
		"all new":               {[]file{{"a", "1", 0}}, []file{{"b", "2", 0}}},
		"from nothing":          {nil, sample},
		"to nothing":            {sample, nil},
		"mode only":             {[]file{{"run", "x", digest.File}}, []file{{"run", "x", digest.Executable}}},
		"mode back":             {[]file{{"run", "x", digest.Executable}}, []file{{"run", "x", digest.File}}},
		"renamed":               {[]file{{"old/a", big, 0}}, []file{{"new/a", big, 0}}},
		"renamed and mode":      {[]file{{"old/a", big, 0}}, []file{{"new/a", big, digest.Executable}}},
		"copied":                {[]file{{"gone", "x", 0}}, []file{{"one", "x", 0}, {"two", "x", 0}}},
		"link retargeted":       {[]file{{"a", "x", 0}, {"l", "a", digest.Link}}, []file{{"a", "x", 0}, {"l", "b", digest.Link}}},
		"link becomes file":     {[]file{{"a", "x", 0}, {"l", "a", digest.Link}}, []file{{"a", "x", 0}, {"l", "a", digest.File}}},
		"file becomes link":     {[]file{{"a", "x", 0}, {"l", "a", digest.File}}, []file{{"a", "x", 0}, {"l", "a", digest.Link}}},
		"file becomes folder":   {[]file{{"a", "x", 0}}, []file{{"a/b", "x", 0}}},
		"folder becomes file":   {[]file{{"a/b", "x", 0}, {"a/c", "y", 0}}, []file{{"a", "x", 0}}},
		"folder becomes link":   {[]file{{"a/b", "x", 0}, {"c/b", "x", 0}}, []file{{"a", "c", digest.Link}, {"c/b", "x", 0}}},
		"case only":             {[]file{{"Readme", "x", 0}}, []file{{"readme", "x", 0}}},
		"large file, few bytes": {[]file{{"a", big, 0}}, []file{{"a", strings.Replace(big, "value-77", "value-x", 1), 0}}},
		"odd names":             {[]file{{"-x y'\"$", "1", 0}}, []file{{"-x y'\"$", "2", 0}, {"caf\u00e9 " + strings.Repeat("n", 200), "3", 0}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := unpacked(t, tt.a...), unpacked(t, tt.b...)
			d := delta(t, a, b)
			if !bytes.Equal(d, delta(t, a, b)) {
				t.Error("two deltas of the same contents differ")
			}
			if err := rebuild(t, d, a, b); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestDeltaOfRandomTrees(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		a := randomTree(r, nil)
		b := randomTree(r, a)
		x, y := unpacked(t, a...), unpacked(t, b...)
		if err := rebuild(t, delta(t, x, y), x, y); err != nil {
			t.Fatalf("%v\nfrom %+v\nto %+v", err, a, b)
		}
	}
}

// randomTree changes some files of an old tree, removes some and adds some.
func randomTree(r *rand.Rand, old []file) []file {
	byPath := map[string]file{}
	for _, f := range old {
		switch r.IntN(4) {
		case 0:
		case 1:
			f.content, f.kind = f.content+"more\n", digest.Type(r.IntN(2))
			fallthrough
		default:
			byPath[f.path] = f
		}
	}
	for range 20 {
		p := fmt.Sprintf("d%d/f%d", r.IntN(4), r.IntN(30))
		byPath[p] = file{p, yaml(r.Uint64N(50), r.IntN(40)), digest.Type(r.IntN(2))}
	}
	var out []file
	for _, f := range byPath {
		out = append(out, f)
	}
	slices.SortFunc(out, func(x, y file) int { return strings.Compare(x.path, y.path) })
	return out
}

// TestDeltaIsSmall: a line of a file costs what the line costs, not the file.
func TestDeltaIsSmall(t *testing.T) {
	t.Parallel()
	old := yaml(7, 300) // 20 KB
	a := unpacked(t, file{"big", yaml(8, 20_000), 0}, file{"values.yaml", old, 0})
	b := unpacked(t, file{"big", yaml(8, 20_000), 0}, file{"values.yaml", strings.Replace(old, "value-30\n", "value-30-changed\n", 1), 0})
	if d := delta(t, a, b); len(d) > 1000 {
		t.Errorf("delta of one line has %d bytes; the tarball has %d", len(d), len(b.raw))
	}
}

func TestDeltaGivesUp(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 9<<20)
	a, b := unpacked(t, file{"a", string(noise), 0}), unpacked(t, file{"a", string(append(noise, 1)), 0})
	noise[5<<20] = 1
	c := unpacked(t, file{"a", string(noise), 0})
	for _, to := range []content{b, c} {
		err := tarball.WriteDelta(t.Context(), &bytes.Buffer{}, bytes.NewReader(a.raw), bytes.NewReader(to.raw), tarball.Delta{From: a.digest, To: to.digest})
		if !errors.Is(err, tarball.ErrNoDelta) {
			t.Errorf("error is %v, want ErrNoDelta", err)
		}
	}
	if err := rebuild(t, delta(t, a, a), a, a); err != nil {
		t.Errorf("equal files of 9 MiB: %v", err)
	}
}

// TestDeltaOverOtherContent: whatever lies in the old folder, either the new
// content comes out or an error.
func TestDeltaOverOtherContent(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(dir string) error{
		"kept file changed": func(dir string) error { return os.WriteFile(filepath.Join(dir, "b"), []byte("z"), 0o644) },
		"base changed":      func(dir string) error { return os.WriteFile(filepath.Join(dir, "a"), []byte(yaml(2, 100)), 0o644) },
		"base is a link out": func(dir string) error {
			p := filepath.Join(dir, "a")
			return errors.Join(os.Remove(p), os.Symlink("/etc/passwd", p))
		},
		"gone is missing":    func(dir string) error { return os.Remove(filepath.Join(dir, "gone")) },
		"everything missing": os.RemoveAll,
	} {
		t.Run(name, func(t *testing.T) {
			a := unpacked(t, file{"a", yaml(1, 100), 0}, file{"b", "x", 0}, file{"gone", "y", 0})
			b := unpacked(t, file{"a", yaml(1, 101), 0}, file{"b", "x", 0})
			d := delta(t, a, b)
			if err := spoil(a.dir); err != nil {
				t.Fatal(err)
			}
			if rebuild(t, d, a, b) == nil {
				t.Error("the delta was applied")
			}
		})
	}
}
