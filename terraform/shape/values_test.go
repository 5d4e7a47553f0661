package shape_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/terraform/shape"
)

var rules = object.Fields{
	"CreateServiceRequest.ref": {Flat: true}, "CreateServiceRequest.spec": {Flat: true}, "ServiceSpec.secrets": {Secret: true},
	"ServiceSpec.templated": {Default: true}, "ServiceSpec.namespace": {SameAs: "name"}, "ServiceSpec.contexts": {Set: true},
}

func text(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }

// whole is a service with something in fields of each sort.
func whole() *hubv1.CreateServiceRequest {
	return &hubv1.CreateServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: "web"}, Spec: &hubv1.ServiceSpec{
		Namespace: "shop", Templated: proto.Bool(false), Git: &hubv1.Git{Ref: "main", Files: []string{"b", "a"}}, Configuration: map[string]string{"x": "1"},
		Contexts: []string{"b", "a"}, SecretRefs: map[string]*hubv1.SecretRef{"k": {Path: "p"}}, SyncWindows: []*hubv1.SyncWindow{{Kind: "allow", ManualSync: true}, {Kind: "deny"}},
	}}
}

// TestRoundTrip reads a message without a guide, as an import does, and fills another.
func TestRoundTrip(t *testing.T) {
	want := whole()
	nodes := shape.Of(want.ProtoReflect().Descriptor(), rules)
	values := shape.Read(want.ProtoReflect(), nodes, nil)
	got := &hubv1.CreateServiceRequest{}
	if err := shape.Fill(got.ProtoReflect(), nodes, shape.Values{Plan: values}); err != nil {
		t.Fatal(err)
	}
	want.Spec.Contexts = []string{"a", "b"}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
	if again := shape.Read(got.ProtoReflect(), nodes, values); !tftypes.NewValue(shape.ObjectType(nodes), again).Equal(tftypes.NewValue(shape.ObjectType(nodes), values)) {
		t.Error("reading it again gives other values")
	}
}

// TestSecrets are sent for a new object and for another version, and never read.
func TestSecrets(t *testing.T) {
	nodes := shape.Of(whole().ProtoReflect().Descriptor(), rules)
	secrets := tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, map[string]tftypes.Value{"password": text("hush")})
	version := func(n int64) map[string]tftypes.Value {
		return map[string]tftypes.Value{"secrets_wo_version": tftypes.NewValue(tftypes.Number, n)}
	}
	config := map[string]tftypes.Value{"secrets_wo": secrets}
	for name, c := range map[string]struct {
		state map[string]tftypes.Value
		want  string
	}{"a new object": {nil, "hush"}, "the same version": {version(2), ""}, "another version": {version(1), "hush"}} {
		got := &hubv1.CreateServiceRequest{}
		if err := shape.Fill(got.ProtoReflect(), nodes, shape.Values{Plan: version(2), Config: config, State: c.state}); err != nil {
			t.Fatal(err)
		}
		if value, there := got.GetSpec().GetSecrets()["password"]; !there || value != c.want {
			t.Errorf("%s: sent %q, %v; want %q", name, value, there, c.want)
		}
	}
	read := shape.Read((&hubv1.Service{Spec: &hubv1.ServiceSpec{Secrets: map[string]string{"password": "hush"}}}).ProtoReflect(), nodes, version(2))
	if !read["secrets_wo"].IsNull() || read["secrets_wo_version"].IsNull() {
		t.Errorf("read %v", read["secrets_wo"])
	}
}

// TestTheSameInOtherWords keeps what the configuration says.
func TestTheSameInOtherWords(t *testing.T) {
	message := &hubv1.GlobalServiceSettings{Context: `{"a":1,"b":2}`, Rollout: &hubv1.RolloutPlan{SoakMicros: 600_000_000}, Tags: map[string]string{}}
	nodes := shape.Of(message.ProtoReflect().Descriptor(), object.Fields{"GlobalServiceSettings.context": {JSON: true}, "GlobalServiceSettings.interval_micros": {Skip: true}})
	rollout := shape.Find(nodes, "rollout")
	guide := map[string]tftypes.Value{
		"context": text(`{"b": 2, "a": 1}`),
		"cascade": text(""),
		"tags":    tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, map[string]tftypes.Value{}),
		"rollout": tftypes.NewValue(rollout.Type(), shape.Read((&hubv1.RolloutPlan{}).ProtoReflect(), rollout.Children, map[string]tftypes.Value{"soak": text("600s")})),
	}
	guide["rollout"] = shape.With(guide["rollout"], "soak", text("600s"))
	got := shape.Read(message.ProtoReflect(), nodes, guide)
	for _, name := range []string{"context", "cascade", "tags", "rollout"} {
		if !got[name].Equal(guide[name]) {
			t.Errorf("%s: %v, want %v", name, got[name], guide[name])
		}
	}
	// Without a guide they are the hub's words, and nothing for nothing.
	plain := shape.Read(message.ProtoReflect(), nodes, nil)
	if shape.TextOf(plain["context"]) != `{"a":1,"b":2}` || !plain["cascade"].IsNull() || !plain["tags"].IsNull() || shape.TextOf(shape.Fields(plain["rollout"])["soak"]) != "10m" {
		t.Errorf("%v", plain)
	}
}

// TestUnknownIsNotSent.
func TestUnknownIsNotSent(t *testing.T) {
	nodes := shape.Of(whole().ProtoReflect().Descriptor(), rules)
	got := &hubv1.CreateServiceRequest{}
	unknown := map[string]tftypes.Value{}
	for _, n := range nodes {
		unknown[n.Name] = tftypes.NewValue(n.Type(), tftypes.UnknownValue)
	}
	if err := shape.Fill(got.ProtoReflect(), nodes, shape.Values{Plan: unknown, Config: unknown}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&hubv1.CreateServiceRequest{}, got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

// FuzzRoundTrip gives any message, as a newer hub may answer.
func FuzzRoundTrip(f *testing.F) {
	data, err := proto.Marshal(whole())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	nodes := shape.Of(whole().ProtoReflect().Descriptor(), rules)
	t := shape.ObjectType(nodes)
	f.Fuzz(func(tt *testing.T, data []byte) {
		m := &hubv1.CreateServiceRequest{}
		if proto.Unmarshal(data, m) != nil {
			return
		}
		first := shape.Read(m.ProtoReflect(), nodes, nil)
		if again := shape.Read(m.ProtoReflect(), nodes, first); !tftypes.NewValue(t, again).Equal(tftypes.NewValue(t, first)) {
			tt.Errorf("%v\nis read again as\n%v", first, again)
		}
	})
}
