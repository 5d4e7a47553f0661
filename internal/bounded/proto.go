package bounded

import (
	"reflect"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

const (
	// perElement is what an element of a list takes beside itself, with the copies that a
	// growing slice makes; perEntry that of a map.
	perElement = 24
	perEntry   = 128
	// perText is what a text takes beside its bytes.
	perText = 64
)

// Proto decodes a message in protobuf's binary form that becomes at most so many bytes.
func Proto(text []byte, m proto.Message, most int) error {
	if err := CheckProto(text, m, most); err != nil {
		return err
	}
	return proto.Unmarshal(text, m)
}

// ProtoJSON does the same for protobuf's JSON.
func ProtoJSON(text []byte, m proto.Message, most int, options protojson.UnmarshalOptions) error {
	if err := checkJSON(text, max(largest(m.ProtoReflect().Descriptor()), perEntry)+perElement, most); err != nil {
		return err
	}
	return options.Unmarshal(text, m)
}

// CheckProto returns an error for a text that would become more than so many bytes, or
// that is nested too deeply. A text that is no message is left to the decoder.
func CheckProto(text []byte, m proto.Message, most int) error {
	return (&protoWalk{left: most, most: most}).message(m.ProtoReflect().Descriptor(), text, 0)
}

type protoWalk struct{ left, most int }

// take takes so many bytes of what a message has.
func (w *protoWalk) take(d protoreflect.Descriptor, bytes int) error {
	if w.left -= bytes; w.left < 0 {
		return tooLarge(w.most, string(d.FullName()))
	}
	return nil
}

func (w *protoWalk) message(d protoreflect.MessageDescriptor, text []byte, depth int) error {
	if depth > MaxDepth {
		return tooDeep(string(d.FullName()))
	}
	for len(text) > 0 {
		number, kind, n := protowire.ConsumeTag(text)
		if n < 0 {
			return nil
		}
		value := text[n:]
		size := protowire.ConsumeFieldValue(number, kind, value)
		if size < 0 {
			return nil
		}
		if err := w.field(d, d.Fields().ByNumber(number), kind, value[:size], depth); err != nil {
			return err
		}
		text = value[size:]
	}
	return nil
}

// field takes what one field of a message with its value becomes.
func (w *protoWalk) field(d protoreflect.MessageDescriptor, f protoreflect.FieldDescriptor, kind protowire.Type, value []byte, depth int) error {
	if f == nil || kind != protowire.BytesType {
		// An unknown field is kept as it came, in a slice that grows.
		return w.take(d, perElement+2*len(value))
	}
	text, n := protowire.ConsumeBytes(value)
	if n < 0 {
		return nil
	}
	switch {
	case f.IsMap():
		if err := w.take(f, perEntry+size(f.Message())); err != nil {
			return err
		}
		return w.message(f.Message(), text, depth+1)
	case f.Message() != nil:
		if err := w.take(f, perElement+size(f.Message())); err != nil {
			return err
		}
		return w.message(f.Message(), text, depth+1)
	case f.Kind() == protoreflect.StringKind || f.Kind() == protoreflect.BytesKind:
		return w.take(f, perElement+perText+len(text))
	}
	return w.take(f, perElement*(1+len(text))) // packed numbers, of a byte each
}

// sizes are those of the structs of messages, and of the largest that each reaches.
var sizes, reached sync.Map

// size is that of a message's struct, as it is allocated. The entry of a map is no struct.
func size(d protoreflect.MessageDescriptor) int {
	if known, ok := sizes.Load(d.FullName()); ok {
		return known.(int)
	}
	bytes := 0
	if of, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName()); err == nil {
		bytes = allocated(int(reflect.TypeOf(of.Zero().Interface()).Elem().Size()))
	}
	sizes.Store(d.FullName(), bytes)
	return bytes
}

// allocated rounds a size up to about the class that the allocator takes for it.
func allocated(bytes int) int { return bytes + bytes/8 + 16 }

// largest is the size of the largest struct in a message.
func largest(d protoreflect.MessageDescriptor) int {
	if known, ok := reached.Load(d.FullName()); ok {
		return known.(int)
	}
	most, seen := 0, map[protoreflect.FullName]bool{}
	var visit func(d protoreflect.MessageDescriptor)
	visit = func(d protoreflect.MessageDescriptor) {
		if seen[d.FullName()] {
			return
		}
		seen[d.FullName()] = true
		most = max(most, size(d))
		for i := range d.Fields().Len() {
			if of := d.Fields().Get(i).Message(); of != nil {
				visit(of)
			}
		}
	}
	visit(d)
	reached.Store(d.FullName(), most)
	return most
}
