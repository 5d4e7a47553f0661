// Package relay copies one direction of a stream in pooled buffers: 2 KiB while
// little flows, so that ten thousand idle watches cost 20 MB, and 64 KiB once a
// read fills that. Both ends of the auth proxy and of the tunnel's streams call
// it; it starts no goroutine and closes nothing.
package relay

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	// idleBuffer is used while waiting for data.
	idleBuffer = 2 << 10
	// flowBuffer is used while data flows: four TLS records, each with an HTTP/2
	// frame head.
	flowBuffer = 4 * (16<<10 - 9)
)

var (
	idle = sync.Pool{New: func() any { return new([idleBuffer]byte) }}
	flow = sync.Pool{New: func() any { return new([flowBuffer]byte) }}
)

// ErrWrite marks errors of the writing side: the reader is gone.
var ErrWrite = errors.New("write")

// Prompt is a source that can return the data that is already there. Copy adds that
// to what it waited for: TLS returns one record at a time, and one packet may hold
// many.
type Prompt interface {
	// ReadNow is Read without waiting: no bytes and no error mean that nothing is
	// there.
	ReadNow(p []byte) (int, error)
}

// Copy copies until src ends, which is not an error, and returns how much it wrote.
// If flush is not nil, it is called after each write, except one that is known to be
// followed by the end: closing dst sends that. Errors of dst and flush wrap ErrWrite.
func Copy(dst io.Writer, src io.Reader, flush func() error) (written int64, err error) {
	small := idle.Get().(*[idleBuffer]byte)
	defer idle.Put(small)
	var large *[flowBuffer]byte
	defer func() {
		if large != nil {
			flow.Put(large)
		}
	}()
	buffer := small[:]
	source, _ := src.(Prompt)
	for {
		n, err := read(src, source, buffer)
		if n > 0 {
			if errors.Is(err, io.EOF) {
				flush = nil
			}
			if werr := write(dst, buffer[:n], flush); werr != nil {
				return written, werr
			}
			written += int64(n)
		}
		if errors.Is(err, io.EOF) {
			return written, nil
		}
		if err != nil {
			return written, err
		}
		switch {
		case n == len(buffer) && large == nil:
			large = flow.Get().(*[flowBuffer]byte)
			buffer = large[:]
		case n < idleBuffer && large != nil:
			flow.Put(large)
			large, buffer = nil, small[:]
		}
	}
}

// read reads from src, and adds what is already there.
func read(src io.Reader, source Prompt, p []byte) (n int, err error) {
	if n, err = src.Read(p); source == nil || n == 0 {
		return n, err
	}
	for err == nil && n < len(p) {
		var more int
		if more, err = source.ReadNow(p[n:]); more == 0 {
			break
		}
		n += more
	}
	return n, err
}

func write(dst io.Writer, p []byte, flush func() error) error {
	if _, err := dst.Write(p); err != nil {
		return fmt.Errorf("%w: %w", ErrWrite, err)
	}
	if flush == nil {
		return nil
	}
	if err := flush(); err != nil {
		return fmt.Errorf("%w: %w", ErrWrite, err)
	}
	return nil
}
