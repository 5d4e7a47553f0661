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
			if err := archive.Unpack(t.Context(), bytes.NewReader(data), dir, archive.Options{}); err != nil {
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
		if err := archive.Unpack(t.Context(), bytes.NewReader(raw), dir, archive.Options{Over: true}); err != nil {
			t.Fatal(err)
		}
	}
	target, err := os.Stat(filepath.Join(dir, "target"))
	link, err2 := os.Lstat(filepath.Join(dir, "l"))
	if err != nil || err2 != nil || target.Size() != 3 || link.Size() != 7 || !link.Mode().IsRegular() {
		t.Errorf("target %v %v, link %v %v", target, err, link, err2)
	}
}

// FuzzUnpack feeds any bytes as a tar. Nothing appears beside the folder, and
// what appears in it is what a tarball may hold.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte{})
	for _, h := range []tar.Header{
		{Name: "a/b", Typeflag: tar.TypeReg, Size: 3}, {Name: "../a", Typeflag: tar.TypeReg}, {Name: "a/l", Typeflag: tar.TypeSymlink, Linkname: "../../b"},
		{Name: "a/d/", Typeflag: tar.TypeDir}, {Name: "a/h", Typeflag: tar.TypeLink, Linkname: "a/b"},
	} {
		f.Add(plain(f, h))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "out")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		limits := tarball.Limits{Bytes: 1 << 20, Files: 50, Depth: 8}
		err := archive.Unpack(t.Context(), bytes.NewReader(raw), dir, archive.Options{Strip: len(raw)%2 == 0, Over: len(raw)%3 == 0, Limits: limits})
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
