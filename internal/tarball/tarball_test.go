package tarball_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/tarball"
)

type file struct {
	path, content string
	kind          digest.Type
}

func entries(files ...file) iter.Seq2[tarball.Entry, error] {
	return func(yield func(tarball.Entry, error) bool) {
		for _, f := range files {
			e := tarball.Entry{Path: f.path, Type: f.kind, Size: int64(len(f.content)), Body: strings.NewReader(f.content)}
			if f.kind == digest.Link {
				e = tarball.Entry{Path: f.path, Type: f.kind, Target: f.content}
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

var sample = []file{
	{"a.b", "one", digest.File},
	{"a/b", "two", digest.File},
	{"a/c/run.sh", "#!/bin/sh\n", digest.Executable},
	{"a/link", "../a.b", digest.Link},
	{"empty", "", digest.File},
	{"z/caf\u00e9 " + strings.Repeat("long", 40), "three", digest.File},
}

func write(t *testing.T, o tarball.Options, files ...file) ([]byte, digest.Digest) {
	t.Helper()
	var buf bytes.Buffer
	d, _, err := tarball.Write(&buf, entries(files...), o)
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), d
}

func TestRoundTrip(t *testing.T) {
	raw, d := write(t, tarball.Options{}, sample...)
	dir := filepath.Join(t.TempDir(), "out")
	got, stats, err := tarball.Unpack(t.Context(), bytes.NewReader(raw), dir, tarball.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got != d {
		t.Errorf("unpacked digest %s, written %s", got, d)
	}
	if stats.Files != len(sample) || stats.Bytes != int64(len("onetwothree#!/bin/sh\n")) {
		t.Errorf("stats are %+v", stats)
	}
	if again, _, err := tarball.Hash(t.Context(), dir, tarball.Limits{}); err != nil || again != d {
		t.Errorf("hash of the folder is %s (%v), want %s", again, err, d)
	}
	var buf bytes.Buffer
	if again, _, err := tarball.Write(&buf, tarball.Folder(t.Context(), dir), tarball.Options{}); err != nil || again != d {
		t.Errorf("written from the folder: %s (%v), want %s", again, err, d)
	}
	if target, err := os.Readlink(filepath.Join(dir, "a/link")); err != nil || target != "../a.b" {
		t.Errorf("link is %q, %v", target, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "a/c/run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("run.sh: %v, %v", info, err)
	}
}

func TestBytesAreDeterministicAndDigestIgnoresLevel(t *testing.T) {
	first, d := write(t, tarball.Options{}, sample...)
	again, _ := write(t, tarball.Options{}, sample...)
	if !bytes.Equal(first, again) {
		t.Error("two writes of the same entries differ")
	}
	for _, o := range []tarball.Options{{Level: tarball.Fastest}, {Level: tarball.Better, Concurrency: 1}} {
		if _, other := write(t, o, sample...); other != d {
			t.Errorf("%+v: digest %s, want %s", o, other, d)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	tests := map[string]struct {
		files  []file
		limits tarball.Limits
		want   string
	}{
		"unsorted":      {files: []file{{"b", "", 0}, {"a", "", 0}}, want: "must be sorted"},
		"twice":         {files: []file{{"a", "", 0}, {"a", "", 0}}, want: "must be sorted"},
		"case":          {files: []file{{"A", "", 0}, {"a", "", 0}}, want: "case only"},
		"escape":        {files: []file{{"../a", "", 0}}, want: `".."`},
		"escaping link": {files: []file{{"a", "../b", digest.Link}}, want: "outside"},
		"bytes":         {files: []file{{"a", "12345", 0}}, limits: tarball.Limits{Bytes: 4}, want: "more than 4 bytes"},
		"files":         {files: []file{{"a", "", 0}, {"b", "", 0}}, limits: tarball.Limits{Files: 1}, want: "more than 1 files"},
		"depth":         {files: []file{{"a/b/c", "", 0}}, limits: tarball.Limits{Depth: 2}, want: "deeper than 2"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := tarball.Write(io.Discard, entries(tt.files...), tarball.Options{Limits: tt.limits})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error is %v, want %q", err, tt.want)
			}
		})
	}
	short := func(yield func(tarball.Entry, error) bool) {
		yield(tarball.Entry{Path: "a", Size: 3, Body: strings.NewReader("ab")}, nil)
	}
	if _, _, err := tarball.Write(io.Discard, short, tarball.Options{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("short body: %v", err)
	}
}

// hostile writes headers as they are, without the checks of Write.
func hostile(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw, err := zstd.NewWriter(&buf)
	if err != nil {
		t.Fatal(err)
	}
	tw := tar.NewWriter(zw)
	for _, h := range headers {
		h.Mode = 0o644
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestUnpackRefuses(t *testing.T) {
	reg := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Size: 3} }
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
	}
	tests := map[string]struct {
		headers []tar.Header
		want    string
	}{
		"escape":              {[]tar.Header{reg("../evil")}, `".."`},
		"inner escape":        {[]tar.Header{reg("a/../../evil")}, `".."`},
		"absolute":            {[]tar.Header{reg("/tmp/evil")}, "absolute"},
		"absolute link":       {[]tar.Header{link("a", "/etc")}, "absolute"},
		"escaping link":       {[]tar.Header{link("a/b", "../../etc")}, "outside"},
		"through a link":      {[]tar.Header{link("a", "b"), reg("b/x"), reg("a/y")}, "both a file and a folder"},
		"over a link":         {[]tar.Header{link("a", "b"), reg("a")}, "twice"},
		"twice":               {[]tar.Header{reg("a"), reg("a")}, "twice"},
		"case":                {[]tar.Header{reg("a"), reg("A")}, "case only"},
		"device":              {[]tar.Header{{Name: "a", Typeflag: tar.TypeChar}}, "only files"},
		"fifo":                {[]tar.Header{{Name: "a", Typeflag: tar.TypeFifo}}, "only files"},
		"hard link":           {[]tar.Header{reg("a"), {Name: "b", Typeflag: tar.TypeLink, Linkname: "a"}}, "only files"},
		"directory":           {[]tar.Header{{Name: "a", Typeflag: tar.TypeDir}}, "only files"},
		"bomb":                {[]tar.Header{{Name: "a", Typeflag: tar.TypeReg, Size: 20 << 20}}, "more than 1048576 bytes"},
		"many files":          {[]tar.Header{reg("a"), reg("b"), reg("c"), reg("d"), reg("e")}, "more than 4 files"},
		"deep":                {[]tar.Header{reg(strings.Repeat("a/", 9) + "b")}, "deeper than 8"},
		"control character":   {[]tar.Header{reg("a\nb")}, "control character"},
		"folder then a file":  {[]tar.Header{reg("a/b"), reg("a")}, "both a file and a folder"},
		"link beneath a file": {[]tar.Header{reg("a"), link("a/b", "c")}, "both a file and a folder"},
	}
	limits := tarball.Limits{Bytes: 1 << 20, Files: 4, Depth: 8}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "out")
			_, _, err := tarball.Unpack(t.Context(), bytes.NewReader(hostile(t, tt.headers...)), dir, limits)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error is %v, want %q", err, tt.want)
			}
			if left, _ := os.ReadDir(parent); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestUnpackOfDamagedBytes(t *testing.T) {
	raw, _ := write(t, tarball.Options{}, sample...)
	for name, bad := range map[string][]byte{
		"cut":     raw[:len(raw)/2],
		"html":    []byte("<html>sign in</html>"),
		"empty":   {},
		"flipped": append(append([]byte{}, raw[:len(raw)/2]...), append([]byte{raw[len(raw)/2] ^ 0xff}, raw[len(raw)/2+1:]...)...),
	} {
		dir := filepath.Join(t.TempDir(), "out")
		if d, _, err := tarball.Unpack(t.Context(), bytes.NewReader(bad), dir, tarball.Limits{}); err == nil {
			t.Errorf("%s: unpacked as %s", name, d)
		}
	}
}

func TestUnpackNeedsAnEmptyFolderAndStopsWhenTold(t *testing.T) {
	raw, _ := write(t, tarball.Options{}, sample...)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tarball.Unpack(t.Context(), bytes.NewReader(raw), dir, tarball.Limits{}); err == nil {
		t.Error("unpacked over other files")
	}
	if _, err := os.Stat(filepath.Join(dir, "mine")); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := tarball.Unpack(ctx, bytes.NewReader(raw), filepath.Join(t.TempDir(), "x"), tarball.Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want canceled", err)
	}
}

func TestHashSeesEveryChange(t *testing.T) {
	raw, d := write(t, tarball.Options{}, sample...)
	changes := map[string]func(dir string) error{
		"content": func(dir string) error { return os.WriteFile(filepath.Join(dir, "a/b"), []byte("tw0"), 0o644) },
		"mode":    func(dir string) error { return os.Chmod(filepath.Join(dir, "a/b"), 0o755) },
		"added":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "new"), nil, 0o644) },
		"removed": func(dir string) error { return os.Remove(filepath.Join(dir, "empty")) },
		"link": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "a/link")), os.Symlink("b", filepath.Join(dir, "a/link")))
		},
	}
	got := map[string]bool{}
	for name, change := range changes {
		dir := filepath.Join(t.TempDir(), "out")
		if _, _, err := tarball.Unpack(t.Context(), bytes.NewReader(raw), dir, tarball.Limits{}); err != nil {
			t.Fatal(err)
		}
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		after, _, err := tarball.Hash(t.Context(), dir, tarball.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got[name] = after != d
	}
	want := map[string]bool{"content": true, "mode": true, "added": true, "removed": true, "link": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}
