// Package packedlist opens the lists of objects that agents send packed: the objects of a
// service, and the differences of a diff. The hub checks a list when it arrives, stores
// it as it came, and opens it at each read; so both go by the same bounds. Agents send
// at most 64 KiB packed.
package packedlist

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/internal/bounded"
)

const (
	// maxOpened bounds an unpacked list, in bytes: an agent packs at most 4 MiB.
	maxOpened = 8 << 20
	// maxDecoded bounds what a list becomes: that of a service with 10,000 objects
	// becomes 10 MiB.
	maxDecoded = 32 << 20
)

// Check returns an error for a list that Open refuses, which has the type of the message.
func Check(packed []byte, list proto.Message) error {
	text, err := unpack(packed)
	if err == nil {
		err = bounded.CheckProto(text, list, maxDecoded)
	}
	if err != nil {
		return fmt.Errorf("its list of objects: %w", err)
	}
	return nil
}

// Open decodes a list; no bytes are an empty list.
func Open(packed []byte, list proto.Message) error {
	text, err := unpack(packed)
	if err == nil {
		err = bounded.Proto(text, list, maxDecoded)
	}
	if err != nil {
		return fmt.Errorf("its list of objects: %w", err)
	}
	return nil
}

func unpack(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxOpened))
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return reader.DecodeAll(packed, nil)
}
