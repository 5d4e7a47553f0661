package wsconn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
)

const (
	// maxPayload is the largest payload of one frame written here: 64 KiB of data in
	// an HTTP/2 frame.
	maxPayload = 64<<10 + 64
	// maxHead is the longest head of a frame: two bytes, eight of length, four of the
	// mask.
	maxHead = 14
	// maxControl is the longest payload of a ping, pong or close.
	maxControl = 125
)

// The known kinds of frames.
const (
	opContinuation = 0x0
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xA
)

// ErrProtocol is wrapped by errors about bytes that are not a valid frame.
var ErrProtocol = errors.New("not a valid WebSocket frame")

// Conn is one end. Reading and writing may happen at the same time, from one
// goroutine each; Close may be called at any time.
type Conn struct {
	// Conn is the underlying connection, with its addresses and deadlines.
	net.Conn
	from   io.Reader
	client bool

	// raw are bytes that were read ahead, at most a frame's head.
	raw    []byte
	rawBuf [maxHead]byte
	// left is the rest of the present frame, with its mask from the next byte on.
	left   uint64
	masked bool
	mask   [4]byte
	// more: the next data frame must continue this one.
	more  bool
	ended error

	writing sync.Mutex
	// gathered collects the writes for one frame; nil writes them one by one.
	gathered *Gathered
}

// newConn returns an end; if from is not the connection itself, it holds bytes that
// were already read.
func newConn(beneath net.Conn, from io.Reader, client bool) *Conn {
	return &Conn{Conn: beneath, from: from, client: client, gathered: gatheredBelow(beneath)}
}

// buffers are for outgoing frames.
var buffers = sync.Pool{New: func() any { return new([maxHead + maxPayload]byte) }}

// Write sends p in as many frames as needed.
func (c *Conn) Write(p []byte) (n int, err error) {
	for first := true; first || len(p) > 0; first = false {
		part := p[:min(len(p), maxPayload)]
		if err := c.writeFrame(opBinary, part); err != nil {
			return n, err
		}
		n, p = n+len(part), p[len(part):]
	}
	return n, nil
}

func (c *Conn) writeFrame(op byte, payload []byte) error {
	buf := buffers.Get().(*[maxHead + maxPayload]byte)
	defer buffers.Put(buf)
	frame := append(buf[:0], 0x80|op)
	maskBit := byte(0)
	if c.client {
		maskBit = 0x80
	}
	switch n := len(payload); {
	case n < 126:
		frame = append(frame, maskBit|byte(n))
	case n < 1<<16:
		frame = append(frame, maskBit|126)
		frame = binary.BigEndian.AppendUint16(frame, uint16(n))
	default:
		frame = append(frame, maskBit|127)
		frame = binary.BigEndian.AppendUint64(frame, uint64(n))
	}
	if !c.client {
		frame = append(frame, payload...)
	} else {
		key := rand.Uint32()
		frame = binary.LittleEndian.AppendUint32(frame, key)
		at := len(frame)
		frame = frame[:at+len(payload)]
		xor(frame[at:], payload, key)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.gathered == nil || len(frame) <= tlsRecord {
		_, err := c.Conn.Write(frame)
		return err
	}
	c.gathered.hold()
	_, err := c.Conn.Write(frame)
	return errors.Join(err, c.gathered.release())
}

// xor writes src to dst under a mask, whose lowest byte comes first.
func xor(dst, src []byte, key uint32) {
	wide := uint64(key)<<32 | uint64(key)
	for len(src) >= 8 {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(src)^wide)
		dst, src = dst[8:], src[8:]
	}
	for i, b := range src {
		dst[i] = b ^ byte(key>>(8*(i&3)))
	}
}

// unmask removes the mask and rotates it for the next byte.
func (c *Conn) unmask(p []byte) {
	if !c.masked {
		return
	}
	xor(p, p, binary.LittleEndian.Uint32(c.mask[:]))
	turn := len(p) & 3
	c.mask = [4]byte{c.mask[turn], c.mask[(turn+1)&3], c.mask[(turn+2)&3], c.mask[(turn+3)&3]}
}

// Read returns payload, regardless of frame boundaries. io.EOF is the other end's
// close.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, c.ended
	}
	for c.left == 0 && c.ended == nil {
		c.ended = c.nextFrame()
	}
	if c.ended != nil {
		return 0, c.ended
	}
	p = p[:min(uint64(len(p)), c.left)]
	n := copy(p, c.raw)
	c.raw = c.raw[n:]
	if n == 0 {
		var err error
		if n, err = c.from.Read(p); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			c.ended = err
		}
	}
	c.unmask(p[:n])
	c.left -= uint64(n)
	if n > 0 {
		return n, nil
	}
	return 0, c.ended
}

// need reads ahead until n bytes of a head are available.
func (c *Conn) need(n int) error {
	if len(c.raw) >= n {
		return nil
	}
	kept := copy(c.rawBuf[:], c.raw)
	got, err := io.ReadAtLeast(c.from, c.rawBuf[kept:], n-kept)
	c.raw = c.rawBuf[:kept+got]
	if len(c.raw) > 0 && errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// head is the head of a frame.
type head struct {
	fin    bool
	op     byte
	length uint64
}

// nextFrame reads up to the payload of the next data frame and answers control frames
// on the way.
func (c *Conn) nextFrame() error {
	h, err := c.readHead()
	if err != nil {
		return err
	}
	switch h.op {
	case opBinary, opContinuation:
		if (h.op == opContinuation) != c.more {
			return fmt.Errorf("%w: a message begins or continues out of order", ErrProtocol)
		}
		c.more, c.left = !h.fin, h.length
		return nil
	case opClose, opPing, opPong:
		return c.control(h)
	}
	return fmt.Errorf("%w: kind %d", ErrProtocol, h.op)
}

func (c *Conn) readHead() (h head, err error) {
	if err := c.need(2); err != nil {
		return h, err
	}
	first, second := c.raw[0], c.raw[1]
	h.fin, h.op, h.length = first&0x80 != 0, first&0xf, uint64(second&0x7f)
	c.masked = second&0x80 != 0
	switch {
	case first&0x70 != 0:
		return h, fmt.Errorf("%w: an extension that was not negotiated", ErrProtocol)
	case c.masked == c.client:
		return h, fmt.Errorf("%w: masked is %v", ErrProtocol, c.masked)
	case h.op >= opClose && (!h.fin || h.length > maxControl):
		return h, fmt.Errorf("%w: a control frame in parts or of %d bytes", ErrProtocol, h.length)
	}
	size, long := 2, 0
	switch h.length {
	case 126:
		long = 2
	case 127:
		long = 8
	}
	size += long
	if c.masked {
		size += 4
	}
	if err := c.need(size); err != nil {
		return h, err
	}
	switch long {
	case 2:
		h.length = uint64(binary.BigEndian.Uint16(c.raw[2:]))
	case 8:
		h.length = binary.BigEndian.Uint64(c.raw[2:])
	}
	if h.length>>63 != 0 {
		return h, fmt.Errorf("%w: the length is negative", ErrProtocol)
	}
	if c.masked {
		copy(c.mask[:], c.raw[2+long:])
	}
	c.raw = c.raw[size:]
	return h, nil
}

func (c *Conn) control(h head) error {
	var payload [maxControl]byte
	p := payload[:h.length]
	n := copy(p, c.raw)
	c.raw = c.raw[n:]
	if _, err := io.ReadFull(c.from, p[n:]); err != nil {
		return io.ErrUnexpectedEOF
	}
	c.unmask(p)
	switch h.op {
	case opPing:
		return c.writeFrame(opPong, p)
	case opClose:
		// A peer that closes may not read the echo any more.
		_ = c.writeFrame(opClose, p)
		return io.EOF
	}
	return nil
}
