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

// maxOpened bounds what a list may unpack to; no render is larger.
const maxOpened = 1 << 30

var (
	packer, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10), zstd.WithEncoderLevel(zstd.SpeedDefault))
	opener, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxOpened), zstd.WithDecoderLowmem(true))
)

// List is a list of objects, packed; nil is none at all.
type List []byte

// Pack packs objects; those that cannot be written as JSON make it nil.
func Pack(objects []*unstructured.Unstructured) List {
	raw, err := json.Marshal(objects)
	if err != nil {
		return nil
	}
	return Bytes(raw)
}

// Keep returns the objects for the next pass after one that is unfinished, nil
// after another. Those that were kept before stay as they are.
func (l List) Keep(objects []*unstructured.Unstructured, unfinished bool) List {
	switch {
	case !unfinished:
		return nil
	case l != nil:
		return l
	}
	return Pack(objects)
}

// Open returns the objects, nil when there are none or they cannot be read:
// whoever kept them makes them anew then.
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

// Bytes packs a text to be kept. The encoder makes room for the whole text, of
// which only what is used is held here.
func Bytes(raw []byte) []byte { return bytes.Clone(packer.EncodeAll(raw, nil)) }

// Text is what Bytes packed.
func Text(packed []byte) ([]byte, error) { return opener.DecodeAll(packed, nil) }
