package relay_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/axle-cd/axle/internal/relay"
)

// pieces reads in the sizes given, then ends.
type pieces struct {
	rest  []byte
	sizes []int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := min(p.sizes[0], len(b), len(p.rest))
	p.sizes = append(p.sizes[1:], p.sizes[0])
	copy(b, p.rest[:n])
	p.rest = p.rest[n:]
	return n, nil
}

func TestCopyKeepsEveryByteAndFlushesEachRead(t *testing.T) {
	content := make([]byte, 1<<20)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	var out bytes.Buffer
	flushes := 0
	n, err := relay.Copy(&out, &pieces{content, []int{1, 2048, 70000, 5, 32768, 2047}}, func() error { flushes++; return nil })
	if err != nil || n != int64(len(content)) || !bytes.Equal(out.Bytes(), content) {
		t.Errorf("copied %d bytes, %v; want all %d", n, err, len(content))
	}
	if flushes < 6 {
		t.Errorf("flushed %d times, want once a read", flushes)
	}
}

func TestCopyTellsWhoFailed(t *testing.T) {
	broken := errors.New("broken")
	if _, err := relay.Copy(io.Discard, iotest.ErrReader(broken), nil); !errors.Is(err, broken) || errors.Is(err, relay.ErrWrite) {
		t.Errorf("a failing reader gave %v", err)
	}
	closed, end := io.Pipe()
	closed.CloseWithError(broken)
	if _, err := relay.Copy(end, bytes.NewReader([]byte("x")), nil); !errors.Is(err, broken) || !errors.Is(err, relay.ErrWrite) {
		t.Errorf("a failing writer gave %v", err)
	}
	if _, err := relay.Copy(io.Discard, bytes.NewReader([]byte("x")), func() error { return broken }); !errors.Is(err, relay.ErrWrite) {
		t.Errorf("a failing flush gave %v", err)
	}
}

func TestCopyAllocatesLittle(t *testing.T) {
	content := make([]byte, 8<<20)
	got := testing.AllocsPerRun(5, func() {
		if _, err := relay.Copy(io.Discard, onlyReader{bytes.NewReader(content)}, nil); err != nil {
			t.Error(err)
		}
	})
	if got > 20 {
		t.Errorf("%v allocations for 8 MiB", got)
	}
}

type onlyReader struct{ io.Reader }
