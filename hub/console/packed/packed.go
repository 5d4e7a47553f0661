// Package packed unpacks the lists of objects that agents send compressed and
// the hub stores unchanged. It limits the size and cleans every text; it makes
// no decisions.
package packed

import (
	"fmt"

	"connectrpc.com/connect"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/plain"
)

// maxOpened limits an unpacked list of objects, in bytes: an agent sends at
// most 64 KiB of it compressed.
const maxOpened = 8 << 20

// Open unpacks a list of objects that an agent sent; empty data is an empty
// list.
func Open(packed []byte, list proto.Message) error {
	if len(packed) == 0 {
		return nil
	}
	reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxOpened))
	if err != nil {
		return err
	}
	defer reader.Close()
	data, err := reader.DecodeAll(packed, nil)
	if err != nil {
		return fmt.Errorf("its list of objects: %w", err)
	}
	if err := proto.Unmarshal(data, list); err != nil {
		return fmt.Errorf("its list of objects: %w", err)
	}
	plain.Message(list, Plain)
	return nil
}

// Plain cleans a text that a cluster reports about an object. The limit of the
// whole list has already limited its length.
func Plain(field, text string) string {
	switch field {
	case "message", "desired", "live":
		return plain.Text(text, 0)
	}
	return plain.Line(text, 0)
}

// Diff adds what an agent found to an answer.
func Diff(data []byte, out *hubv1.ServiceDiff) (*connect.Response[hubv1.ServiceDiff], error) {
	var list hubv1.ServiceDifferenceList
	if err := Open(data, &list); err != nil {
		return nil, fmt.Errorf("a diff: %w", err)
	}
	out.Differences, out.Unchanged, out.LeftOut = list.GetDifferences(), list.GetUnchanged(), list.GetLeftOut()
	return connect.NewResponse(out), nil
}
