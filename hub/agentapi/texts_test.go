package agentapi_test

import (
	"crypto/ed25519"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/eventually"
)

// evil moves the cursor, hides what follows, turns its direction, and is long.
var evil = "\x1b[2J\x1b]0;t\a\u009b31m\u202eevil\u2066\u200b\r\n\x00\x7f" + strings.Repeat("x", 9<<10)

// fill puts evil into every text of a message that has none, and into one
// entry of each list and map.
func fill(m protoreflect.Message) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		switch {
		case m.Has(f) || f.Kind() != protoreflect.StringKind && f.Kind() != protoreflect.MessageKind:
		case f.IsMap():
			m.Mutable(f).Map().Set(protoreflect.ValueOfString("k"+evil[:40]).MapKey(), protoreflect.ValueOfString(evil))
		case f.IsList() && f.Kind() == protoreflect.StringKind:
			m.Mutable(f).List().Append(protoreflect.ValueOfString(evil))
		case f.IsList():
			fill(m.Mutable(f).List().AppendMutable().Message())
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString(evil))
		default:
			fill(m.Mutable(f).Message())
		}
	}
}

// wantPlain looks into every text of a value.
func wantPlain(t *testing.T, what string, v any) {
	t.Helper()
	found := 0
	var look func(at string, v reflect.Value)
	look = func(at string, v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			if strings.Contains(v.String(), "evil") {
				found++
			}
			if strings.ContainsAny(v.String(), "\x00\x1b\a\r\x7f\u009b\u202e\u2066\u200b") {
				t.Errorf("%s has control characters: %.60q", at, v.String())
			}
			if v.Len() > 34<<10 {
				t.Errorf("%s has %d bytes", at, v.Len())
			}
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				look(at, v.Elem())
			}
		case reflect.Struct:
			for i := range v.NumField() {
				look(at+"."+v.Type().Field(i).Name, v.Field(i))
			}
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				look(fmt.Sprintf("%s[%d]", at, i), v.Index(i))
			}
		case reflect.Map:
			for _, k := range v.MapKeys() {
				look(at+" key", k)
				look(fmt.Sprintf("%s[%.20q]", at, k), v.MapIndex(k))
			}
		}
	}
	look(what, reflect.ValueOf(v))
	if found == 0 {
		t.Errorf("%s holds nothing that the agent said; the test shows nothing", what)
	}
}

// TestTextsOfAgentsAreClean: an administrator of one cluster writes what people
// of the hub read on their terminals.
func TestTextsOfAgentsAreClean(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	v := b.declare("edge-1", "web", "web")
	a.produced(1)
	ctx, parts := t.Context(), b.Parts()

	ping := &agentv1.PingRequest{BootId: a.boot, Installation: &agentv1.Installation{Namespace: "axle-system"}}
	fill(ping.ProtoReflect())
	if _, err := a.calls().Ping(ctx, withToken(a, ping)); err != nil {
		t.Fatal(err)
	}
	c, err := parts.Fleet.Cluster(ctx, "edge-1")
	if err != nil {
		t.Fatal(err)
	}
	wantPlain(t, "the cluster", c)
	for what, text := range map[string]string{"agent": c.AgentVersion, "Kubernetes": c.KubernetesVersion, "distro": c.Distro} {
		if len(text) == 0 || len(text) > 200 {
			t.Errorf("%s: a version of %d bytes", what, len(text))
		}
	}

	status := &agentv1.ServiceStatus{Sync: "Failed", Health: "Degraded"}
	fill(status.ProtoReflect())
	a.report(v.ID, "", status)
	tests := &agentv1.ReportTestsRequest{BootId: a.boot, Runs: []*agentv1.TestRun{{ServiceId: v.ID, Key: "k", Revision: 1, State: "Failed", Tests: []*agentv1.TestResult{{State: "Failed", Tail: evil + "evil"}}}}}
	fill(tests.ProtoReflect())
	fill(tests.GetRuns()[0].ProtoReflect())
	fill(tests.GetRuns()[0].GetTests()[0].ProtoReflect())
	if _, err := a.calls().ReportTests(ctx, withToken(a, tests)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := parts.Fleet.DiffOf(ctx, "ann", v.Ref(), true); err != nil {
		t.Fatal(err)
	}
	diff := &agentv1.ReportDiffRequest{BootId: a.boot, ServiceId: v.ID, Request: 1}
	fill(diff.ProtoReflect())
	if _, err := a.calls().ReportDiff(ctx, withToken(a, diff)); err != nil {
		t.Fatal(err)
	}
	refusedBy := a.get("/agent/v1/desired", "Axle-Refused", "list evil \u202e\u009b31m "+strings.Repeat("x", 1000))
	if refusedBy.status/100 != 2 {
		t.Fatal(refusedBy.status)
	}
	service, err := parts.Fleet.Service(ctx, v.Ref())
	if err != nil {
		t.Fatal(err)
	}
	wantPlain(t, "the service", service)
	runs, err := parts.Fleet.TestRuns(ctx, v.Ref(), 0)
	if err != nil || len(runs) == 0 {
		t.Fatal(runs, err)
	}
	wantPlain(t, "the tests", runs)
	d, _, err := parts.Fleet.DiffOf(ctx, "ann", v.Ref(), false)
	if err != nil {
		t.Fatal(err)
	}
	wantPlain(t, "the diff", d)
}

// Texts of a registration are cleaned too, including in the record of a refused
// one.
func TestTextsOfRegistrationsAreClean(t *testing.T) {
	b := newBed(t)
	token, err := b.Parts().AgentKeys.CreateBootstrapToken(t.Context(), admin, agentkey.BootstrapRequest{MaxUses: 2, AllowedTags: map[string]string{"site": "*"}})
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{t: t, origin: b.URL, client: b.register("edge-1").client}
	for name, m := range map[string]*agentv1.RegisterRequest{
		"taken":   {Name: "edge-2", ClusterUid: "uid-2", BootId: "boot", Tags: map[string]string{"site": "evil\u202e\x1b[31m"}},
		"refused": {Name: "an evil\u202e\x1b[31m name", ClusterUid: "uid-3", BootId: "boot", Tags: map[string]string{"site": "x"}},
	} {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		m.PublicKey, m.AgentVersion = public, evil
		m.Proof = ed25519.Sign(private, []byte("axle-register\n"+m.GetClusterUid()+"\n"+m.GetBootId()))
		req := connect.NewRequest(m)
		req.Header().Set("Authorization", "Bearer "+token.Secret)
		if _, err := a.calls().Register(t.Context(), req); (err == nil) != (name == "taken") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := b.Parts().Fleet.Cluster(t.Context(), "edge-2")
	if err != nil {
		t.Fatal(err)
	}
	wantPlain(t, "the cluster", c)
	eventually.For(t, limit, "both are recorded", func() error {
		found, err := b.Parts().Store.AuditRows(t.Context(), audit.Query{Action: "/axle.agent.v1.AgentService/Register"})
		if err != nil {
			return err
		}
		records := 0
		for _, row := range found {
			r, err := row.Open()
			if err != nil {
				return err
			}
			if r.Actor == "agent of edge-1" {
				continue
			}
			wantPlain(t, "a record", r)
			records++
		}
		if records != 2 {
			return fmt.Errorf("%d records", records)
		}
		return nil
	})
}
