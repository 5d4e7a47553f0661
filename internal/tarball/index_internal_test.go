package tarball

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/internal/digest"
)

// smallFrame makes several frames of little.
const smallFrame = 64 << 10

func packFrames(t testing.TB, all []vectorEntry) ([]byte, digest.Digest) {
	t.Helper()
	var out bytes.Buffer
	d, _, err := Write(&out, seqOf(all), Options{Concurrency: 2, frame: smallFrame})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), d
}

// text is so many bytes that compress as settings do.
func text(r *rand.Rand, size int) string {
	var b strings.Builder
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, "setting-%05d: %x\n", n, r.Uint32())
	}
	return b.String()[:size]
}

// wood is a tree of several frames: small and large files, a file over
// several frames, links, empty files.
func wood(r *rand.Rand) []vectorEntry {
	var all []vectorEntry
	for n := range 60 {
		e := vectorEntry{Path: fmt.Sprintf("d%d/f%02d", n%7, n), Type: digest.Type(r.IntN(2)), Content: text(r, r.IntN(20<<10))}
		switch n % 20 {
		case 3:
			e.Type, e.Content = digest.Link, "f00"
		case 5:
			e.Content = ""
		case 9:
			e.Content = text(r, smallFrame+r.IntN(smallFrame))
		}
		all = append(all, e)
	}
	return all
}

// grown changes some entries of a tree in every way there is.
func grown(r *rand.Rand, old []vectorEntry) []vectorEntry {
	var all []vectorEntry
	for _, e := range old {
		switch r.IntN(14) {
		case 0:
			continue
		case 1:
			e.Path += ".moved"
		case 2:
			e.Type = (e.Type + 1) % 3
			if e.Type == digest.Link {
				e.Content = "f01"
			}
		case 3, 4:
			if e.Type != digest.Link {
				e.Content = strings.Replace(e.Content, "setting-00003", "setting-other", 1)
			}
		case 5:
			if e.Type != digest.Link {
				e.Content += "more"
			}
		case 6:
			all = append(all, vectorEntry{Path: e.Path + "-new", Content: text(r, r.IntN(5000))})
		}
		all = append(all, e)
	}
	return all
}

func sorted(all []vectorEntry) []vectorEntry {
	slices.SortFunc(all, func(a, b vectorEntry) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// What the indexes say and what the bytes say is the same.
func TestIndexesGiveTheSameDelta(t *testing.T) {
	made := 0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 3))
		old := sorted(wood(r))
		rawA, from := packFrames(t, old)
		rawB, to := packFrames(t, sorted(grown(r, old)))
		if _, err := openIndex(bytes.NewReader(rawA), int64(len(rawA))); err != nil {
			t.Fatalf("seed %d: a tarball of several frames: %v", seed, err)
		}
		var quick, slow bytes.Buffer
		d := Delta{from, to}
		err := WriteDelta(t.Context(), &quick, stored(rawA), stored(rawB), d)
		if serr := WriteDelta(t.Context(), &slow, bytes.NewReader(rawA), bytes.NewReader(rawB), d); !errors.Is(err, serr) || !bytes.Equal(quick.Bytes(), slow.Bytes()) {
			t.Fatalf("seed %d: by indexes %d bytes, %v; by bytes %d, %v", seed, quick.Len(), err, slow.Len(), serr)
		}
		if err != nil {
			continue
		}
		made++
		if _, _, err := ApplyDelta(t.Context(), &quick, tree(t, rawA), t.TempDir(), d, Limits{}); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if made == 0 {
		t.Error("no delta was made")
	}
}

// Every zstd decoder reads frame after frame and passes over the index.
func TestFramesAreOneStreamToAnyReader(t *testing.T) {
	old := sorted(wood(rand.New(rand.NewPCG(1, 1))))
	raw, d := packFrames(t, old)
	if !bytes.HasSuffix(raw, []byte(indexMagic)) {
		t.Fatal("there is no index")
	}
	zr, err := zstd.NewReader(bytes.NewReader(raw), zstd.WithDecoderMaxWindow(smallFrame))
	if err != nil {
		t.Fatal(err)
	}
	defer zr.Close()
	plain, err := io.ReadAll(zr)
	if err != nil || len(plain)%tarBlock != 0 {
		t.Fatalf("%d bytes, %v", len(plain), err)
	}
	if got, err := Digest(t.Context(), bytes.NewReader(raw), Limits{}); err != nil || got != d {
		t.Errorf("digest %s, %v", got, err)
	}
	if got, _, err := Unpack(t.Context(), bytes.NewReader(raw), t.TempDir(), Limits{}); err != nil || got != d {
		t.Errorf("unpacked %s, %v", got, err)
	}
	small, _ := packFrames(t, old[:3])
	if bytes.HasSuffix(small, []byte(indexMagic)) {
		t.Error("a tarball of one frame has an index")
	}
}

// Fewer bytes than a frame lie in two only when they must.
func TestFewFilesLieInTwoFrames(t *testing.T) {
	raw, _ := packFrames(t, sorted(wood(rand.New(rand.NewPCG(2, 2)))))
	c, err := openIndex(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range c.entries {
		if !e.file() || e.size > smallFrame/2 {
			continue
		}
		for _, s := range c.starts {
			if e.at < s.plain && s.plain < e.at+e.size {
				t.Errorf("%s of %d bytes at %d lies in two frames", e.path, e.size, e.at)
			}
		}
	}
}

// An index that is damaged costs time and nothing else.
func TestDamagedIndexIsNotUsed(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	old := sorted(wood(r))
	rawA, from := packFrames(t, old)
	old[1].Content += "changed"
	rawB, to := packFrames(t, old)
	d := Delta{from, to}
	var want bytes.Buffer
	if err := WriteDelta(t.Context(), &want, stored(rawA), stored(rawB), d); err != nil {
		t.Fatal(err)
	}
	length := int(binary.LittleEndian.Uint32(rawB[len(rawB)-12:]))
	for _, back := range []int{1, 9, 13, 20, length / 2, length} {
		bad := bytes.Clone(rawB)
		bad[len(bad)-back] ^= 0x40
		var got bytes.Buffer
		if _, err := openIndex(bytes.NewReader(bad), int64(len(bad))); !errors.Is(err, errNoIndex) {
			t.Errorf("%d bytes from the end: %v", back, err)
		}
		if err := WriteDelta(t.Context(), &got, stored(rawA), stored(bad), d); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%d bytes from the end: %d bytes, %v", back, got.Len(), err)
		}
	}
}

// A right index over wrong bytes is noticed too.
func TestIndexOfOtherBytesIsNotUsed(t *testing.T) {
	old := sorted(wood(rand.New(rand.NewPCG(5, 5))))
	raw, _ := packFrames(t, old)
	c, err := openIndex(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	e := c.entries[0]
	e.sum[0]++
	if _, err := c.read(e); !errors.Is(err, errNoIndex) {
		t.Errorf("%v", err)
	}
}

// FuzzIndex feeds any entries with a checksum that is right.
func FuzzIndex(f *testing.F) {
	x := index{entries: []indexed{{path: "a", size: 3, at: 512}, {path: "b", kind: digest.Link, target: "a"}, {path: "b/c", size: 1, at: 2048}}}
	f.Add(x.encode([]frame{{10, 1024}, {10, 4096}}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		raw := binary.LittleEndian.AppendUint32(make([]byte, 20), skippable)
		raw = binary.LittleEndian.AppendUint32(raw, uint32(len(payload)+indexFoot))
		raw = append(raw, payload...)
		raw = binary.LittleEndian.AppendUint32(raw, crc32.Checksum(payload, castagnoli))
		raw = append(binary.LittleEndian.AppendUint32(raw, uint32(len(payload))), indexMagic...)
		c, err := openIndex(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return
		}
		defer c.close()
		for _, e := range c.entries {
			if e.file() && e.size <= 1<<20 {
				_, _ = c.read(e) // must not panic
			}
		}
	})
}
