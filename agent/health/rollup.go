package health

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/kubehealth"
)

// The limits of a packed list, which a status can carry to the hub.
const (
	maxPacked = 64 << 10
	worstKept = 200
	// maxMessage bounds one component's message, in bytes.
	maxMessage = 1024
)

// RollUp returns the health of a service: that of its worst component, or Healthy
// without components. The message names the first of the worst.
func RollUp(components []*agentv1.Component) Result {
	total := Result{Status: Healthy}
	same := 0
	for _, c := range components {
		status := Status(c.GetHealth())
		switch {
		case status == total.Status:
			same++
		case Worst(total.Status, status) == status:
			total, same = Result{Status: status, Message: describe(c)}, 0
		}
	}
	if total.Status != Healthy && same > 0 {
		total.Message += fmt.Sprintf(" (and %d more)", same)
	}
	return total
}

func describe(c *agentv1.Component) string {
	name := c.GetName()
	if c.GetNamespace() != "" {
		name = c.GetNamespace() + "/" + name
	}
	text := c.GetKind() + " " + name + " is " + c.GetHealth()
	if c.GetMessage() != "" {
		text += ": " + c.GetMessage()
	}
	return text
}

// Count counts components by their health.
func Count(components []*agentv1.Component) *agentv1.ComponentCounts {
	counts := &agentv1.ComponentCounts{Total: int32(len(components))}
	for _, c := range components {
		switch Status(c.GetHealth()) {
		case Healthy:
			counts.Healthy++
		case Progressing:
			counts.Progressing++
		case Degraded:
			counts.Degraded++
		default:
			counts.Other++
		}
	}
	return counts
}

// Pack compresses a component list for a status and counts all components. The order
// of the components does not matter. A list that does not fit is cut to the worst
// 200, and further if needed.
func Pack(components []*agentv1.Component) (blob []byte, counts *agentv1.ComponentCounts) {
	counts = Count(components)
	list := slices.Clone(components)
	slices.SortFunc(list, func(a, b *agentv1.Component) int {
		return cmp.Or(
			kubehealth.Compare(Status(b.GetHealth()), Status(a.GetHealth())),
			cmp.Compare(a.GetGroup(), b.GetGroup()), cmp.Compare(a.GetKind(), b.GetKind()),
			cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	keep := len(list)
	for {
		blob = pack(list[:keep], keep < len(list))
		if len(blob) <= maxPacked || keep == 0 {
			return blob, counts
		}
		keep = min(keep/2, worstKept)
	}
}

func pack(list []*agentv1.Component, truncated bool) []byte {
	short := make([]*agentv1.Component, len(list))
	for i, c := range list {
		if len(c.GetMessage()) > maxMessage {
			c = proto.CloneOf(c)
			c.Message = strings.ToValidUTF8(c.GetMessage()[:maxMessage], "") + "…"
		}
		short[i] = c
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(&agentv1.ComponentList{Components: short, Truncated: truncated})
	if err != nil {
		return nil
	}
	return bytes.Clone(packer.EncodeAll(raw, nil)) // a copy without the encoder's spare capacity
}

// packer is shared: EncodeAll is safe for concurrent use, and a window of 256 KiB
// keeps an idle agent small.
var packer, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10),
	zstd.WithEncoderLevel(zstd.SpeedDefault))
