// Package packedobj keeps a service's rendered objects until its next pass. As maps,
// objects take three times the memory of their text, and an agent whose services all
// wait for health would hold all of them. agent/poll calls it; the package keeps
// nothing itself.
//
// Invariant: Open returns the objects that were packed, including the exact numbers.
package packedobj

import (
	"bytes"
	"encoding/json"

	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxOpened bounds the unpacked size of a list, in bytes; no render is larger.
const maxOpened = 1 << 30

var (
	packer, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10), zstd.WithEncoderLevel(zstd.SpeedDefault))
	opener, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxOpened), zstd.WithDecoderLowmem(true))
)

// List is a packed list of objects; nil is no list.
type List []byte

// Pack packs objects; if one cannot be encoded as JSON, the result is nil.
func Pack(objects []*unstructured.Unstructured) List {
	raw, err := json.Marshal(objects)
	if err != nil {
		return nil
	}
	return Bytes(raw)
}

// Keep returns the packed objects for the next pass if the present one is unfinished,
// otherwise nil. An existing list is kept.
func (l List) Keep(objects []*unstructured.Unstructured, unfinished bool) List {
	switch {
	case !unfinished:
		return nil
	case l != nil:
		return l
	}
	return Pack(objects)
}

// Open returns the objects, or nil if there are none or they cannot be decoded: then
// the caller renders them again.
func (l List) Open() []*unstructured.Unstructured {
	if l == nil {
		return nil
	}
	raw, err := Text(l)
	if err != nil {
		return nil
	}
	objects := []*unstructured.Unstructured{}
	if json.Unmarshal(raw, &objects) != nil {
		return nil
	}
	return objects
}

// Bytes packs a text to be kept. The encoder allocates for the whole text; the result
// holds only what is used.
func Bytes(raw []byte) []byte { return bytes.Clone(packer.EncodeAll(raw, nil)) }

// Text unpacks the result of Bytes.
func Text(packed []byte) ([]byte, error) { return opener.DecodeAll(packed, nil) }
