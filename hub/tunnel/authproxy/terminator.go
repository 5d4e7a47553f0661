package authproxy

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/moby/spdystream/spdy"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
)

const (
	// terminatorLimit limits sending a command's error, and waiting until its
	// client has received it.
	terminatorLimit = 2 * time.Second
	// maxHeadFrame limits a SPDY frame that opens a stream; client-go's have
	// about 100 bytes. maxHeadField and maxHeadFields limit its size after
	// decompression.
	maxHeadFrame  = 2 << 10
	maxHeadField  = 256
	maxHeadFields = 16
	// channelError is the channel of a WebSocket that carries a command's
	// result.
	channelError = 3
)

// terminator sends an error to the client of a command, within its own protocol,
// when its connection to the cluster was cut. Without it a SPDY client takes
// partial output for complete output and ends with success. It follows the
// frames of both directions and changes none.
type terminator interface {
	// sent sees what the client sends, and came what it receives; one goroutine
	// calls each.
	sent(p []byte)
	came(p []byte)
	// say returns what to send so that the client ends with the error; nil when
	// nothing can be sent now, for example in the middle of a frame. It is
	// called after the last call of came.
	say(err error) []byte
	// ended reports whether the cluster has sent all of the result: what breaks then was
	// no longer needed.
	ended() bool
}

// newTerminator returns nil when the protocol is not used by commands, or cannot
// carry an error.
func newTerminator(upgrade string, answer *agentv1.StreamAnswer) terminator {
	switch {
	case strings.EqualFold(upgrade, "websocket"):
		switch answered(answer, "Sec-Websocket-Protocol") {
		case "v4.channel.k8s.io", "v5.channel.k8s.io":
			return &webSocketTerminator{}
		}
	case strings.EqualFold(upgrade, "SPDY/3.1"):
		switch version := answered(answer, "X-Stream-Protocol-Version"); version {
		case "v2.channel.k8s.io", "v3.channel.k8s.io":
			return newSPDYTerminator(false)
		case "v4.channel.k8s.io":
			return newSPDYTerminator(true)
		}
	}
	return nil
}

func answered(answer *agentv1.StreamAnswer, name string) string {
	for _, h := range answer.GetHeaders() {
		if http.CanonicalHeaderKey(h.GetName()) == name && len(h.GetValues()) == 1 {
			return h.GetValues()[0]
		}
	}
	return ""
}

// webSocketTerminator follows the frames of a WebSocket that are sent to the
// client.
type webSocketTerminator struct {
	head []byte
	rest uint64 // of a frame's payload
	// within is set between the frames of one message; fresh is set before the
	// first byte of a message, which names its channel.
	within, fresh bool
	// over is set once the cluster has sent the result or closed the WebSocket.
	over bool
}

func (w *webSocketTerminator) sent([]byte) {}

func (w *webSocketTerminator) came(p []byte) {
	for len(p) > 0 {
		if w.rest > 0 {
			if w.fresh {
				w.fresh = false
				w.over = w.over || p[0] == channelError
			}
			n := min(w.rest, uint64(len(p)))
			w.rest, p = w.rest-n, p[n:]
			continue
		}
		w.head, p = append(w.head, p[0]), p[1:]
		if !w.whole() {
			continue
		}
		opcode, final := w.head[0]&0x0f, w.head[0]&0x80 != 0
		switch {
		case opcode == 8:
			w.over = true
		case opcode < 8:
			w.fresh = opcode != 0 && w.rest > 0
			w.within = !final
		}
		w.head = w.head[:0]
	}
}

// whole reports whether the head is complete, and then sets rest. A cluster
// does not mask frames; if it does, nothing is sent.
func (w *webSocketTerminator) whole() bool {
	if len(w.head) < 2 {
		return false
	}
	w.over = w.over || w.head[1]&0x80 != 0
	switch length := w.head[1] & 0x7f; {
	case length < 126:
		w.rest = uint64(length)
	case length == 126 && len(w.head) == 4:
		w.rest = uint64(binary.BigEndian.Uint16(w.head[2:]))
	case length == 127 && len(w.head) == 10:
		w.rest = binary.BigEndian.Uint64(w.head[2:])
	default:
		return false
	}
	return true
}

func (w *webSocketTerminator) ended() bool {
	return w.over && w.rest == 0 && !w.within && len(w.head) == 0
}

func (w *webSocketTerminator) say(err error) []byte {
	if len(w.head) > 0 || w.rest > 0 || w.within || w.over {
		return nil
	}
	_, status, _ := kubereq.Status(err)
	words := []byte{0x82, 126, 0, 0, channelError}
	binary.BigEndian.PutUint16(words[2:], uint16(1+len(status)))
	// Close the WebSocket in order: otherwise client-go ignores the error.
	return append(append(words, status...), 0x88, 2, 0x03, 0xe8)
}

// spdyTerminator follows the SPDY/3.1 frames of both directions.
type spdyTerminator struct {
	// asObject is set when the error is sent as an object of kind Status, not
	// as text.
	asObject bool
	// errorStream is the stream that the client opened for errors; 0 means none
	// yet.
	errorStream atomic.Uint32
	up, down    spdyFrames
	// heads buffers the client's frames that open streams, and framer parses
	// them: their headers are compressed with a shared state.
	heads  bytes.Buffer
	framer *spdy.Framer
	lost   bool // the client's frames cannot be parsed
	over   bool // the cluster has sent the result
}

// newSPDYTerminator returns a terminator that has seen nothing yet.
func newSPDYTerminator(asObject bool) *spdyTerminator { return &spdyTerminator{asObject: asObject} }

// spdyFrames parses the heads of frames.
type spdyFrames struct {
	head []byte
	rest uint32
}

// next consumes one byte of a head, or the rest of a frame's payload. started
// is set with the last byte of a head.
func (f *spdyFrames) next(p []byte) (n int, started bool) {
	if f.rest > 0 {
		n = int(min(uint32(len(p)), f.rest))
		f.rest -= uint32(n)
		return n, false
	}
	if len(f.head) == 8 {
		f.head = f.head[:0]
	}
	f.head = append(f.head, p[0])
	if len(f.head) < 8 {
		return 1, false
	}
	f.rest = binary.BigEndian.Uint32(f.head[4:]) & 0xffffff
	return 1, true
}

func (f *spdyFrames) control() bool { return f.head[0]&0x80 != 0 }

// kind returns the type of a control frame.
func (f *spdyFrames) kind() spdy.ControlFrameType {
	return spdy.ControlFrameType(binary.BigEndian.Uint16(f.head[2:]))
}

// between reports whether the last frame is complete.
func (f *spdyFrames) between() bool { return f.rest == 0 && (len(f.head) == 0 || len(f.head) == 8) }

func (w *spdyTerminator) sent(p []byte) {
	for len(p) > 0 && !w.lost {
		n, started := w.up.next(p)
		if started {
			w.heads.Reset()
			if w.opens() {
				w.heads.Write(w.up.head)
				w.lost = w.up.rest > maxHeadFrame
			}
		} else if w.heads.Len() > 0 {
			w.heads.Write(p[:n])
		}
		p = p[n:]
		if w.heads.Len() > 0 && w.up.between() {
			w.read()
		}
	}
}

// opens reports whether the frame that began has headers.
func (w *spdyTerminator) opens() bool {
	if !w.up.control() {
		return false
	}
	switch w.up.kind() {
	case spdy.TypeSynStream, spdy.TypeSynReply, spdy.TypeHeaders:
		return true
	}
	return false
}

// read parses one frame of headers.
func (w *spdyTerminator) read() {
	if w.framer == nil {
		framer, err := spdy.NewFramerWithOptions(io.Discard, &w.heads, spdy.WithMaxControlFramePayloadSize(maxHeadFrame),
			spdy.WithMaxHeaderFieldSize(maxHeadField), spdy.WithMaxHeaderCount(maxHeadFields))
		if err != nil {
			w.lost = true
			return
		}
		w.framer = framer
	}
	frame, err := w.framer.ReadFrame()
	w.heads.Reset()
	if err != nil {
		w.lost = true
		return
	}
	if open, ok := frame.(*spdy.SynStreamFrame); ok && open.Headers.Get("streamType") == "error" {
		w.errorStream.CompareAndSwap(0, uint32(open.StreamId))
	}
}

func (w *spdyTerminator) came(p []byte) {
	for len(p) > 0 {
		n, started := w.down.next(p)
		p = p[n:]
		if !started || w.down.control() {
			continue
		}
		if id := w.errorStream.Load(); id != 0 && binary.BigEndian.Uint32(w.down.head) == id {
			w.over = true
		}
	}
}

func (w *spdyTerminator) ended() bool { return w.over && w.down.between() }

func (w *spdyTerminator) say(err error) []byte {
	id := w.errorStream.Load()
	if id == 0 || w.over || !w.down.between() {
		return nil
	}
	text := []byte(errcode.Message(err))
	if w.asObject {
		_, text, _ = kubereq.Status(err)
	}
	words := make([]byte, 8, 8+len(text))
	binary.BigEndian.PutUint32(words, id)
	binary.BigEndian.PutUint32(words[4:], uint32(len(text)))
	words[4] = byte(spdy.DataFlagFin)
	return append(words, text...)
}

// watched passes what is read to a function as well.
type watched struct {
	io.Reader
	see func([]byte)
}

// Read implements io.Reader.
func (w watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.see(p[:n])
	return n, err
}

// cutOff returns the error of a command whose tunnel broke.
func cutOff(ctx context.Context, c Cluster, err error) error {
	if cause := reasonOf(ctx, nil); cause != nil {
		return cause
	}
	if coded := (*errcode.Error)(nil); errors.As(err, &coded) {
		return errcode.New(errcode.Unavailable, "the tunnel of cluster %s was cut: %s; the command may still be running there, so check before you repeat it", c.Name, coded.Message)
	}
	return errcode.New(errcode.Unavailable, "the tunnel of cluster %s was cut; the command may still be running there, so check before you repeat it; axle clusters get %s shows when the tunnel is back", c.Name, c.Name)
}

// sayTo sends a command's client its error, and waits until the client has
// closed: a connection that is closed while received bytes are unread loses the
// last sent ones.
func sayTo(conn net.Conn, words []byte) {
	if len(words) == 0 {
		return
	}
	if err := conn.SetDeadline(time.Now().Add(terminatorLimit)); err != nil {
		return
	}
	if _, err := conn.Write(words); err != nil {
		return
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() != nil {
		return
	}
	_, _ = io.Copy(io.Discard, conn) // until the client closes, or time is up
}

// hurry ends what waits for a client: nothing more is read from it, and little
// time is left for writes.
func hurry(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Unix(1, 0))
	_ = conn.SetWriteDeadline(time.Now().Add(terminatorLimit))
}
