package difference

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	maxText   = 32 << 10
	maxPacked = 64 << 10
	maxBytes  = 4 << 20
)

// Sentence describes a comparison in one sentence; problem is why there is none.
func Sentence(found Comparison, problem string) string {
	if problem != "" {
		return "dry run: " + problem
	}
	count := map[Action]int{}
	for _, d := range found.Differences {
		count[d.Action]++
	}
	return fmt.Sprintf("dry run, nothing is written: %d to create, %d to update, %d to recreate, %d to delete, %d hooks to run, %d refused, %d held, %d left, %d unchanged; see `axle services diff`",
		count[Create], count[Update], count[Recreate], count[Delete], count[Run], count[Refuse], count[Hold], count[Leave], found.Unchanged)
}

var packer, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10))

// Pack packs as many differences as fit into one report, and counts the others.
func Pack(found Comparison) ([]byte, error) {
	list := &agentv1.DifferenceList{Unchanged: int32(found.Unchanged)}
	size := 0
	for _, d := range found.Differences {
		one := &agentv1.Difference{Group: d.Ref.Group, Version: d.Version, Kind: d.Ref.Kind, Namespace: d.Ref.Namespace, Name: d.Ref.Name,
			Action: string(d.Action), Desired: d.Desired, Live: d.Live, Message: d.Message}
		if len(d.Desired) > maxText || len(d.Live) > maxText {
			one.Desired, one.Live = "", ""
			one.Message = fmt.Sprintf("it is larger than %d KiB and not shown. %s", maxText>>10, d.Message)
		}
		if size += proto.Size(one); size > maxBytes {
			break
		}
		list.Differences = append(list.Differences, one)
	}
	for {
		list.LeftOut = int32(len(found.Differences) - len(list.Differences))
		raw, err := proto.Marshal(list)
		if err != nil {
			return nil, errcode.New(errcode.Internal, "pack a diff: %w", err)
		}
		if packed := packer.EncodeAll(raw, nil); len(packed) <= maxPacked {
			return packed, nil
		}
		list.Differences = list.Differences[:len(list.Differences)*3/4]
	}
}
