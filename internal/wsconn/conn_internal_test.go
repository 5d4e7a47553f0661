package wsconn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"testing/iotest"
)

// sink is a connection that only takes.
type sink struct {
	net.Conn
	bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) { return s.Buffer.Write(p) }
func (s *sink) Read(p []byte) (int, error)  { return s.Buffer.Read(p) }

// frameOf is one frame as a client of any length form sends it.
func frameOf(first byte, key uint32, payload []byte) []byte {
	f := []byte{first}
	switch n := len(payload); {
	case n < 126:
		f = append(f, 0x80|byte(n))
	case n < 1<<16:
		f = binary.BigEndian.AppendUint16(append(f, 0x80|126), uint16(n))
	default:
		f = binary.BigEndian.AppendUint64(append(f, 0x80|127), uint64(n))
	}
	f = binary.LittleEndian.AppendUint32(f, key)
	masked := make([]byte, len(payload))
	xor(masked, payload, key)
	return append(f, masked...)
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, client := range []bool{true, false} {
		for _, size := range []int{0, 1, 125, 126, 127, 65535, 65536, 200_000} {
			sent := bytes.Repeat([]byte("abcdefg"), size/7+1)[:size]
			out := &sink{}
			n, err := newConn(out, out, client).Write(sent)
			if err != nil || n != size {
				t.Fatalf("wrote %d of %d: %v", n, size, err)
			}
			// In pieces of every size on the way, and ends in pieces too.
			for name, from := range map[string]io.Reader{"whole": bytes.NewReader(out.Bytes()), "byte by byte": iotest.OneByteReader(bytes.NewReader(out.Bytes()))} {
				got := make([]byte, size)
				in := newConn(&sink{}, from, !client)
				if _, err := io.ReadFull(iotest.HalfReader(in), got); err != nil || !bytes.Equal(got, sent) {
					t.Errorf("client %v, %d bytes, %s: %v", client, size, name, err)
				}
			}
		}
	}
}

func TestControlFramesBetweenParts(t *testing.T) {
	var in bytes.Buffer
	in.Write(frameOf(0x02, 1, []byte("a ")))            // a message in parts
	in.Write(frameOf(0x89, 2, []byte("are you there"))) // ping
	in.Write(frameOf(0x00, 3, []byte("word")))
	in.Write(frameOf(0x8A, 4, nil)) // pong
	in.Write(frameOf(0x80, 5, []byte("!")))
	in.Write(frameOf(0x88, 6, []byte{3, 232}))
	out := &sink{}
	got, err := io.ReadAll(newConn(out, &in, false))
	if err != nil || string(got) != "a word!" {
		t.Errorf("read %q, %v", got, err)
	}
	if want := "\x8a\x0dare you there\x88\x02\x03\xe8"; out.String() != want {
		t.Errorf("answered %q, want %q", out.String(), want)
	}
}

func TestForbiddenFramesEndTheConnection(t *testing.T) {
	for name, raw := range map[string][]byte{
		"text":                 frameOf(0x81, 1, []byte("x")),
		"an extension":         frameOf(0xC2, 1, []byte("x")),
		"not masked":           {0x82, 1, 'x'},
		"goes on from nothing": frameOf(0x80, 1, []byte("x")),
		"begins within":        append(frameOf(0x02, 1, []byte("x")), frameOf(0x82, 1, []byte("y"))...),
		"a long ping":          frameOf(0x89, 1, make([]byte, 126)),
		"a ping in parts":      frameOf(0x09, 1, nil),
		"negative length":      append([]byte{0x82, 0xff}, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4),
	} {
		if _, err := io.ReadAll(newConn(&sink{}, bytes.NewReader(raw), false)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
	cut := frameOf(0x82, 1, []byte("hello"))
	for n := 1; n < len(cut); n++ {
		if _, err := io.ReadAll(newConn(&sink{}, bytes.NewReader(cut[:n]), false)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
}

// FuzzRead reads anything: it ends, and never gives more than came.
func FuzzRead(f *testing.F) {
	f.Add(frameOf(0x82, 7, []byte("hello")), true)
	f.Add(append(frameOf(0x02, 7, []byte("hello")), frameOf(0x89, 9, nil)...), false)
	f.Add([]byte{0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4}, false)
	f.Fuzz(func(t *testing.T, raw []byte, client bool) {
		got, err := io.ReadAll(newConn(&sink{}, bytes.NewReader(raw), client))
		if len(got) > len(raw) {
			t.Errorf("%d bytes came of %d", len(got), len(raw))
		}
		if err == nil && len(raw) == 0 {
			return
		}
		// The same in other pieces is the same.
		again, _ := io.ReadAll(newConn(&sink{}, iotest.OneByteReader(bytes.NewReader(raw)), client))
		if !bytes.Equal(got, again) {
			t.Errorf("%q in one piece and %q in many", got, again)
		}
	})
}
