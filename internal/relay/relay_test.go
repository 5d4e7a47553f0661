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

// records is a source that gives one record at a time, of which some are there
// at once.
type records struct {
	waited, there []string
	end           error // is met at once behind the last
}

func (r *records) Read(p []byte) (int, error) {
	if len(r.there) > 0 {
		return r.ReadNow(p)
	}
	if len(r.waited) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.waited[0])
	r.waited = r.waited[1:]
	return n, nil
}

func (r *records) ReadNow(p []byte) (int, error) {
	if len(r.there) == 0 {
		return 0, r.end
	}
	n := copy(p, r.there[0])
	r.there[0] = r.there[0][n:]
	if r.there[0] == "" {
		r.there = r.there[1:]
	}
	return n, nil
}

func TestCopyJoinsWhatIsThere(t *testing.T) {
	broken := errors.New("it broke")
	for name, c := range map[string]struct {
		source  *records
		writes  int
		flushes int
		want    error
	}{
		"records of one packet":    {&records{waited: []string{"a"}, there: []string{"b", "c"}}, 2, 2, nil},
		"and the end behind them":  {&records{there: []string{"b", "c"}, end: io.EOF}, 1, 0, nil},
		"and an error behind them": {&records{there: []string{"b", "c"}, end: broken}, 1, 1, broken},
		"more than one buffer":     {&records{there: []string{string(make([]byte, 3000)), "c"}}, 2, 2, nil},
		"one record after another": {&records{waited: []string{"a", "b", "c"}}, 3, 3, nil},
		"the end and nothing more": {&records{end: io.EOF}, 0, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			want := 0
			for _, part := range append(c.source.waited, c.source.there...) {
				want += len(part)
			}
			out, flushes := &counted{}, 0
			n, err := relay.Copy(out, c.source, func() error { flushes++; return nil })
			if int(n) != want || out.bytes != want || !errors.Is(err, c.want) {
				t.Errorf("copied %d of %d bytes, %v", n, want, err)
			}
			if out.writes != c.writes || flushes != c.flushes {
				t.Errorf("%d writes and %d flushes, want %d and %d", out.writes, flushes, c.writes, c.flushes)
			}
		})
	}
}

// counted counts writes.
type counted struct{ writes, bytes int }

func (c *counted) Write(p []byte) (int, error) {
	c.writes, c.bytes = c.writes+1, c.bytes+len(p)
	return len(p), nil
}
