package hubclient_test

import (
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/hubclient"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// An unchanged list is not signed again when keys rotate: the copy on disk stays
// valid, but nothing received over the network is accepted from a former key.
func TestAStoredListOutlivesItsKey(t *testing.T) {
	keys := map[string]ed25519.PublicKey{}
	var old ed25519.PrivateKey
	for i, id := range []string{"old", "new"} {
		seed := make([]byte, ed25519.SeedSize)
		seed[0] = byte(i)
		key := ed25519.NewKeyFromSeed(seed)
		keys[id], _ = key.Public().(ed25519.PublicKey)
		if id == "old" {
			old = key
		}
	}
	inner := must(proto.Marshal(&agentv1.Desired{
		ClusterId: "c1", Position: &agentv1.Position{Incarnation: life1, Sequence: 1}, Incarnation: &agentv1.Incarnation{Id: life1},
	}))
	signed := must(proto.Marshal(&agentv1.SignedDesired{Desired: inner, KeyId: "old", Signature: ed25519.Sign(old, append([]byte("axle-desired\n"), inner...))}))
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-protobuf")
		w.Header().Set("Axle-Position", life1+".1")
		_, _ = w.Write(signed)
	}))
	defer hub.Close()
	client := func(former map[string]ed25519.PublicKey) *hubclient.Client {
		return must(hubclient.New(hubclient.Config{URL: hub.URL, ClusterID: "c1", Token: "t", Keys: map[string]ed25519.PublicKey{"new": keys["new"]}, Former: former, Attempts: 1}))
	}
	with := client(map[string]ed25519.PublicKey{"old": keys["old"]})
	if _, err := with.Verify(signed); err != nil {
		t.Errorf("the stored list: %v", err)
	}
	if _, err := client(nil).Verify(signed); err == nil {
		t.Error("a list of a key that was never pinned was taken")
	}
	if answer, err := with.Desired(t.Context(), ""); err == nil {
		t.Errorf("a list of a retired key was taken from the wire: %v", answer)
	}
}
