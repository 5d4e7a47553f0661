package hubclient_test

import (
	"crypto/ed25519"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/hubclient"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// FuzzVerify feeds any bytes as a signed list. Only one whose signature is by
// the pinned key over exactly its content is taken.
func FuzzVerify(f *testing.F) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public, _ := key.Public().(ed25519.PublicKey)
	client, err := hubclient.New(hubclient.Config{URL: "http://127.0.0.1:1", ClusterID: "c1", Keys: map[string]ed25519.PublicKey{"k1": public}})
	if err != nil {
		f.Fatal(err)
	}
	inner := must(proto.Marshal(&agentv1.Desired{
		ClusterId: "c1", Position: &agentv1.Position{Incarnation: life1, Sequence: 1}, Incarnation: &agentv1.Incarnation{Id: life1},
		Services: []*agentv1.DesiredService{{Id: "s1"}},
	}))
	good := must(proto.Marshal(&agentv1.SignedDesired{Desired: inner, KeyId: "k1", Signature: ed25519.Sign(key, append([]byte("axle-desired\n"), inner...))}))
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := client.Verify(raw)
		if err != nil {
			if list != nil {
				t.Fatal("a refused list was returned")
			}
			return
		}
		var outer agentv1.SignedDesired
		if proto.Unmarshal(raw, &outer) != nil || !ed25519.Verify(public, append([]byte("axle-desired\n"), outer.GetDesired()...), outer.GetSignature()) || list.Desired.GetClusterId() != "c1" {
			t.Fatalf("taken: %v", list.Desired)
		}
	})
}
