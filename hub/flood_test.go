package hub_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
)

// load is what a connection makes the hub do.
type load struct{ connections, handlers, goroutines int }

// loadNow counts the connections of HTTP/2 that are served, the handlers that
// run for them, and all goroutines.
func loadNow() load {
	var stacks bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 2); err != nil {
		return load{}
	}
	count := func(what string) int { return bytes.Count(stacks.Bytes(), []byte(what)) }
	return load{count("erverConn).serve("), count(").runHandler("), count("\ngoroutine ")}
}

// held is loadNow without what is over and only waits for a processor to go: on
// a busy machine that may be thousands. What is held stays while the sender
// waits.
func held(handlers, goroutines int) load {
	least := loadNow()
	for range 20 {
		if least.handlers <= handlers && least.goroutines <= goroutines {
			break
		}
		runtime.Gosched()
		now := loadNow()
		least.handlers, least.goroutines = min(least.handlers, now.handlers), min(least.goroutines, now.goroutines)
	}
	return least
}

// block is the head of a call whose body never comes, encoded with the
// connection's one HPACK encoder.
type block struct {
	text bytes.Buffer
	*hpack.Encoder
}

func (b *block) call() []byte {
	b.text.Reset()
	for _, field := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":authority", "x"}, {":path", "/axle.hub.v1.Projects/Create"},
		{"content-type", "application/json"}, {"content-length", "1000"},
	} {
		if err := b.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
			panic(err)
		}
	}
	return b.text.Bytes()
}

// TestFloodsCostTheirSenderAlone judges each flood of frames by what the hub
// does for it: it ends the connection, or a bounded number of handlers and
// goroutines and a bounded memory are all that it gets.
func TestFloodsCostTheirSenderAlone(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	u, err := url.Parse(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	const (
		maxHandlers = 250
		// A handler may have another goroutine. Some have ended and still
		// exist, and the hub has its own work.
		maxGoroutines = 2 * maxHandlers
		slack         = 30
		maxHeap       = 32 << 20
	)
	for name, a := range map[string]struct {
		// frame writes the nth frame, or some.
		frame func(f *http2.Framer, b *block, n uint32) error
		count uint32
		// unread leaves the hub's answers where they are.
		unread bool
		// closed means that the hub must end the connection before the last
		// call.
		closed bool
	}{
		"streams opened and reset": {count: 20_000, frame: func(f *http2.Framer, b *block, n uint32) error {
			return errors.Join(f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*n + 1, BlockFragment: b.call(), EndHeaders: true}), f.WriteRSTStream(2*n+1, http2.ErrCodeCancel))
		}},
		"streams that never end": {count: 5_000, frame: func(f *http2.Framer, b *block, n uint32) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*n + 1, BlockFragment: b.call(), EndHeaders: true})
		}},
		"streams reset by a wrong frame": {count: 20_000, frame: func(f *http2.Framer, b *block, n uint32) error {
			// A window that grows by nothing is an error of its stream.
			return errors.Join(f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*n + 1, BlockFragment: b.call(), EndHeaders: true}), f.WriteRawFrame(http2.FrameWindowUpdate, 0, 2*n+1, make([]byte, 4)))
		}},
		"pings whose answers nobody reads": {count: 50_000, unread: true, frame: func(f *http2.Framer, _ *block, _ uint32) error {
			return f.WritePing(false, [8]byte{})
		}},
		"settings": {count: 50_000, frame: func(f *http2.Framer, _ *block, _ uint32) error { return f.WriteSettings() }},
		"empty data": {count: 50_000, frame: func(f *http2.Framer, b *block, n uint32) error {
			if n == 0 {
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b.call(), EndHeaders: true})
			}
			return f.WriteData(1, false, nil)
		}},
		"priorities": {count: 50_000, frame: func(f *http2.Framer, _ *block, n uint32) error {
			return f.WritePriority(2*n+1, http2.PriorityParam{StreamDep: 0, Weight: byte(n)})
		}},
		"frames of no kind": {count: 50_000, frame: func(f *http2.Framer, _ *block, _ uint32) error {
			return f.WriteRawFrame(0xfa, 0, 0, nil)
		}},
		"empty continuations": {count: 50_000, frame: func(f *http2.Framer, b *block, n uint32) error {
			if n == 0 {
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b.call()})
			}
			return f.WriteContinuation(1, false, nil)
		}},
		"a table that changes its size": {count: 50_000, frame: func(f *http2.Framer, _ *block, n uint32) error {
			return f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: n & 0xffff})
		}},
		"windows": {count: 50_000, closed: true, frame: func(f *http2.Framer, _ *block, _ uint32) error {
			return f.WriteWindowUpdate(0, 1<<20)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var dialer net.Dialer
			c, err := dialer.DialContext(t.Context(), "tcp", u.Host)
			if err != nil {
				t.Fatal(err)
			}
			// What the hub has not read when it is over is dropped.
			drop := func() { _, _ = c.(*net.TCPConn).SetLinger(0), c.Close() }
			defer drop()
			if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
				t.Fatal(err)
			}
			before, memory := loadNow(), heap()
			if !a.unread && !a.closed {
				go func() { _, _ = io.Copy(io.Discard, c) }() // until it is closed
			}
			out := bufio.NewWriterSize(c, 32<<10)
			if _, err := io.WriteString(out, http2.ClientPreface); err != nil {
				t.Fatal(err)
			}
			f := http2.NewFramer(out, c)
			f.AllowIllegalWrites = true
			b := &block{}
			b.Encoder = hpack.NewEncoder(&b.text)
			err = f.WriteSettings()
			worst := load{}
			for n := uint32(0); n < a.count && err == nil; n++ {
				if err = a.frame(f, b, n); err == nil && n%(a.count/20) == 0 {
					err = out.Flush()
					now := held(before.handlers+maxHandlers, before.goroutines+maxGoroutines)
					worst.handlers, worst.goroutines = max(worst.handlers, now.handlers), max(worst.goroutines, now.goroutines)
				}
			}
			if err == nil {
				err = out.Flush()
			}
			now := held(before.handlers+maxHandlers, before.goroutines+maxGoroutines)
			worst.handlers, worst.goroutines = max(worst.handlers, now.handlers), max(worst.goroutines, now.goroutines)
			if a.closed && err == nil {
				// What was sent last may be on its way still.
				_, err = io.Copy(io.Discard, c)
				if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
					t.Errorf("the hub did not end the connection: %v", err)
				}
			}
			if got := worst.handlers - before.handlers; got > maxHandlers+slack/2 {
				t.Errorf("%d handlers ran at once, at most %d may", got, maxHandlers)
			}
			if got := worst.goroutines - before.goroutines; got > maxGoroutines+slack {
				t.Errorf("%d more goroutines ran at once", got)
			}
			if got := heap() - memory; got > maxHeap {
				t.Errorf("the heap grew by %d MiB", got>>20)
			}
			t.Logf("ended early: %v; %d handlers, %d goroutines at once", err, worst.handlers-before.handlers, worst.goroutines-before.goroutines)
			drop()
			// The next flood is counted from here.
			eventually.For(t, limit, "nothing of it is left", func() error {
				if now := loadNow(); now.handlers > before.handlers || now.connections > before.connections {
					return errors.New("the connection is served still")
				}
				return nil
			})
		})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
