package plain_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/axle-cd/axle/internal/plain"
)

// never are characters that must never be shown.
const never = "\x00\a\b\v\f\x1b\x7f\u0080\u0085\u009b\u009c\u009d\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202d\u202e\u2060\u2066\u2069\ufeff\U000e0041"

func TestLineAndText(t *testing.T) {
	for text, want := range map[string][2]string{
		"v1.34.2+k3s1": {"v1.34.2+k3s1", "v1.34.2+k3s1"},
		"Ärger, 日本語, 👩\u200d🚀, می\u200cخواهم": {"Ärger, 日本語, 👩\u200d🚀, می\u200cخواهم", "Ärger, 日本語, 👩\u200d🚀, می\u200cخواهم"},
		"one\ntwo\tthree\r\nfour\rfive":       {"one two three four five", "one\ntwo\tthree\nfour\nfive"},
		"\x1b[31mred\x1b[0m":                  {"red", "red"},
		"\x1b[2J\x1b[1;1H\x1b[?25lgone":       {"gone", "gone"},
		"\x1b]0;title\atext":                  {"text", "text"},
		"\x1b]8;;https://evil\x1b\\here":      {"here", "here"},
		"\x1bPq#0;2\x1b\\sixel":               {"sixel", "sixel"},
		"\u009b31mred\u009b0m":                {"red", "red"},
		"\u009d0;title\u009ctext":             {"text", "text"},
		"an end \x1b[31":                      {"an end 31", "an end 31"},
		"never ends \x1b]0;the rest":          {"never ends 0;the rest", "never ends 0;the rest"},
		"lines \x1b]0;hidden\nshown\ahere":    {"lines 0;hidden shownhere", "lines 0;hidden\nshownhere"},
		"gpj.\u202egnp.exe":                   {"gpj.gnp.exe", "gpj.gnp.exe"},
		"a\xffb\xc3":                          {"a\ufffdb\ufffd", "a\ufffdb\ufffd"},
		never + "a":                           {"   a", "\n\n\na"},
		"\x1b":                                {"", ""},
		"":                                    {"", ""},
	} {
		if got := plain.Line(text, 0); got != want[0] {
			t.Errorf("line %q is %q, want %q", text, got, want[0])
		}
		if got := plain.Text(text, 0); got != want[1] {
			t.Errorf("text %q is %q, want %q", text, got, want[1])
		}
	}
	if got := plain.Line("äöü", 3); got != "ä…" {
		t.Errorf("cut is %q", got)
	}
	if got := plain.Tail("one\ntwo äöü", 5); got != "…öü" {
		t.Errorf("the tail is %q", got)
	}
	if got := plain.Tail("short", 5); got != "short" {
		t.Errorf("the tail is %q", got)
	}
}

func TestMessageReachesEveryText(t *testing.T) {
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("a"), Dependency: []string{"b", "c"}, MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("d")}},
		Options: &descriptorpb.FileOptions{GoPackage: proto.String("e")},
	}
	plain.Message(file, func(field, text string) string { return field + "=" + text })
	if file.GetName() != "name=a" || strings.Join(file.GetDependency(), " ") != "dependency=b dependency=c" ||
		file.GetMessageType()[0].GetName() != "name=d" || file.GetOptions().GetGoPackage() != "go_package=e" {
		t.Errorf("%v", file)
	}
	tree, err := structpb.NewStruct(map[string]any{"k": "v", "l": []any{"x", map[string]any{"m": "n"}}})
	if err != nil {
		t.Fatal(err)
	}
	plain.Message(tree, func(_, text string) string { return text + "!" })
	want := map[string]any{"k!": "v!", "l!": []any{"x!", map[string]any{"m!": "n!"}}}
	if got := tree.AsMap(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	raw := wrapperspb.Bytes([]byte("x\x1b"))
	plain.Message(raw, func(_, text string) string { return "" })
	if string(raw.GetValue()) != "x\x1b" {
		t.Errorf("%v", raw)
	}
	plain.Message(nil, nil)
}

func TestWriterKeepsCharactersWhole(t *testing.T) {
	const text = "Ä\x1b[31mB\r\nC\rD 👩‍🚀\u202eE\n"
	for n := 1; n < len(text); n++ {
		var out bytes.Buffer
		w := &plain.Writer{To: &out}
		for _, part := range []string{text[:n], text[n:]} {
			if wrote, err := w.Write([]byte(part)); wrote != len(part) || err != nil {
				t.Fatal(wrote, err)
			}
		}
		got := strings.ReplaceAll(out.String(), "\n\n", "\n") // a break may be cut in two
		if got != "Ä[31mB\nC\nD 👩‍🚀E\n" {
			t.Errorf("cut at %d it is %q", n, got)
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, seed := range []string{"", "a", never, "\x1b[31m", "\x1b]0;a\x1b\\", "\u009b", "\xff\xc3"} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, text string, most int) {
		var written bytes.Buffer
		if _, err := (&plain.Writer{To: &written}).Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		for what, got := range map[string]string{"line": plain.Line(text, most), "text": plain.Text(text, most), "tail": plain.Tail(text, most), "writer": written.String()} {
			if !utf8.ValidString(got) || strings.ContainsAny(got, never) || what == "line" && strings.ContainsAny(got, "\n\t") {
				t.Errorf("%s of %q is %q", what, text, got)
			}
			if what != "writer" && most > 0 && len(got) > most+len("…") {
				t.Errorf("%s of %d bytes, want %d", what, len(got), most)
			}
		}
		document, err := json.Marshal(map[string]string{"a": text})
		if err != nil {
			t.Fatal(err)
		}
		var a, b map[string]string
		escaped := plain.JSON(document)
		if json.Unmarshal(document, &a) != nil || json.Unmarshal(escaped, &b) != nil || a["a"] != b["a"] || strings.ContainsAny(string(escaped), never) {
			t.Errorf("%q is escaped as %q", document, escaped)
		}
	})
}
