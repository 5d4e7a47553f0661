package tarball

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/internal/digest"
)

// A tarball of more than one frame ends with an index of what lies where, so
// that two of them are compared without being unpacked. It is a skippable
// frame, which every reader of zstd passes over; docs/spec/tarball.md has its
// format. It is a hint: whoever uses it compares what came of it with a digest
// in the end.
const (
	// skippable begins the index' frame, one of the 16 numbers of such frames.
	skippable = 0x184D2A5B
	// indexMagic ends the index, and the file.
	indexMagic = "axleidx1"
	// indexFoot is what stands behind the entries: a checksum, their length and
	// the magic.
	indexFoot = 4 + 4 + len(indexMagic)
	// maxIndex bounds an index; a tarball that needs a larger one has none.
	maxIndex = 16 << 20
	// maxPlace is far behind the end of any tarball.
	maxPlace = 1 << 50
	// tarBlock is what headers and bodies are padded to.
	tarBlock = 512
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errNoIndex says that a tarball has to be read from its start.
var errNoIndex = errors.New("the tarball has no index")

// shortSum is the first half of a SHA-256: enough to tell files apart.
type shortSum [16]byte

func short(s digest.Sum) shortSum { return shortSum(s[:16]) }

// indexed is what an index says of an entry.
type indexed struct {
	path   string
	kind   digest.Type
	target string // of a link
	size   int64  // of a file
	at     int64  // where its bytes begin in the tar
	sum    shortSum
}

func (e indexed) file() bool { return e.kind != digest.Link }

// index is all entries, in order.
type index struct{ entries []indexed }

// append writes the index behind the frames, when there are several.
func (x *index) append(w io.Writer, frames []frame) error {
	if len(frames) < 2 {
		return nil
	}
	payload := x.encode(frames)
	if len(payload) > maxIndex {
		return nil
	}
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, len(payload)+8+indexFoot), skippable)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(payload)+indexFoot))
	out = append(out, payload...)
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(payload, castagnoli))
	out = binary.LittleEndian.AppendUint32(out, uint32(len(payload)))
	_, err := w.Write(append(out, indexMagic...))
	return err
}

func (x *index) encode(frames []frame) []byte {
	out := binary.AppendUvarint(nil, uint64(len(frames)))
	for _, f := range frames {
		out = binary.AppendUvarint(binary.AppendUvarint(out, uint64(f.packed)), uint64(f.plain))
	}
	out = binary.AppendUvarint(out, uint64(len(x.entries)))
	last, end := "", int64(0)
	for _, e := range x.entries {
		shared := 0
		for shared < min(len(last), len(e.path)) && last[shared] == e.path[shared] {
			shared++
		}
		out = binary.AppendUvarint(out, uint64(shared))
		out = appendText(out, e.path[shared:])
		out = append(out, byte(e.kind))
		last = e.path
		if e.kind == digest.Link {
			out = appendText(out, e.target)
			continue
		}
		out = binary.AppendUvarint(binary.AppendUvarint(out, uint64(e.size)), uint64(e.at-end))
		out = append(out, e.sum[:]...)
		end = e.at + e.size
	}
	return out
}

func appendText(out []byte, text string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(text))), text...)
}

// parser reads what encode wrote; the first thing that is wrong stays in err.
type parser struct {
	in  []byte
	err error
}

func (p *parser) number() int64 {
	n, used := binary.Uvarint(p.in)
	if used <= 0 || n > maxPlace {
		p.err = errNoIndex
		return 0
	}
	p.in = p.in[used:]
	return int64(n)
}

func (p *parser) bytes(n int64) []byte {
	if p.err != nil || n > int64(len(p.in)) {
		p.err = errNoIndex
		return nil
	}
	b := p.in[:n]
	p.in = p.in[n:]
	return b
}

func (p *parser) entry(last string, end int64) indexed {
	shared := p.number()
	rest := p.bytes(p.number())
	kind := p.bytes(1)
	if p.err != nil || shared > int64(len(last)) || kind[0] > byte(digest.Link) {
		p.err = errNoIndex
		return indexed{}
	}
	e := indexed{path: last[:shared] + string(rest), kind: digest.Type(kind[0])}
	if e.kind == digest.Link {
		e.target = string(p.bytes(p.number()))
		return e
	}
	e.size = p.number()
	e.at = end + p.number()
	copy(e.sum[:], p.bytes(int64(len(e.sum))))
	return e
}

// contents is a stored tarball with its index.
type contents struct {
	index
	r      io.ReaderAt
	starts []frame // where each frame begins, and at the end where the last one ends

	zr *zstd.Decoder
	at int64 // in the tar; what zr gives next
}

// openIndex reads the index of a tarball of so many bytes. errNoIndex when it
// has none that can be used.
func openIndex(r io.ReaderAt, size int64) (*contents, error) {
	foot := make([]byte, indexFoot)
	if size < int64(indexFoot) {
		return nil, errNoIndex
	}
	if _, err := r.ReadAt(foot, size-int64(indexFoot)); err != nil {
		return nil, fmt.Errorf("read tarball: %w", err)
	}
	n := int64(binary.LittleEndian.Uint32(foot[4:]))
	begin := size - int64(indexFoot) - n - 8
	if string(foot[8:]) != indexMagic || n > maxIndex || begin < 0 {
		return nil, errNoIndex
	}
	payload := make([]byte, n)
	if _, err := r.ReadAt(payload, begin+8); err != nil {
		return nil, fmt.Errorf("read tarball: %w", err)
	}
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(foot) {
		return nil, errNoIndex
	}
	c := &contents{r: r, at: -1}
	if err := c.parse(payload); err != nil || c.starts[len(c.starts)-1].packed != begin {
		return nil, errNoIndex
	}
	return c, nil
}

func (c *contents) parse(payload []byte) error {
	p := &parser{in: payload}
	var at frame
	for n := p.number(); n > 0 && p.err == nil; n-- {
		c.starts = append(c.starts, at)
		at = frame{at.packed + p.number(), at.plain + p.number()}
		if max(at.packed, at.plain) > maxPlace {
			return errNoIndex
		}
	}
	c.starts = append(c.starts, at)
	n := p.number()
	if p.err != nil || n > int64(len(p.in)) {
		return errNoIndex
	}
	c.entries = make([]indexed, 0, n)
	last, end := "", int64(0)
	for range n {
		e := p.entry(last, end)
		if p.err != nil || e.path <= last || e.file() && (e.at < end || e.at+e.size > at.plain) {
			return errNoIndex
		}
		if last = e.path; e.file() {
			end = e.at + e.size
		}
		c.entries = append(c.entries, e)
	}
	return nil
}

// read unpacks one file. Files are asked for in order.
func (c *contents) read(e indexed) ([]byte, error) {
	if err := c.seek(e.at); err != nil {
		return nil, fmt.Errorf("read tarball: %w", err)
	}
	body := make([]byte, e.size)
	n, err := io.ReadFull(c.zr, body)
	c.at += int64(n)
	if err != nil {
		return nil, fmt.Errorf("read tarball: %w", err)
	}
	if short(digest.SumOf(body)) != e.sum {
		return nil, errNoIndex
	}
	return body, nil
}

// seek goes on to a place, past what lies between when it is in this frame.
func (c *contents) seek(to int64) error {
	i, found := slices.BinarySearchFunc(c.starts, to, func(f frame, to int64) int { return int(f.plain - to) })
	if !found {
		i--
	}
	begin := c.starts[i]
	if c.at < begin.plain || c.at > to {
		in := io.NewSectionReader(c.r, begin.packed, c.starts[len(c.starts)-1].packed-begin.packed)
		if err := c.start(in); err != nil {
			return err
		}
		c.at = begin.plain
	}
	n, err := io.CopyN(io.Discard, c.zr, to-c.at)
	c.at += n
	return err
}

// unpackers are decoders that read a frame some time ago.
var unpackers = sync.Pool{New: func() any {
	zr, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(2*window))
	if err != nil {
		return err
	}
	return zr
}}

func (c *contents) start(in io.Reader) error {
	if c.zr == nil {
		switch z := unpackers.Get().(type) {
		case *zstd.Decoder:
			c.zr = z
		case error:
			return fmt.Errorf("start zstd: %w", z)
		}
	}
	return c.zr.Reset(in)
}

func (c *contents) close() {
	if c.zr != nil && c.zr.Reset(nil) == nil {
		unpackers.Put(c.zr)
	}
}
