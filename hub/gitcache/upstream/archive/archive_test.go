package archive_test

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/hub/gitcache/upstream/archive"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
)

func plain(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		h.Mode = 0o755
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFormsOfAnArchive(t *testing.T) {
	t.Parallel()
	raw := plain(t, tar.Header{Name: "./a/run.sh", Typeflag: tar.TypeReg, Size: 3}, tar.Header{Name: "a/l", Typeflag: tar.TypeSymlink, Linkname: "run.sh"},
		tar.Header{Name: "a/d/", Typeflag: tar.TypeDir})
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"plain": raw, "zstd": enc.EncodeAll(raw, nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if _, err := archive.Unpack(t.Context(), bytes.NewReader(data), dir, archive.Options{}); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(filepath.Join(dir, "a/l"))
			if err != nil || info.Size() != 3 || info.Mode().Perm() != 0o755 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
}

// TestALaterArchiveDoesNotWriteThroughAnEarlierOne checks that a link from one
// layer is replaced by the next layer, not followed.
func TestALaterArchiveDoesNotWriteThroughAnEarlierOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, raw := range [][]byte{
		plain(t, tar.Header{Name: "target", Typeflag: tar.TypeReg, Size: 3}, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "target"}),
		plain(t, tar.Header{Name: "l", Typeflag: tar.TypeReg, Size: 7}),
	} {
		if _, err := archive.Unpack(t.Context(), bytes.NewReader(raw), dir, archive.Options{Over: true}); err != nil {
			t.Fatal(err)
		}
	}
	target, err := os.Stat(filepath.Join(dir, "target"))
	link, err2 := os.Lstat(filepath.Join(dir, "l"))
	if err != nil || err2 != nil || target.Size() != 3 || link.Size() != 7 || !link.Mode().IsRegular() {
		t.Errorf("target %v %v, link %v %v", target, err, link, err2)
	}
}

// TestALaterArchiveGoesThroughNoLink checks entries below a link of an earlier layer: the
// link leads up, so that another one, whose target is counted from where it seems to be,
// would lead out.
func TestALaterArchiveGoesThroughNoLink(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string]tar.Header{
		"a file": {Name: "a/b/up/target", Typeflag: tar.TypeReg, Size: 7}, "a link": {Name: "a/b/up/l", Typeflag: tar.TypeSymlink, Linkname: "../../../passwd"},
		"a file of a new folder": {Name: "a/b/up/c/target", Typeflag: tar.TypeReg, Size: 7}, "a file, by a chain": {Name: "a/b/chain/target", Typeflag: tar.TypeReg, Size: 7},
		"a file, by what is not there": {Name: "a/b/nothing/target", Typeflag: tar.TypeReg, Size: 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			links := plain(t, tar.Header{Name: "target", Typeflag: tar.TypeReg, Size: 3}, tar.Header{Name: "a/b/up", Typeflag: tar.TypeSymlink, Linkname: "../.."},
				tar.Header{Name: "a/b/chain", Typeflag: tar.TypeSymlink, Linkname: "up"}, tar.Header{Name: "a/b/nothing", Typeflag: tar.TypeSymlink, Linkname: "../c"})
			if _, err := archive.Unpack(t.Context(), bytes.NewReader(links), dir, archive.Options{Over: true}); err != nil {
				t.Fatal(err)
			}
			_, err := archive.Unpack(t.Context(), bytes.NewReader(plain(t, entry)), dir, archive.Options{Over: true})
			if !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), "below a file or a link") {
				t.Errorf("%v", err)
			}
			if info, err := os.Stat(filepath.Join(dir, "target")); err != nil || info.Size() != 3 {
				t.Errorf("the file that the link leads to is %v, %v", info, err)
			}
			for _, made := range []string{"l", "c"} {
				if _, err := os.Lstat(filepath.Join(dir, made)); err == nil {
					t.Errorf("%s was made", made)
				}
			}
		})
	}
}

// FuzzUnpack feeds any bytes as a tar. Nothing appears beside the folder, and
// what appears in it is what a tarball may hold.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte{})
	for _, h := range []tar.Header{
		{Name: "a/b", Typeflag: tar.TypeReg, Size: 3}, {Name: "../a", Typeflag: tar.TypeReg}, {Name: "a/l", Typeflag: tar.TypeSymlink, Linkname: "../../b"},
		{Name: "a/d/", Typeflag: tar.TypeDir}, {Name: "a/h", Typeflag: tar.TypeLink, Linkname: "a/b"},
		{Name: "a/.wh.b", Typeflag: tar.TypeReg}, {Name: ".wh..wh..opq", Typeflag: tar.TypeReg}, {Name: `a\b`, Typeflag: tar.TypeReg},
	} {
		f.Add(plain(f, h))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "out")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "below"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		limits := tarball.Limits{Bytes: 1 << 20, Files: 50, Depth: 8}
		_, err := archive.Unpack(t.Context(), bytes.NewReader(raw), dir, archive.Options{Strip: len(raw)%2 == 0, Over: len(raw)%3 == 0, Whiteouts: len(raw)%6 == 3, Limits: limits})
		if err != nil && errcode.Of(err) == errcode.Internal && !strings.Contains(err.Error(), dir) {
			t.Logf("error without a code: %v", err)
		}
		left, readErr := os.ReadDir(parent)
		if readErr != nil || len(left) != 1 {
			t.Fatalf("beside the folder: %v %v", left, readErr)
		}
		_ = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0 {
				t.Fatalf("%s: %v %v", p, e, err)
			}
			return nil
		})
		if err == nil {
			if _, _, err := tarball.Hash(t.Context(), dir, limits); err != nil {
				t.Fatalf("what was accepted cannot be sent on: %v", err)
			}
		}
	})
}

// TestWhiteouts lays archives over each other as the layers of an image.
func TestWhiteouts(t *testing.T) {
	t.Parallel()
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	folder := func(name string) tar.Header { return tar.Header{Name: name + "/", Typeflag: tar.TypeDir} }
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
	}
	tests := map[string]struct {
		layers [][]tar.Header
		plain  bool // not the layers of an image
		want   string
		err    string
	}{
		"a file":               {layers: [][]tar.Header{{file("a"), file("d/b"), file("d/c")}, {file("d/.wh.b")}}, want: "a d/c"},
		"a folder":             {layers: [][]tar.Header{{file("a"), file("d/b"), file("d/c")}, {file(".wh.d")}}, want: "a"},
		"a link":               {layers: [][]tar.Header{{file("d/b"), link("l", "d")}, {file(".wh.l")}}, want: "d/b"},
		"beneath a link":       {layers: [][]tar.Header{{file("d/b"), file("d/c"), link("l", "d")}, {file("l/.wh.b")}}, want: "d/c l"},
		"nothing is there":     {layers: [][]tar.Header{{file("a")}, {file("x/.wh.y"), file("x/.wh..wh..opq")}}, want: "a"},
		"below a file":         {layers: [][]tar.Header{{file("a")}, {file("a/.wh.b"), file("a/.wh..wh..opq")}}, want: "a"},
		"below a circle":       {layers: [][]tar.Header{{link("l", "l")}, {file("l/.wh.b"), file("l/.wh..wh..opq")}}, want: "l"},
		"before its successor": {layers: [][]tar.Header{{file("d/b"), file("d/c")}, {file(".wh.d"), file("d/e")}}, want: "d/e"},
		"after its successor":  {layers: [][]tar.Header{{file("d/b"), file("d/c")}, {file("d/e"), file(".wh.d")}}, want: "d/e"},
		"of its own layer":     {layers: [][]tar.Header{{file("a")}, {file("d/b"), file("d/.wh.b")}}, want: "a d/b"},
		"opaque":               {layers: [][]tar.Header{{file("a"), file("d/b"), file("d/s/c")}, {file("d/s/e"), file("d/.wh..wh..opq")}}, want: "a d/s/e"},
		"opaque first":         {layers: [][]tar.Header{{file("d/b")}, {file("d/.wh..wh..opq"), file("d/b2")}}, want: "d/b2"},
		"all":                  {layers: [][]tar.Header{{file("a"), file("d/b")}, {file(".wh..wh..opq"), file("c")}}, want: "c"},
		"again":                {layers: [][]tar.Header{{file("a")}, {file(".wh.a")}, {file("a")}}, want: "a"},
		"notes of aufs":        {layers: [][]tar.Header{{file("a")}, {file(".wh..wh.plnk"), file(".wh..wh.aufs")}}, want: "a"},
		"nothing is named":     {layers: [][]tar.Header{{file("a")}, {file(".wh.")}}, err: "names nothing"},
		"the folder above":     {layers: [][]tar.Header{{file("a")}, {file("d/.wh...")}}, err: "names nothing"},
		"not of an image":      {layers: [][]tar.Header{{file("a")}, {file(".wh.a")}}, plain: true, want: ".wh.a a"},
		"a file for a folder":  {layers: [][]tar.Header{{file("d/b"), file("d/c")}, {file("d")}}, want: "d"},
		"a folder for a file":  {layers: [][]tar.Header{{file("d")}, {folder("d"), file("d/b")}}, want: "d/b"},
		"a folder for a link":  {layers: [][]tar.Header{{file("e/b"), link("d", "e")}, {folder("d"), file("d/c")}}, want: "d/c e/b"},
		"a folder in between":  {layers: [][]tar.Header{{file("d")}, {file("d/b")}}, err: "below a file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var all tarball.Stats
			var err error
			for _, headers := range tt.layers {
				if all, err = archive.Unpack(t.Context(), bytes.NewReader(plain(t, headers...)), dir, archive.Options{Over: true, Whiteouts: !tt.plain, Before: all}); err != nil {
					break
				}
			}
			if tt.err != "" {
				if !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			_ = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
				if err != nil {
					t.Error(err)
				} else if !e.IsDir() {
					got = append(got, strings.TrimPrefix(p, dir+"/"))
				}
				return nil
			})
			if have := strings.Join(got, " "); have != tt.want {
				t.Errorf("%s; want %s", have, tt.want)
			}
		})
	}
}

// TestLimitsOfArchivesTogether has archives that are each within the limit.
func TestLimitsOfArchivesTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all tarball.Stats
	var err error
	for _, name := range []string{"a", "b", "c"} {
		o := archive.Options{Over: true, Before: all, Limits: tarball.Limits{Bytes: 2500}}
		if all, err = archive.Unpack(t.Context(), bytes.NewReader(plain(t, tar.Header{Name: name, Typeflag: tar.TypeReg, Size: 1000})), dir, o); err != nil {
			break
		}
	}
	if !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), "more than 2500 bytes") {
		t.Errorf("error is %v", err)
	}
}
