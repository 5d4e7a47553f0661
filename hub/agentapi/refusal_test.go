package agentapi_test

import (
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// TestRefusalsAreRecorded checks that a refusal by an agent becomes an event,
// once per ten minutes however often the agent reports it.
func TestRefusalsAreRecorded(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	for range 3 {
		got := a.get("/agent/v1/desired", "Axle-Refused", "tarball 0123 refused: it came from hub-0/disk\t"+strings.Repeat("x", 1000))
		if got.status != http.StatusOK {
			t.Fatalf("status %d", got.status)
		}
	}
	var found []string
	for _, e := range b.events() {
		if e.Kind == "agent.refused" {
			found = append(found, e.Object+": "+e.Message)
		}
	}
	if len(found) != 1 || !strings.HasPrefix(found[0], "cluster edge-1: tarball 0123 refused: it came from hub-0/disk x") || len(found[0]) > 400 {
		t.Errorf("events %q", found)
	}
}

// recorded is an event as people get it.
type recorded struct{ Kind, Object, Message string }

func (b *bed) events() []recorded {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.URL+"/axle.hub.v1.Events/List", strings.NewReader("{}"))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+b.AdminToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	var list struct{ Events []recorded }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || len(list.Events) == 0 {
		b.t.Fatalf("events: %v, %v", list, err)
	}
	return list.Events
}

// TestSpecsAreSignedOnRequest: older agents get the plain answer.
func TestSpecsAreSignedOnRequest(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	v := b.declare("edge-1", "web", "web")
	a.waitForServices(1)
	plain, err := a.calls().Services(t.Context(), withToken(a, &agentv1.ServicesRequest{Ids: []string{v.ID}}))
	if err != nil || len(plain.Msg.GetServices()) != 1 || plain.Msg.GetSigned() != nil {
		t.Fatalf("plain: %v, %v", plain, err)
	}
	signed, err := a.calls().Services(t.Context(), withToken(a, &agentv1.ServicesRequest{Ids: []string{v.ID}, Signed: true}))
	if err != nil {
		t.Fatal(err)
	}
	m := signed.Msg
	if len(m.GetServices()) != 0 || !ed25519.Verify(a.keys[m.GetKeyId()], append([]byte("axle-services\n"), m.GetSigned()...), m.GetSignature()) {
		t.Fatalf("signed: %v", m)
	}
	var inner agentv1.ServicesResponse
	if err := proto.Unmarshal(m.GetSigned(), &inner); err != nil || inner.GetClusterId() != a.cluster || len(inner.GetServices()) != 1 || inner.GetPosition() == nil {
		t.Errorf("inner: %v, %v", &inner, err)
	}
}
