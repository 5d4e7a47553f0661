package tarball

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/internal/digest"
)

// The bounds of a delta. Writer and reader know the same ones.
const (
	// deltaMagic begins every delta.
	deltaMagic = "axle-delta 1\n"
	// maxManifest bounds the manifest, unpacked.
	maxManifest = 4 << 20
	// maxDelta bounds the bytes of new and changed files, unpacked: they are
	// held in memory while a delta is made.
	maxDelta = 8 << 20
	// maxBase bounds the old files against which new ones are compressed.
	maxBase = 1 << 20
	// baseID names the dictionary of old files inside the zstd frame.
	baseID = 1
)

// ErrNoDelta says that a delta would not be worth its name: too much changed.
var ErrNoDelta = errors.New("too much changed for a delta")

// DeltaError says why a delta cannot be used. The whole tarball can.
type DeltaError struct{ Reason string }

// Error says it in a person's words.
func (e *DeltaError) Error() string { return "the delta cannot be used: " + e.Reason }

func badDelta(format string, args ...any) error { return &DeltaError{fmt.Sprintf(format, args...)} }

// manifest is the first part of a delta: what happens to the old content
// before the entries of the second part are laid over it.
type manifest struct {
	from, to digest.Digest
	// bases are old files whose bytes, one after the other, are the dictionary
	// of the second part.
	bases []string
	// removes are old paths that are gone. Paths that the second part or
	// copies write anew are not named here.
	removes []string
	copies  []copyOf
}

// copyOf makes a file out of an old one: a rename, or another mode.
type copyOf struct {
	kind     digest.Type
	from, to string
}

const (
	kindFile       = "file"
	kindExecutable = "executable"
)

func (m *manifest) encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "from\t%s\nto\t%s\n", m.from, m.to)
	for _, p := range m.bases {
		b.WriteString("base\t" + p + "\n")
	}
	for _, p := range m.removes {
		b.WriteString("remove\t" + p + "\n")
	}
	for _, c := range m.copies {
		kind := kindFile
		if c.kind == digest.Executable {
			kind = kindExecutable
		}
		b.WriteString("copy\t" + kind + "\t" + c.from + "\t" + c.to + "\n")
	}
	return b.Bytes()
}

// parseManifest reads what encode wrote. Paths hold no tabs and no newlines.
func parseManifest(text []byte) (*manifest, error) {
	m := &manifest{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 3*digest.MaxPathBytes)
	for lines.Scan() {
		if err := m.line(strings.Split(lines.Text(), "\t")); err != nil {
			return nil, err
		}
	}
	if err := lines.Err(); err != nil {
		return nil, badDelta("its manifest cannot be read: %v", err)
	}
	return m, nil
}

func (m *manifest) line(f []string) error {
	switch {
	case f[0] == "from" && len(f) == 2 && m.from == "":
		m.from = digest.Digest(f[1])
		return nil
	case f[0] == "to" && len(f) == 2 && m.to == "":
		m.to = digest.Digest(f[1])
		return nil
	case f[0] == "base" && len(f) == 2:
		m.bases = append(m.bases, f[1])
	case f[0] == "remove" && len(f) == 2:
		m.removes = append(m.removes, f[1])
	case f[0] == "copy" && len(f) == 4 && (f[1] == kindFile || f[1] == kindExecutable):
		c := copyOf{from: f[2], to: f[3]}
		if f[1] == kindExecutable {
			c.kind = digest.Executable
		}
		m.copies = append(m.copies, c)
		if err := digest.CheckPath(f[3]); err != nil {
			return err
		}
	default:
		return badDelta("its manifest has a line that this version does not know: %.80q", f[0])
	}
	return digest.CheckPath(f[len(f)-1-len(f)/4])
}

// writeFrames writes the two parts.
func writeFrames(w io.Writer, text, entries, base []byte) error {
	head, err := encodeAll(text, nil)
	if err != nil {
		return err
	}
	body, err := encodeAll(entries, base)
	if err != nil {
		return err
	}
	out := append([]byte(deltaMagic), binary.BigEndian.AppendUint32(nil, uint32(len(head)))...)
	if _, err := w.Write(append(append(out, head...), body...)); err != nil {
		return fmt.Errorf("write delta: %w", err)
	}
	return nil
}

func encodeAll(plain, base []byte) ([]byte, error) {
	// No larger than what there is to look back at, and the level with the
	// smallest tables: an encoder clears its memory first, most deltas are small,
	// and the better level saves a thousandth of their bytes.
	reach := 64 << 10
	for reach < len(plain)+len(base) && reach < window {
		reach *= 2
	}
	o := []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(reach), zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedFastest)}
	if len(base) > 0 {
		o = append(o, zstd.WithEncoderDictRaw(baseID, base))
	}
	zw, err := zstd.NewWriter(nil, o...)
	if err != nil {
		return nil, fmt.Errorf("start zstd: %w", err)
	}
	defer zw.Close()
	return zw.EncodeAll(plain, nil), nil
}

// readManifest reads the first part.
func readManifest(r io.Reader) (*manifest, error) {
	head := make([]byte, len(deltaMagic)+4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("read delta: %w", err)
	}
	if string(head[:len(deltaMagic)]) != deltaMagic {
		return nil, badDelta("it does not begin as a delta of this version does")
	}
	n := int64(binary.BigEndian.Uint32(head[len(deltaMagic):]))
	if n > maxManifest {
		return nil, badDelta("its manifest has %d bytes, more than %d", n, maxManifest)
	}
	packed, err := io.ReadAll(io.LimitReader(r, n))
	if err == nil && int64(len(packed)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("read delta: %w", err)
	}
	zr, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(2*window))
	if err != nil {
		return nil, fmt.Errorf("start zstd: %w", err)
	}
	defer zr.Close()
	text, err := io.ReadAll(io.LimitReader(zr, maxManifest+1))
	if err != nil {
		return nil, badDelta("its manifest is damaged: %v", err)
	}
	if len(text) > maxManifest {
		return nil, badDelta("its manifest unpacks to more than %d bytes", maxManifest)
	}
	return parseManifest(text)
}
