package tree_test

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/tree"
)

// build makes a tree; a text that starts with "-> " is a link.
func build(files map[string]string) (*tree.Tree, error) {
	out := tree.New()
	for name, text := range files {
		var err error
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = out.Link(name, target)
		} else {
			err = out.Add(name, []byte(text))
		}
		if err != nil {
			return nil, err
		}
	}
	return out, out.Seal()
}

func TestLinks(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  map[string]string // what reads as what; "!" and a text is an error
		fail  string
	}{
		"to a file":       {files: map[string]string{"a": "-> d/b", "d/b": "x"}, want: map[string]string{"a": "x", "d/b": "x"}},
		"to a folder":     {files: map[string]string{"l": "-> d", "d/b": "x", "d/e/f": "y"}, want: map[string]string{"l/b": "x", "l/e/f": "y"}},
		"through another": {files: map[string]string{"a": "-> b", "b": "-> c", "c": "x"}, want: map[string]string{"a": "x"}},
		"inside a linked": {files: map[string]string{"l": "-> d", "d/a": "-> ../x", "x": "1"}, want: map[string]string{"l/a": "1"}},
		"sibling":         {files: map[string]string{"d/l": "-> ../e", "e/a": "1", "d-other/a": "2"}, want: map[string]string{"d/l/a": "1"}},
		"to nothing":      {files: map[string]string{"a": "-> none", "b": "x"}, want: map[string]string{"a": "!does not exist", "b": "x"}},
		"absolute":        {files: map[string]string{"a": "-> /etc/passwd", "b": "x", "etc/passwd": "y"}, want: map[string]string{"a": "!outside", "b": "x"}},
		"up":              {files: map[string]string{"d/a": "-> ../../b", "d/b": "x"}, want: map[string]string{"d/a": "!outside", "d/a/c": "!outside", "d/b": "x"}},
		"up by a link":    {files: map[string]string{"d/e/l": "-> ../..", "d/e/m": "-> l/../x", "x": "1"}, want: map[string]string{"d/e/l": "!contains the link itself", "d/e/m": "!does not exist", "x": "1"}},
		"to itself":       {files: map[string]string{"a": "-> a"}, want: map[string]string{"a": "!in a row"}},
		"in a ring":       {files: map[string]string{"a": "-> b", "b": "-> a"}, want: map[string]string{"a": "!in a row"}},
		"to the root":     {files: map[string]string{"d/l": "-> ..", "a": "x"}, want: map[string]string{"d/l": "!contains the link itself", "d/l/a": "!contains", "a": "x"}},
		"to each other":   {files: map[string]string{"a/l": "-> ../b", "b/l": "-> ../a", "a/x": "1", "b/x": "2"}, want: map[string]string{"a/x": "1", "a/l/x": "2", "a/l/l": "!contains the link itself"}},
		"bad name":        {files: map[string]string{"../a": "x"}, fail: "not a valid"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files, err := build(test.files)
			if test.fail != "" {
				var bad *tree.Error
				if !errors.As(err, &bad) || !strings.Contains(bad.Message, test.fail) {
					t.Errorf("got %v, want ...%s...", err, test.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range test.want {
				got, err := files.Read(name)
				if want, isError := strings.CutPrefix(want, "!"); isError {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: got %v, want ...%s...", name, err, want)
					}
				} else if err != nil || string(got) != want {
					t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
				}
			}
		})
	}
}

// TestLeftOut holds that what is left out has its reason, and hides nothing that is there.
func TestLeftOut(t *testing.T) {
	files, err := build(map[string]string{"a/b": "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "a/b", "a/lib", "../up", "a/lib"} {
		files.LeaveOut(name, "a submodule")
	}
	if diff := cmp.Diff([]string{"a/b", "a/lib"}, files.Below(".")); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"a": "", "a/b": "", "a/c": "", "a/lib": "a submodule", "a/lib/deep/c": "a submodule"} {
		if got := files.Why(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if _, err := files.Read("a/lib/c"); err == nil || err.Error() != "a submodule" {
		t.Errorf("got %v", err)
	}
}

func TestLinksThatMultiplyAreBounded(t *testing.T) {
	files := map[string]string{"d0/a": "x", "d0/none": "-> nowhere"}
	for i := range 40 {
		for _, name := range []string{"l", "m", "n"} {
			files[fmt.Sprintf("d%d/%s", i+1, name)] = fmt.Sprintf("-> ../d%d", i)
		}
	}
	_, err := build(files)
	if err == nil || !strings.Contains(err.Error(), "more than 200000 files") {
		t.Errorf("got %v, want the limit", err)
	}
}

func TestBelow(t *testing.T) {
	files, err := build(map[string]string{"a/b": "", "a/c/d": "", "a-x/e": "", "a0": "", "f": ""})
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string][]string{
		"a": {"a/b", "a/c/d"}, "a/c": {"a/c/d"}, ".": {"a-x/e", "a/b", "a/c/d", "a0", "f"}, "f": {}, "none": {},
	} {
		if diff := cmp.Diff(want, append([]string{}, files.Below(dir)...)); diff != "" {
			t.Errorf("below %s (-want +got):\n%s", dir, diff)
		}
	}
	if files.IsDir("f") || !files.IsDir("a/c") || files.IsFile("a/c") || !files.IsFile("f") {
		t.Error("files and folders are mixed up")
	}
}

func TestOmittedFileIsThereAndUnreadable(t *testing.T) {
	files := tree.New()
	if err := errors.Join(files.Omit("big", 50<<20), files.Seal()); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Read("big"); !files.IsFile("big") || err == nil || !strings.Contains(err.Error(), "52428800 bytes") {
		t.Errorf("got %v, want the size said", err)
	}
}

// FuzzSeal seals trees of links: it ends, and all that can be read was put.
func FuzzSeal(f *testing.F) {
	f.Add("a -> b\nb -> c/d\nc/d/e = x")
	f.Add("a/l -> ../b\nb/l -> ../a\na/x = 1\nb/y = 2")
	f.Add("d/l -> ..\na = x")
	f.Fuzz(func(t *testing.T, script string) {
		files, texts := tree.New(), map[string]bool{}
		for i, line := range strings.Split(script, "\n") {
			if i > 50 {
				break
			}
			if name, target, ok := strings.Cut(line, " -> "); ok {
				_ = files.Link(name, target)
			} else if name, text, ok := strings.Cut(line, " = "); ok && files.Add(name, []byte(text)) == nil {
				texts[text] = true
			}
		}
		if files.Seal() != nil {
			return
		}
		for _, name := range files.Below(".") {
			if path.Clean(name) != name || path.IsAbs(name) || strings.HasPrefix(name, "../") {
				t.Errorf("a name outside: %q", name)
			}
			if text, err := files.Read(name); err == nil && !texts[string(text)] {
				t.Errorf("%s reads %q, which was not put", name, text)
			}
		}
	})
}
