package sizes_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/packedlist"
	"github.com/axle-cd/axle/internal/taken"
)

func pack(tb testing.TB, text []byte) []byte {
	tb.Helper()
	w, err := zstd.NewWriter(nil, zstd.WithWindowSize(256<<10))
	if err != nil {
		tb.Fatal(err)
	}
	return w.EncodeAll(text, nil)
}

// opened is what opening any list may take: it unpacked, and decoded.
const opened = 8<<20 + 32<<20 + 8<<20

// TestPackedListsAreBounded: 712 bytes, which are 8 MiB of objects without anything, took 1.1 GB
// at each read of the service.
func TestPackedListsAreBounded(t *testing.T) {
	packed := pack(t, bytes.Repeat([]byte{0x0a, 0x00}, 4<<20-1))
	for name, list := range map[string]proto.Message{
		"components": &hubv1.ComponentList{}, "an agent's components": &agentv1.ComponentList{}, "differences": &hubv1.ServiceDifferenceList{}, "an agent's differences": &agentv1.DifferenceList{},
	} {
		var check, open error
		bytes := taken.By(func() { check, open = packedlist.Check(packed, list), packedlist.Open(packed, list) })
		t.Logf("%s: %d bytes took %d KiB", name, len(packed), bytes>>10)
		if !errors.Is(check, bounded.ErrTooLarge) || !errors.Is(open, bounded.ErrTooLarge) || bytes > 2*opened {
			t.Errorf("%s: %d bytes took %d MiB; %v, %v", name, len(packed), bytes>>20, check, open)
		}
	}
	if err := packedlist.Open(pack(t, make([]byte, 9<<20)), &hubv1.ComponentList{}); err == nil {
		t.Error("9 MiB are unpacked")
	}
}

// TestTheLargestPackedListsOpen are those of a service with 10,000 objects, and none.
func TestTheLargestPackedListsOpen(t *testing.T) {
	list := &agentv1.ComponentList{}
	for i := range 10_000 {
		list.Components = append(list.Components, &agentv1.Component{
			Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: fmt.Sprint("web-", i), Health: "Healthy", Synced: true, Uid: fmt.Sprintf("0a1b2c3d-0000-4000-8000-%012d", i),
		})
	}
	text, err := proto.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	var got hubv1.ComponentList
	if err := packedlist.Open(pack(t, text), &got); err != nil || len(got.GetComponents()) != 10_000 {
		t.Errorf("%d bytes: %d, %v", len(text), len(got.GetComponents()), err)
	}
	if err := packedlist.Open(nil, &got); err != nil {
		t.Error(err)
	}
}

func FuzzPackedList(f *testing.F) {
	f.Add([]byte{})
	f.Add(pack(f, nil))
	f.Add(pack(f, bytes.Repeat([]byte{0x0a, 0x00}, 4<<20-1)))
	f.Add(pack(f, []byte("\x0a\x08\x0a\x04apps\x30\x01")))
	f.Add(pack(f, make([]byte, 9<<20)))
	f.Fuzz(func(t *testing.T, packed []byte) {
		var list hubv1.ComponentList
		var check, open error
		if bytes := taken.By(func() { check = packedlist.Check(packed, &list) }); bytes > opened {
			t.Fatalf("%d bytes take %d to check", len(packed), bytes)
		}
		if bytes := taken.By(func() { open = packedlist.Open(packed, &list) }); bytes > opened {
			t.Fatalf("%d bytes take %d", len(packed), bytes)
		}
		if check != nil && open == nil {
			t.Fatalf("what is refused on arrival opens: %v", check)
		}
	})
}
