package tarball

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/internal/digest"
)

var updateDeltas = flag.Bool("update", false, "write the vectors anew")

const deltaVectors = "testdata/delta-vectors.json"

type deltaVector struct {
	Name     string        `json:"name"`
	From     []vectorEntry `json:"from"`
	To       []vectorEntry `json:"to"`
	Manifest string        `json:"manifest"`
	// Delta is one that some version wrote; every version must be able to
	// apply it. Its bytes are not promised.
	Delta string `json:"delta"`
}

type vectorEntry struct {
	Path    string      `json:"path"`
	Type    digest.Type `json:"type"`
	Content string      `json:"content"`
}

func seqOf(all []vectorEntry) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, v := range all {
			e := Entry{Path: v.Path, Type: v.Type, Size: int64(len(v.Content)), Body: strings.NewReader(v.Content)}
			if v.Type == digest.Link {
				e = Entry{Path: v.Path, Type: v.Type, Target: v.Content}
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func pack(t testing.TB, all []vectorEntry) ([]byte, digest.Digest) {
	t.Helper()
	var out bytes.Buffer
	d, _, err := Write(&out, seqOf(all), Options{Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), d
}

func tree(t testing.TB, raw []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	if _, _, err := Unpack(t.Context(), bytes.NewReader(raw), dir, Limits{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDeltaVectors(t *testing.T) {
	text, err := os.ReadFile(deltaVectors)
	if err != nil {
		t.Fatal(err)
	}
	var all []deltaVector
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 5 {
		t.Fatalf("only %d vectors", len(all))
	}
	for i := range all {
		v := &all[i]
		rawA, a := pack(t, v.From)
		rawB, b := pack(t, v.To)
		var out bytes.Buffer
		if err := WriteDelta(t.Context(), &out, bytes.NewReader(rawA), bytes.NewReader(rawB), Delta{a, b}); err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		m, err := readManifest(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if *updateDeltas {
			v.Manifest, v.Delta = string(m.encode()), base64.StdEncoding.EncodeToString(out.Bytes())
		}
		if diff := cmp.Diff(v.Manifest, string(m.encode())); diff != "" {
			t.Errorf("%s: manifest (-want +got):\n%s", v.Name, diff)
		}
		kept, err := base64.StdEncoding.DecodeString(v.Delta)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := ApplyDelta(t.Context(), bytes.NewReader(kept), tree(t, rawA), filepath.Join(t.TempDir(), "new"), Delta{a, b}, Limits{})
		if err != nil || got != b {
			t.Errorf("%s: the kept delta makes %s, want %s: %v", v.Name, got, b, err)
		}
	}
	if *updateDeltas {
		text, err := json.MarshalIndent(all, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(deltaVectors, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// forged is a delta by hand.
func forged(t testing.TB, manifest string, base []byte, entries ...tar.Header) []byte {
	t.Helper()
	var body bytes.Buffer
	tw := tar.NewWriter(&body)
	for _, h := range entries {
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := writeFrames(&out, []byte(manifest), body.Bytes(), base); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestHostileDeltas: whatever a delta says, nothing is written beside the
// folder, nothing outside the old content is read, and limits hold.
func TestHostileDeltas(t *testing.T) {
	rawA, a := pack(t, []vectorEntry{{"a/b", digest.File, "old"}, {"link", digest.Link, "a/b"}, {"run", digest.Executable, "#!"}})
	b := digest.New().Digest()
	head := "from\t" + a.String() + "\nto\t" + b.String() + "\n"
	file := func(name string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: 3}
	}
	zeros, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := zeros.EncodeAll(make([]byte, maxManifest+1), nil)
	tests := map[string]struct {
		delta []byte
		want  string
	}{
		"entry escapes":            {forged(t, head, nil, file("../x")), `segment ".."`},
		"entry absolute":           {forged(t, head, nil, file("/etc/x")), "is absolute"},
		"entry twice":              {forged(t, head, nil, file("x"), file("x")), "twice"},
		"entry differs by case":    {forged(t, head, nil, file("RUN")), "case only"},
		"entry below a kept file":  {forged(t, head, nil, file("run/x")), "both a file and a folder"},
		"entry below a kept link":  {forged(t, head, nil, file("link/x")), "both a file and a folder"},
		"link escapes":             {forged(t, head, nil, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "../../etc"}), "outside the content"},
		"write through a new link": {forged(t, head, nil, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "a"}, file("l/b")), "both a file and a folder"},
		"hard link":                {forged(t, head, nil, tar.Header{Name: "l", Typeflag: tar.TypeLink, Linkname: "run"}), "only files and symbolic links"},
		"device":                   {forged(t, head, nil, tar.Header{Name: "l", Typeflag: tar.TypeChar}), "only files and symbolic links"},
		"set-uid is only a bit":    {forged(t, head, nil, tar.Header{Name: "s", Typeflag: tar.TypeReg, Mode: 0o6755}), ""},
		"remove escapes":           {forged(t, head+"remove\t../../etc/passwd\n", nil), `segment ".."`},
		"remove of nothing":        {forged(t, head+"remove\tnowhere\n", nil), "does not have"},
		"remove below a link":      {forged(t, head+"remove\tlink/x\n", nil), "does not have"},
		"copy from outside":        {forged(t, head+"copy\tfile\t../secret\tx\n", nil), `segment ".."`},
		"copy to outside":          {forged(t, head+"copy\tfile\trun\t../x\n", nil), `segment ".."`},
		"copy of a link":           {forged(t, head+"copy\tfile\tlink\tx\n", nil), "not there"},
		"copy of a folder":         {forged(t, head+"copy\tfile\ta\tx\n", nil), "not there"},
		"copy with a mode of ours": {forged(t, head+"copy\tdevice\trun\tx\n", nil), "does not know"},
		"copy over an entry":       {forged(t, head+"copy\tfile\trun\tx\n", nil, file("x")), "twice"},
		"base outside":             {forged(t, head+"base\t/etc/passwd\n", []byte("x")), "is absolute"},
		"base is a link":           {forged(t, head+"base\tlink\n", []byte("x")), "not there"},
		"unknown line":             {forged(t, head+"chown\troot\n", nil), "does not know"},
		"two origins":              {forged(t, head+head, nil), "does not know"},
		"other origin":             {forged(t, "from\t"+b.String()+"\nto\t"+b.String()+"\n", nil), "wanted is"},
		"no origin":                {forged(t, "", nil), "wanted is"},
		"manifest too large":       {append([]byte(deltaMagic), 0xff, 0xff, 0xff, 0xff), "more than"},
		"manifest a bomb":          {append(append([]byte(deltaMagic), 0, 0, byte(len(bomb)>>8), byte(len(bomb))), bomb...), "unpacks to more"},
		"cut in the manifest":      {forged(t, head, nil)[:len(deltaMagic)+8], "EOF"},
		"more bytes than allowed":  {forged(t, head, nil, tar.Header{Name: "big", Typeflag: tar.TypeReg, Size: 2000}), "bytes"},
		"goes on after its end":    {endless(t, head), "goes on"},
		"nothing":                  {nil, "EOF"},
		"a tarball":                {rawA, "does not begin"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "new")
			_, _, err := ApplyDelta(t.Context(), bytes.NewReader(tt.delta), tree(t, rawA), dir, Delta{a, b}, Limits{Bytes: 1000, Files: 10, Depth: 4})
			left, _ := os.ReadDir(parent)
			if tt.want == "" {
				if info, statErr := os.Stat(filepath.Join(dir, "s")); err != nil || statErr != nil || info.Mode()&os.ModeSetuid != 0 {
					t.Errorf("%v, %v", err, statErr)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(left) != 0 {
				t.Errorf("error %v, want %q; left behind %v", err, tt.want, left)
			}
		})
	}
}

// endless has 2 MB after the end of its archive.
func endless(t testing.TB, head string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := writeFrames(&out, []byte(head), make([]byte, 2<<20), nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// FuzzApplyDelta feeds any manifest and any archive. Whatever is accepted
// hashes to the digest that was reported, nothing appears beside the folder,
// and the old content stays as it is.
func FuzzApplyDelta(f *testing.F) {
	rawA, a := pack(f, []vectorEntry{{"a/b", digest.File, "old old old"}, {"link", digest.Link, "a/b"}, {"run", digest.Executable, "#!"}})
	b := digest.New().Digest()
	have := tree(f, rawA)
	for _, lines := range []string{"", "remove\ta/b\n", "copy\tfile\trun\tx\n", "base\ta/b\n", "base\trun\nremove\tlink\ncopy\texecutable\ta/b\ta/c\n"} {
		plain := forged(f, lines, nil, tar.Header{Name: "n", Typeflag: tar.TypeReg, Size: 3})
		zr, err := zstd.NewReader(nil)
		if err != nil {
			f.Fatal(err)
		}
		at := len(deltaMagic) + 4
		n := int(plain[at-2])<<8 | int(plain[at-1])
		archive, err := zr.DecodeAll(plain[at+n:], nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(lines, archive)
	}
	limits := Limits{Bytes: 1 << 20, Files: 100, Depth: 8}
	f.Fuzz(func(t *testing.T, lines string, archive []byte) {
		m := manifest{from: a, to: b}
		var delta bytes.Buffer
		if err := writeFrames(&delta, append(m.encode(), lines...), archive, nil); err != nil {
			t.Fatal(err)
		}
		parent := t.TempDir()
		dir := filepath.Join(parent, "new")
		got, stats, err := ApplyDelta(t.Context(), bytes.NewReader(delta.Bytes()), have, dir, Delta{a, b}, limits)
		left, _ := os.ReadDir(parent)
		if err != nil && len(left) != 0 || err == nil && len(left) != 1 {
			t.Fatalf("beside the folder: %v (%v)", left, err)
		}
		if err == nil {
			again, same, err := Hash(t.Context(), dir, limits)
			if err != nil || again != got || same != stats {
				t.Fatalf("hash is %s %+v %v, made was %s %+v", again, same, err, got, stats)
			}
		}
		if old, _, err := Hash(t.Context(), have, Limits{}); err != nil || old != a {
			t.Fatalf("the old content changed: %s, %v", old, err)
		}
	})
}

// FuzzReadDelta feeds any bytes as a whole delta.
func FuzzReadDelta(f *testing.F) {
	rawA, a := pack(f, []vectorEntry{{"a", digest.File, "old"}})
	rawB, b := pack(f, []vectorEntry{{"a", digest.File, "new"}, {"b", digest.File, "new"}})
	var delta bytes.Buffer
	if err := WriteDelta(f.Context(), &delta, bytes.NewReader(rawA), bytes.NewReader(rawB), Delta{a, b}); err != nil {
		f.Fatal(err)
	}
	f.Add(delta.Bytes())
	f.Add([]byte(deltaMagic))
	have := tree(f, rawA)
	f.Fuzz(func(t *testing.T, raw []byte) {
		parent := t.TempDir()
		if _, _, err := ApplyDelta(t.Context(), bytes.NewReader(raw), have, filepath.Join(parent, "new"), Delta{a, b}, Limits{Bytes: 1 << 20, Files: 100, Depth: 8}); err != nil {
			if left, _ := os.ReadDir(parent); len(left) != 0 {
				t.Fatalf("left behind: %v", left)
			}
		}
	})
}

// FuzzDigest: reading a tarball and unpacking it agree, also on what they
// refuse for what it is.
func FuzzDigest(f *testing.F) {
	rawA, _ := pack(f, []vectorEntry{{"a/b", digest.File, "x"}, {"l", digest.Link, "a"}, {"r", digest.Executable, "y"}})
	zr, err := zstd.NewReader(nil)
	if err != nil {
		f.Fatal(err)
	}
	plain, err := zr.DecodeAll(rawA, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Add([]byte{})
	zw, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	limits := Limits{Bytes: 1 << 20, Files: 100, Depth: 8}
	f.Fuzz(func(t *testing.T, plain []byte) {
		raw := zw.EncodeAll(plain, nil)
		read, readErr := Digest(t.Context(), bytes.NewReader(raw), limits)
		unpacked, _, err := Unpack(t.Context(), bytes.NewReader(raw), filepath.Join(t.TempDir(), "out"), limits)
		var path *os.PathError
		if errors.As(err, &path) {
			return // this filesystem has limits of its own
		}
		if (err == nil) != (readErr == nil) || err == nil && read != unpacked {
			t.Fatalf("read gives %s %v, unpack %s %v", read, readErr, unpacked, err)
		}
	})
}
