package mask

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// A field that is marked holds a secret, whatever its name is.
func TestMarkedFieldsHoldSecrets(t *testing.T) {
	field := func(name string, number int32, marked bool) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{
			Name: proto.String(name), Number: proto.Int32(number), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Options: &descriptorpb.FieldOptions{DebugRedact: proto.Bool(marked)},
		}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("redact.proto"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("M"), Field: []*descriptorpb.FieldDescriptorProto{
			field("colour", 1, true), field("size", 2, false), field("password", 3, false),
		}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, true} {
		if f := file.Messages().Get(0).Fields().Get(i); HoldsSecret(f) != want {
			t.Errorf("%s holds a secret: %v", f.Name(), !want)
		}
	}
}

// A credential is recognised in any text, and a metric's name is none.
func TestCredentialsInTexts(t *testing.T) {
	for text, want := range map[string]string{
		"the token axle_" + strings.Repeat("a0Z", 14) + "x is wrong":                 "the token " + Mask + " is wrong",
		`{"token":"axle_k8s_` + strings.Repeat("aB_-9", 30) + `"}`:                   `{"token":"` + Mask + `"}`,
		"axle_hub_certificate_expiry_timestamp_seconds 1":                            "axle_hub_certificate_expiry_timestamp_seconds 1",
		"postgres://hub:hunter22@db/axle and https://x.example.test/a?b=c@d.example": "postgres://" + Mask + "@db/axle and https://x.example.test/a?b=c@d.example",
	} {
		if got := (&Masker{}).Clean(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func FuzzDocument(f *testing.F) {
	f.Add("a: b\n")
	f.Add("{\"password\": \"x\"}")
	f.Add("&a [*a]")
	f.Add("a: &a\n  <<: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		const secret = "PLANTED-s3cret-value"
		var m Masker
		_ = m.document(text)
		got := m.Clean(m.document("password: " + secret + "\n" + text))
		if strings.Contains(got, secret) {
			t.Errorf("%q", got)
		}
	})
}
