// Package packed unpacks the lists of objects that agents send compressed and
// the hub stores unchanged, within their bounds. It cleans every text; it makes
// no decisions.
package packed

import (
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/packedlist"
	"github.com/axle-cd/axle/internal/plain"
)

// Open unpacks a list of objects that an agent sent; empty data is an empty
// list.
func Open(packed []byte, list proto.Message) error {
	if err := packedlist.Open(packed, list); err != nil {
		return err
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
