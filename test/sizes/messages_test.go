package sizes_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/axle-cd/axle/api/peer/v1"
	_ "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/internal/bounded"
)

// elements is how many a list has of which is measured what it takes.
const elements = 20_000

// taken returns what a call allocates that is reachable or was, in bytes: more than what
// is in use at any time.
func taken(call func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// ours calls visit with each message of our protocols.
func ours(visit func(t protoreflect.MessageType)) {
	protoregistry.GlobalTypes.RangeMessages(func(t protoreflect.MessageType) bool {
		if strings.HasPrefix(string(t.Descriptor().FullName()), "axle.") && !t.Descriptor().IsMapEntry() {
			visit(t)
		}
		return true
	})
}

// shortest is the shortest element of a field, which is where a text becomes most; nil
// when the field is no list and no map.
func shortest(f protoreflect.FieldDescriptor, i int) []byte {
	tag := protowire.AppendTag(nil, f.Number(), protowire.BytesType)
	switch {
	case f.IsMap():
		key := protowire.AppendTag(nil, 1, protowire.BytesType)
		if f.MapKey().Kind() != protoreflect.StringKind {
			return nil
		}
		return protowire.AppendBytes(tag, protowire.AppendString(key, fmt.Sprintf("%x", i)))
	case f.IsList() && (f.Message() != nil || f.Kind() == protoreflect.StringKind || f.Kind() == protoreflect.BytesKind):
		return protowire.AppendBytes(tag, nil)
	case f.IsList():
		return nil // packed, below
	}
	return nil
}

// TestWhatIsChargedIsTaken: of each list and map of each message of our protocols, made of
// the shortest elements that there are, decoding takes no more than was charged for it.
func TestWhatIsChargedIsTaken(t *testing.T) {
	worst, lists := 0, 0
	ours(func(of protoreflect.MessageType) {
		fields := of.Descriptor().Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			if !f.IsList() && !f.IsMap() {
				continue
			}
			var text []byte
			for n := range elements {
				text = append(text, shortest(f, n)...)
			}
			if text == nil {
				text = protowire.AppendTag(nil, f.Number(), protowire.BytesType)
				text = protowire.AppendBytes(text, make([]byte, elements))
			}
			m := of.New().Interface()
			var err error
			got := taken(func() { err = proto.Unmarshal(text, m) })
			if err != nil {
				t.Fatalf("%s: %v", f.FullName(), err)
			}
			// A third is what a growing slice leaves behind.
			if bounded.CheckProto(text, m, got*2/3) == nil {
				t.Errorf("%s: %d bytes take %d and pass a bound of two thirds of it", f.FullName(), len(text), got)
			}
			lists++
			worst = max(worst, got/len(text))
		}
	})
	t.Logf("%d lists and maps; a byte becomes at most %d", lists, worst)
	if lists < 100 || worst < 50 {
		t.Errorf("%d lists, at most %d bytes of one: the test looks at the wrong messages", lists, worst)
	}
}

// TestObjectsOfJSONAreCharged does the same for protobuf's JSON.
func TestObjectsOfJSONAreCharged(t *testing.T) {
	var err error
	ours(func(of protoreflect.MessageType) {
		fields := of.Descriptor().Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			if !f.IsList() || f.Message() == nil {
				continue
			}
			text := fmt.Appendf(nil, `{%q:%s}`, f.JSONName(), "["+strings.TrimSuffix(strings.Repeat("{},", elements), ",")+"]")
			m := of.New().Interface()
			got := taken(func() { err = protojson.Unmarshal(text, m) })
			if err != nil {
				t.Fatalf("%s: %v", f.FullName(), err)
			}
			if bounded.ProtoJSON(text, m, got*2/3, protojson.UnmarshalOptions{}) == nil {
				t.Errorf("%s: %d bytes take %d and pass a bound of two thirds of it", f.FullName(), len(text), got)
			}
		}
	})
}
