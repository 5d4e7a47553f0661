package tarball_test

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/internal/tarball"
)

// FuzzUnpack feeds any bytes as a tar. Whatever is accepted hashes to the
// digest that was reported, and nothing appears beside the folder.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte{})
	for _, h := range []tar.Header{
		{Name: "a", Typeflag: tar.TypeReg, Size: 3}, {Name: "../a", Typeflag: tar.TypeReg},
		{Name: "a/l", Typeflag: tar.TypeSymlink, Linkname: "../b"}, {Name: "d", Typeflag: tar.TypeDir},
	} {
		zr, err := zstd.NewReader(bytes.NewReader(hostile(f, h)))
		if err != nil {
			f.Fatal(err)
		}
		var plain bytes.Buffer
		if _, err := plain.ReadFrom(zr); err != nil {
			f.Fatal(err)
		}
		f.Add(plain.Bytes())
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	limits := tarball.Limits{Bytes: 1 << 20, Files: 100, Depth: 8}
	f.Fuzz(func(t *testing.T, plain []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "out")
		d, stats, err := tarball.Unpack(t.Context(), bytes.NewReader(enc.EncodeAll(plain, nil)), dir, limits)
		left, _ := os.ReadDir(parent)
		if err != nil {
			if len(left) != 0 {
				t.Fatalf("left behind: %v", left)
			}
			return
		}
		if len(left) != 1 {
			t.Fatalf("beside the folder: %v", left)
		}
		again, same, err := tarball.Hash(t.Context(), dir, limits)
		if err != nil || again != d || same != stats {
			t.Fatalf("hash is %s %+v %v, unpacked as %s %+v", again, same, err, d, stats)
		}
		_ = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0 {
				t.Fatalf("%s: %v %v", p, e, err)
			}
			return nil
		})
	})
}
