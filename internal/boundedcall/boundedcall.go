// Package boundedcall bounds what the messages of calls become: their text, what it is
// when it is unpacked, and what it takes in memory when it is decoded (internal/bounded).
// Servers and clients give its options to Connect in place of WithReadMaxBytes.
//
// Connect itself unpacks a message that is too long to its end, to tell its length. Here
// unpacking stops at the limit. Each refusal names the limit, the call and the way out, which
// Connect's own do not.
package boundedcall

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/internal/bounded"
)

// packing is the only packing that calls have.
const packing = "gzip"

// Handler bounds the messages that a server reads: their text, packed and unpacked, to
// so many bytes, and what they become.
func Handler(text int) connect.HandlerOption {
	return connect.WithHandlerOptions(
		connect.WithReadMaxBytes(text), connect.WithCodec(wire{bounded.Most(text)}),
		connect.WithCodec(textual{"json", bounded.Most(text)}), connect.WithCodec(textual{"json; charset=utf-8", bounded.Most(text)}),
		connect.WithCompression(packing, func() connect.Decompressor { return &unpacker{most: int64(text)} }, func() connect.Compressor { return gzip.NewWriter(io.Discard) }),
	)
}

// Serve refuses the messages that Handler bounds in words of its own, before Connect counts
// them.
func Serve(h http.Handler, text int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The server keeps the body that it knows: one that is left unread is read there.
		own, kind := *r, r.Header.Get("Content-Type")
		b := &body{ReadCloser: r.Body, call: r.URL.Path, most: int64(text), left: int64(text)}
		if strings.HasPrefix(kind, "application/grpc") || strings.HasPrefix(kind, "application/connect+") {
			b.head, b.left = make([]byte, 0, headBytes), 0
		}
		own.Body = b
		h.ServeHTTP(w, &own)
	})
}

// headBytes is the length of what precedes each message of a stream.
const headBytes = 5

// body is that of one call: of one message, or of several that each have a head.
type body struct {
	io.ReadCloser
	call string
	// most is what a message may have, and left what this one may still have, or has.
	most, left int64
	// head is that of the next message, as far as it was read; nil for a call of one message.
	head []byte
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if cut := (*http.MaxBytesError)(nil); errors.As(err, &cut) { // the body has a limit of its own
		return n, tooLong(b.what(), cut.Limit)
	}
	if b.head == nil {
		if b.left -= int64(n); b.left < 0 {
			return 0, b.tooLong()
		}
		return n, err
	}
	for rest := p[:n]; len(rest) > 0; {
		if b.left > 0 {
			of := min(b.left, int64(len(rest)))
			rest, b.left = rest[of:], b.left-of
			continue
		}
		of := min(headBytes-len(b.head), len(rest))
		if b.head, rest = append(b.head, rest[:of]...), rest[of:]; len(b.head) < headBytes {
			continue
		}
		if b.left, b.head = int64(binary.BigEndian.Uint32(b.head[1:])), b.head[:0]; b.left > b.most {
			return 0, b.tooLong()
		}
	}
	return n, err
}

// tooLong reads the rest, as Connect does, so that a caller that still sends gets the answer.
func (b *body) tooLong() error {
	_, _ = io.Copy(io.Discard, b.ReadCloser)
	return tooLong(b.what(), b.most)
}

func (b *body) what() string {
	return "the message to " + strings.TrimPrefix(b.call, "/") + " is longer than"
}

// tooLong is the error of a message that is longer than its limit.
func tooLong(what string, most int64) error {
	return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("%s %s, the limit of one message; send or ask for less at once, in several calls", what, words(most)))
}

// words are a number of bytes as people write it.
func words(bytes int64) string {
	if kib := bytes >> 10; kib<<10 == bytes && kib < 1<<10 {
		return fmt.Sprintf("%d KiB", kib)
	}
	if mib := bytes >> 20; mib<<20 == bytes {
		return fmt.Sprintf("%d MiB", mib)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// Client does the same for the answers that a client reads.
func Client(text int) connect.ClientOption {
	return connect.WithClientOptions(
		connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
			return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
				answer, err := next(ctx, r)
				if connect.CodeOf(err) == connect.CodeResourceExhausted && !connect.IsWireError(err) {
					err = tooLong("the answer of "+strings.TrimPrefix(r.Spec().Procedure, "/")+" is longer than", int64(text))
				}
				return answer, err
			}
		})),
		connect.WithReadMaxBytes(text), connect.WithCodec(wire{bounded.Most(text)}),
		connect.WithAcceptCompression(packing, func() connect.Decompressor { return &unpacker{most: int64(text)} }, func() connect.Compressor { return gzip.NewWriter(io.Discard) }),
	)
}

// unpacker unpacks at most so many bytes of a message.
type unpacker struct {
	gzip.Reader
	most, left int64
}

// Reset implements connect.Decompressor.
func (u *unpacker) Reset(from io.Reader) error {
	u.left = u.most
	return u.Reader.Reset(from)
}

// Read implements io.Reader.
func (u *unpacker) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p[:min(u.left+1, int64(len(p)))])
	if u.left -= int64(n); u.left < 0 {
		return 0, tooLong("the message is unpacked longer than", u.most)
	}
	return n, err
}

// message returns what is marshaled or decoded, which Connect gives as any.
func message(m any) (proto.Message, error) {
	if p, ok := m.(proto.Message); ok {
		return p, nil
	}
	return nil, fmt.Errorf("%T is not a message of protobuf", m)
}

// wire is protobuf's binary form.
type wire struct{ most int }

// Name implements connect.Codec.
func (wire) Name() string { return "proto" }

// IsBinary reports that its texts are not for people, as Connect asks of its codecs.
func (wire) IsBinary() bool { return true }

// Marshal implements connect.Codec.
func (b wire) Marshal(m any) ([]byte, error) { return b.MarshalAppend(nil, m) }

// MarshalStable is Marshal with one text for equal messages.
func (wire) MarshalStable(m any) ([]byte, error) {
	p, err := message(m)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(p)
}

// MarshalAppend is Marshal behind what is there already.
func (wire) MarshalAppend(to []byte, m any) ([]byte, error) {
	p, err := message(m)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{}.MarshalAppend(to, p)
}

// Unmarshal implements connect.Codec.
func (b wire) Unmarshal(text []byte, m any) error {
	p, err := message(m)
	if err != nil {
		return err
	}
	return bounded.Proto(text, p, b.most)
}

// textual is protobuf's JSON.
type textual struct {
	name string
	most int
}

// Name implements connect.Codec.
func (t textual) Name() string { return t.name }

// IsBinary reports that its texts are for people too.
func (textual) IsBinary() bool { return false }

// Marshal implements connect.Codec.
func (t textual) Marshal(m any) ([]byte, error) { return t.MarshalAppend(nil, m) }

// MarshalStable is Marshal without the spaces that protobuf varies.
func (t textual) MarshalStable(m any) ([]byte, error) {
	text, err := t.Marshal(m)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Compact(&out, text)
	return out.Bytes(), err
}

// MarshalAppend is Marshal behind what is there already.
func (textual) MarshalAppend(to []byte, m any) ([]byte, error) {
	p, err := message(m)
	if err != nil {
		return nil, err
	}
	return protojson.MarshalOptions{}.MarshalAppend(to, p)
}

// Unmarshal implements connect.Codec.
func (t textual) Unmarshal(text []byte, m any) error {
	p, err := message(m)
	switch {
	case err != nil:
		return err
	case len(text) == 0:
		return errors.New("an empty text is no JSON")
	}
	// A newer client may send fields that this hub does not know.
	return bounded.ProtoJSON(text, p, t.most, protojson.UnmarshalOptions{DiscardUnknown: true})
}
