package sizes_test

import (
	"fmt"
	"slices"
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
	"github.com/axle-cd/axle/internal/taken"
)

// elements is how many a list has of which is measured what it takes.
const elements = 20_000

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
			got := taken.By(func() { err = proto.Unmarshal(text, m) })
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
			got := taken.By(func() { err = protojson.Unmarshal(text, m) })
			if err != nil {
				t.Fatalf("%s: %v", f.FullName(), err)
			}
			if bounded.ProtoJSON(text, m, got*2/3, protojson.UnmarshalOptions{}) == nil {
				t.Errorf("%s: %d bytes take %d and pass a bound of two thirds of it", f.FullName(), len(text), got)
			}
		}
	})
}

// FuzzMessages decodes any text as each message of our protocols, in both forms, as the
// calls of people, agents, replicas and the render child do: within the bound, whatever it is.
func FuzzMessages(f *testing.F) {
	var all []protoreflect.MessageType
	ours(func(t protoreflect.MessageType) { all = append(all, t) })
	slices.SortFunc(all, func(a, b protoreflect.MessageType) int {
		return strings.Compare(string(a.Descriptor().FullName()), string(b.Descriptor().FullName()))
	})
	const most = 64 << 10
	for _, text := range []string{"", "\x0a\x00", strings.Repeat("\x12\x00", 4000), strings.Repeat("\x1a\x02\x0a\x00", 2000), "{}", `{"a":[{},{}]}`, `{"objects":[` + strings.Repeat("{},", 2000) + `{}]}`, strings.Repeat("[", 200)} {
		for n := range all {
			f.Add(uint16(n), text)
		}
	}
	f.Fuzz(func(t *testing.T, n uint16, text string) {
		of := all[int(n)%len(all)]
		// What is made once for a type is none of a text's.
		_ = proto.Unmarshal(nil, of.New().Interface())
		_ = protojson.Unmarshal([]byte("{}"), of.New().Interface())
		var err error
		for form, decode := range map[string]func(){
			"proto": func() { err = bounded.Proto([]byte(text), of.New().Interface(), most) },
			"JSON": func() {
				err = bounded.ProtoJSON([]byte(text), of.New().Interface(), most, protojson.UnmarshalOptions{})
			},
		} {
			if bytes := taken.By(decode); bytes > 3*most+8*len(text) {
				t.Errorf("%s: %d bytes of %s take %d: %v", of.Descriptor().FullName(), len(text), form, bytes, err)
			}
		}
	})
}
