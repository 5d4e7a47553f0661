package boundedcall

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// frames are messages of a stream, each with its head.
func frames(lengths ...int) (out []byte) {
	for _, n := range lengths {
		out = append(binary.BigEndian.AppendUint32(append(out, 0), uint32(n)), make([]byte, n)...)
	}
	return out
}

// TestBodiesAreRefusedByTheMessage reads bodies in pieces of every size: one message, and several
// of a stream, of which each may be as long as the limit.
func TestBodiesAreRefusedByTheMessage(t *testing.T) {
	const most = 10
	for name, tt := range map[string]struct {
		sent    []byte
		stream  bool
		refused bool
	}{
		"one message":                   {make([]byte, most), false, false},
		"one that is too long":          {make([]byte, most+1), false, true},
		"several":                       {frames(most, 0, 3, most), true, false},
		"the last of several":           {frames(most, 3, most+1), true, true},
		"a head that promises too much": {frames(most + 1)[:5], true, true},
		"half a head":                   {[]byte{0, 0}, true, false},
	} {
		for piece, in := range map[string]io.Reader{"whole": bytes.NewReader(tt.sent), "by bytes": iotest.OneByteReader(bytes.NewReader(tt.sent)), "by halves": iotest.HalfReader(bytes.NewReader(tt.sent))} {
			b := &body{ReadCloser: io.NopCloser(in), call: "/a.Service/Do", most: most, left: most}
			if tt.stream {
				b.head, b.left = make([]byte, 0, headBytes), 0
			}
			got, err := io.ReadAll(b)
			switch {
			case tt.refused && (err == nil || err.Error() != "resource_exhausted: the message to a.Service/Do is longer than 10 bytes, the limit of one message; send or ask for less at once, in several calls"):
				t.Errorf("%s, %s: %v", name, piece, err)
			case !tt.refused && (err != nil || !bytes.Equal(got, tt.sent)):
				t.Errorf("%s, %s: %d bytes, %v", name, piece, len(got), err)
			}
			if rest, _ := io.Copy(io.Discard, in); tt.refused && rest != 0 {
				t.Errorf("%s, %s: %d bytes are left unread", name, piece, rest)
			}
		}
	}
}

// TestUnpackersStop unpacks messages of the limit, and one byte more.
func TestUnpackersStop(t *testing.T) {
	for size, want := range map[int]string{0: "", 1 << 20: "", 1<<20 + 1: "the message is unpacked longer than 1 MiB"} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(make([]byte, size))
		_ = z.Close()
		u := &unpacker{most: 1 << 20}
		if err := u.Reset(&packed); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(u)
		if want == "" && (err != nil || len(got) != size) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d bytes: %d, %v", size, len(got), err)
		}
	}
}

func TestWordsOfSizes(t *testing.T) {
	for bytes, want := range map[int64]string{64 << 10: "64 KiB", 8 << 20: "8 MiB", 1 << 20: "1 MiB", 10: "10 bytes", 1500: "1500 bytes"} {
		if got := words(bytes); got != want {
			t.Errorf("%d is %s", bytes, got)
		}
	}
}
