package bin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/bin"
)

const hello = "./test/bin/testdata/hello"

func TestOptionsMakeDifferentPrograms(t *testing.T) {
	for name, test := range map[string]struct {
		options bin.Options
		want    string
	}{
		"by its version": {bin.Options{Package: hello, Version: "v1.2.3"}, "hello v1.2.3"},
		"by its tags":    {bin.Options{Package: hello, Version: "v1.2.3", Tags: []string{"loud"}}, "HELLO v1.2.3"},
		"by both":        {bin.Options{Package: hello, Version: "v4", Tags: []string{"loud"}}, "HELLO v4"},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := bin.Path(t.Context(), "hello", test.options)
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), path).Output()
			if got := strings.TrimSpace(string(out)); err != nil || got != test.want {
				t.Errorf("it says %q (%v), want %q", got, err, test.want)
			}
		})
	}
}

func TestSecondCallBuildsNothing(t *testing.T) {
	options := bin.Options{Package: hello}
	first, err := bin.Path(t.Context(), "hello", options)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "") // where go is not to be found
	second, err := bin.Path(t.Context(), "hello", options)
	if err != nil || second != first {
		t.Errorf("the second call gives %q, %v; want %q", second, err, first)
	}
	if _, err := os.Stat(second); err != nil {
		t.Error(err)
	}
}

// The test binaries of one go test build a program once; the next go test builds it anew.
func TestOneGoTestBuildsOnce(t *testing.T) {
	options := bin.Options{Package: hello, Version: "once"}
	path, err := bin.Path(t.Context(), "hello", options)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := os.ReadFile(path + ".run")
	if err != nil || len(signed) == 0 {
		t.Fatalf("it does not say which go test built it: %q, %v; run it by go test", signed, err)
	}
	t.Setenv("PATH", "") // where go is not to be found
	bin.Forget()
	if again, err := bin.Path(t.Context(), "hello", options); err != nil || again != path {
		t.Errorf("another test binary of this run gets %q, %v; want %q", again, err, path)
	}
	if err := os.WriteFile(path+".run", []byte("another run"), 0o644); err != nil {
		t.Fatal(err)
	}
	bin.Forget()
	if _, err := bin.Path(t.Context(), "hello", options); err == nil || !strings.Contains(err.Error(), "go") {
		t.Errorf("what another go test built is taken: %v", err)
	}
}

func TestCompilerIsQuoted(t *testing.T) {
	_, err := bin.Path(t.Context(), "no-such-program", bin.Options{})
	if err == nil || !strings.Contains(err.Error(), "no-such-program") || !strings.Contains(err.Error(), "directory not found") {
		t.Errorf("the error is %v", err)
	}
}

// A cache of many checkouts keeps builds that may still be needed.
func TestVariantsThatNobodyNeedsAreRemoved(t *testing.T) {
	cache, checkout := t.TempDir(), t.TempDir()
	t.Setenv("AXLE_CACHE", cache)
	if err := os.WriteFile(filepath.Join(checkout, "go.mod"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-73 * time.Hour)
	variants := map[string]struct {
		root string // no file with one if empty
		at   time.Time
		held bool
		stay bool
	}{
		"0000000000000001":  {root: checkout, at: time.Now(), stay: true},
		"0000000000000002":  {root: checkout, at: old},
		"0000000000000003":  {root: checkout, at: old, held: true, stay: true},
		"0000000000000004":  {root: filepath.Join(checkout, "gone"), at: time.Now()},
		"0000000000000005":  {root: filepath.Join(checkout, "gone"), at: time.Now(), held: true, stay: true},
		"0000000000000006":  {at: old},
		"0000000000000007":  {at: time.Now(), stay: true},
		"somebody-else's":   {at: old, stay: true},
		"00000000000000080": {root: checkout, at: old, stay: true},
	}
	for name, v := range variants {
		dir := filepath.Join(cache, "bin", name)
		if err := os.MkdirAll(filepath.Join(dir, "build"), 0o755); err != nil {
			t.Fatal(err)
		}
		if v.root != "" {
			use := filepath.Join(dir, "use")
			f, err := os.Create(use)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString(v.root + "\n"); err != nil {
				t.Fatal(err)
			}
			if v.held {
				if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chtimes(use, v.at, v.at); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(dir, v.at, v.at); err != nil {
			t.Fatal(err)
		}
	}
	path, err := bin.Path(t.Context(), "hello", bin.Options{Package: hello, Version: "cleaned"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Base(filepath.Dir(path)), "lock"}
	for name, v := range variants {
		if v.stay {
			want = append(want, name)
		}
	}
	entries, err := os.ReadDir(filepath.Join(cache, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	// What this process built is its own until it ends, old as it may be.
	use := filepath.Join(filepath.Dir(path), "use")
	if err := os.Chtimes(use, old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := bin.Path(t.Context(), "hello", bin.Options{Package: hello, Version: "cleaned-twice"}); err != nil {
		t.Fatal(err)
	}
	root, err := os.ReadFile(use)
	if err != nil || !strings.HasPrefix(string(root), "/") {
		t.Errorf("the variant in use says %q, %v", root, err)
	}
}
