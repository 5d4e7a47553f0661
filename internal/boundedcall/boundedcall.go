// Package boundedcall bounds what the messages of calls become: their text, what it is
// when it is unpacked, and what it takes in memory when it is decoded (internal/bounded).
// Servers and clients give its options to Connect in place of WithReadMaxBytes.
//
// Connect itself unpacks a message that is too long to its end, to tell its length. Here
// unpacking stops at the limit.
package boundedcall

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
		connect.WithReadMaxBytes(text), connect.WithCodec(binary{bounded.Most(text)}),
		connect.WithCodec(textual{"json", bounded.Most(text)}), connect.WithCodec(textual{"json; charset=utf-8", bounded.Most(text)}),
		connect.WithCompression(packing, func() connect.Decompressor { return &unpacker{most: int64(text)} }, func() connect.Compressor { return gzip.NewWriter(io.Discard) }),
	)
}

// Client does the same for the answers that a client reads.
func Client(text int) connect.ClientOption {
	return connect.WithClientOptions(
		connect.WithReadMaxBytes(text), connect.WithCodec(binary{bounded.Most(text)}),
		connect.WithAcceptCompression(packing, func() connect.Decompressor { return &unpacker{most: int64(text)} }, func() connect.Compressor { return gzip.NewWriter(io.Discard) }),
	)
}

// errTooLong ends the unpacking of a message, whose length Connect has refused already.
var errTooLong = errors.New("unpacking it stopped there")

// unpacker unpacks at most so many bytes of a message, and one more.
type unpacker struct {
	gzip.Reader
	most, left int64
}

// Reset implements connect.Decompressor.
func (u *unpacker) Reset(from io.Reader) error {
	u.left = u.most + 1
	return u.Reader.Reset(from)
}

// Read implements io.Reader.
func (u *unpacker) Read(p []byte) (int, error) {
	if u.left <= 0 {
		return 0, errTooLong
	}
	n, err := u.Reader.Read(p[:min(int64(len(p)), u.left)])
	u.left -= int64(n)
	return n, err
}

// message returns what is marshaled or decoded, which Connect gives as any.
func message(m any) (proto.Message, error) {
	if p, ok := m.(proto.Message); ok {
		return p, nil
	}
	return nil, fmt.Errorf("%T is not a message of protobuf", m)
}

// binary is protobuf's binary form.
type binary struct{ most int }

// Name implements connect.Codec.
func (binary) Name() string { return "proto" }

// IsBinary reports that its texts are not for people, as Connect asks of its codecs.
func (binary) IsBinary() bool { return true }

// Marshal implements connect.Codec.
func (b binary) Marshal(m any) ([]byte, error) { return b.MarshalAppend(nil, m) }

// MarshalStable is Marshal with one text for equal messages.
func (binary) MarshalStable(m any) ([]byte, error) {
	p, err := message(m)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(p)
}

// MarshalAppend is Marshal behind what is there already.
func (binary) MarshalAppend(to []byte, m any) ([]byte, error) {
	p, err := message(m)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{}.MarshalAppend(to, p)
}

// Unmarshal implements connect.Codec.
func (b binary) Unmarshal(text []byte, m any) error {
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
