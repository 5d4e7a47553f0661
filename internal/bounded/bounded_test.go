package bounded_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/taken"
)

// TestWhatIsChargedForJSONIsTaken does the same for JSON.
func TestWhatIsChargedForJSONIsTaken(t *testing.T) {
	const elements = 20_000
	list := func(one string) []byte {
		return []byte("[" + strings.TrimSuffix(strings.Repeat(one+",", elements), ",") + "]")
	}
	type large struct{ A, B, C, D, E, F, G, H, I, J [8]string }
	entries := map[string]int{}
	for i := range elements {
		entries[fmt.Sprintf("%x", i)] = 1
	}
	object, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, text []byte, into any) {
		got := taken.By(func() { err = json.Unmarshal(text, into) })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if bounded.CheckJSON(text, into, got*2/3) == nil {
			t.Errorf("%s: %d bytes take %d and pass a bound of two thirds of it", name, len(text), got)
		}
	}
	for name, text := range map[string][]byte{
		"numbers": list("1"), "texts": list(`""`), "lists": list("[]"), "objects": list("{}"), "lists of one": list("[1]"),
		"objects of one": list(`{"":1}`), "null": list("null"), "an object": object,
	} {
		check(name, text, new(any))
	}
	check("structs", list("{}"), new([]large))
	check("pointers", list("{}"), new([]*large))
	check("texts by name", object, new(map[string]any))
}

// TestDepth holds that nesting has an end, in both forms and in what nobody knows.
func TestDepth(t *testing.T) {
	// A descriptor of a message nests itself.
	deep := []byte{}
	for range bounded.MaxDepth + 5 {
		deep = protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), deep)
	}
	if err := bounded.Proto(deep, &descriptorpb.DescriptorProto{}, 1<<30); !errors.Is(err, bounded.ErrTooLarge) {
		t.Errorf("a message of %d levels: %v", bounded.MaxDepth+5, err)
	}
	for name, one := range map[string]string{"lists": "[", "objects": `{"a":`} {
		text := []byte(strings.Repeat(one, bounded.MaxDepth+1))
		if err := bounded.JSON(text, new(any), 1<<30); !errors.Is(err, bounded.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	text := strings.Repeat("[", bounded.MaxDepth) + strings.Repeat("]", bounded.MaxDepth)
	if err := bounded.JSON([]byte(text), new(any), 1<<30); err != nil {
		t.Errorf("%d lists: %v", bounded.MaxDepth, err)
	}
	if err := bounded.JSON([]byte(`"`+strings.Repeat(`[\"`, bounded.MaxDepth+1)+`"`), new(any), 1<<30); err != nil {
		t.Errorf("brackets in a text: %v", err)
	}
}

// TestBrokenTextsAreLeftToTheDecoder: its error says what is wrong.
func TestBrokenTextsAreLeftToTheDecoder(t *testing.T) {
	for _, text := range []string{``, `{`, `"`, `"\`, `]]`, `{"a":`, "\xff"} {
		if err := bounded.CheckJSON([]byte(text), new(any), bounded.Least); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		var syntax *json.SyntaxError
		if err := bounded.JSON([]byte(text), new(any), bounded.Least); !errors.As(err, &syntax) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range [][]byte{{0x0a}, {0x0a, 0xff}, {0xff}, {0x0b}, {0x0a, 0x05, 1}} {
		if err := bounded.Proto(text, &descriptorpb.DescriptorProto{}, bounded.Least); err == nil || errors.Is(err, bounded.ErrTooLarge) {
			t.Errorf("%x: %v", text, err)
		}
	}
}

type listing struct {
	Contents []struct {
		Key, ETag string
		Size      int64
	}
}

// TestXML: a page of a bucket's listing that has nothing but empty keys.
func TestXML(t *testing.T) {
	page := func(one string, n int) []byte {
		return []byte("<ListBucketResult>" + strings.Repeat(one, n) + "</ListBucketResult>")
	}
	text := page("<Contents/>", 100_000)
	var err error
	got := taken.By(func() { err = xml.Unmarshal(text, &listing{}) })
	if err != nil || bounded.XML(text, &listing{}, got*2/3) == nil {
		t.Errorf("%d bytes take %d and pass a bound of two thirds of it, %v", len(text), got, err)
	}
	if err := bounded.XML(page("<Contents/>", 1_500_000), &listing{}, bounded.Most(16<<20)); !errors.Is(err, bounded.ErrTooLarge) {
		t.Errorf("16 MiB of empty keys: %v", err)
	}
	whole := page("<Contents><Key>a/b</Key><LastModified>2026-11-29T00:00:00Z</LastModified><ETag>x</ETag><Size>1</Size><StorageClass>STANDARD</StorageClass></Contents>", 1000)
	var all listing
	if err := bounded.XML(whole, &all, bounded.Most(16<<20)); err != nil || len(all.Contents) != 1000 {
		t.Errorf("a page of 1000 keys: %d, %v", len(all.Contents), err)
	}
}

func FuzzXML(f *testing.F) {
	for _, text := range []string{"", "<a>", "<a><Contents/></a>", strings.Repeat("<Contents>", 500), "<?xml <!-- <![CDATA["} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var err error
		if bytes := taken.By(func() { err = bounded.XML(text, &listing{}, fuzzed) }); bytes > 4*fuzzed+64*len(text) {
			t.Fatalf("%d bytes take %d: %v", len(text), bytes, err)
		}
	})
}

// fuzzed is a bound that a short text can pass.
const fuzzed = 64 << 10

func FuzzJSON(f *testing.F) {
	for _, text := range []string{`{}`, `[1,2]`, `{"a":[{"b":null}]}`, strings.Repeat("[", 200), strings.Repeat(`{},`, 300), `"\"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got any
		var err error
		// The error of a decoder quotes a little.
		if bytes := taken.By(func() { err = bounded.JSON(text, &got, fuzzed) }); bytes > 2*fuzzed+4*len(text) {
			t.Fatalf("%d bytes take %d: %v", len(text), bytes, err)
		}
	})
}

func FuzzProto(f *testing.F) {
	f.Add([]byte{0x1a, 0x00})
	f.Add(bytes.Repeat([]byte{0x1a, 0x00}, 1000))
	f.Add(bytes.Repeat([]byte{0x1a, 0x02}, 1000))
	f.Fuzz(func(t *testing.T, text []byte) {
		m := &descriptorpb.DescriptorProto{}
		_ = proto.Unmarshal(nil, m) // what is made once for a type
		var err error
		if bytes := taken.By(func() { err = bounded.Proto(text, m, fuzzed) }); bytes > 2*fuzzed+4*len(text) {
			t.Fatalf("%d bytes take %d: %v", len(text), bytes, err)
		}
	})
}
