package hubclient_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/hubclient"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

func TestRegisterAgainAfterALostAnswer(t *testing.T) {
	d := newDouble(t)
	_, key, _ := ed25519.GenerateKey(nil)
	public := key.Public().(ed25519.PublicKey)
	var seen []string
	d.answer(func(w http.ResponseWriter, q *http.Request) {
		var r agentv1.RegisterRequest
		if err := proto.Unmarshal(must(io.ReadAll(q.Body)), &r); err != nil {
			t.Error(err)
		}
		seen = append(seen, q.Header.Get("Authorization")+" "+hex.EncodeToString(r.GetPublicKey()))
		if !ed25519.Verify(public, []byte("axle-register\nuid\nboot"), r.GetProof()) {
			t.Error("the proof does not fit the key")
		}
		if len(seen) == 1 {
			panic(http.ErrAbortHandler) // stored, and the answer is lost
		}
		w.Header().Set("Content-Type", "application/proto")
		w.Write(must(proto.Marshal(&agentv1.RegisterResponse{
			ClusterId: "c1", DeployToken: "fresh",
			SigningKeys: []*agentv1.SigningKey{{Id: "k1", PublicKey: d.key.Public().(ed25519.PublicKey)}},
		})))
	})
	c := d.client(t, func(cfg *hubclient.Config) { cfg.Attempts, cfg.Keys, cfg.ClusterID, cfg.Token = 3, nil, "", "" })
	answer, err := c.Register(t.Context(), "boot-token", key, &agentv1.RegisterRequest{ClusterUid: "uid", BootId: "boot"})
	if err != nil || answer.GetClusterId() != "c1" {
		t.Fatalf("got %v, %v", answer, err)
	}
	if len(seen) != 2 || seen[0] != seen[1] || seen[0] != "Bearer boot-token "+hex.EncodeToString(public) {
		t.Errorf("asked with %q, want the same token and key twice", seen)
	}
	d.answer(func(w http.ResponseWriter, q *http.Request) { d.sendList(w, life1, 1, "x") })
	if _, err := c.Desired(t.Context(), ""); err != nil {
		t.Errorf("a list after registration: %v", err)
	}
	if got := d.last().Header.Get("Authorization"); got != "Bearer fresh" {
		t.Errorf("authorization is %q", got)
	}
}

func TestRenewTakesOnlySignedKeys(t *testing.T) {
	_, agentKey, _ := ed25519.GenerateKey(nil)
	public2, key2, _ := ed25519.GenerateKey(nil)
	for name, test := range map[string]struct {
		signer func(d *double) ed25519.PrivateKey
		by     string
		more   bool // the pinned key signed too
		says   string
	}{
		"signed by the pinned key":         {func(d *double) ed25519.PrivateKey { return d.key }, "k1", false, ""},
		"signed by itself":                 {func(*double) ed25519.PrivateKey { return key2 }, "k1", false, "not signed by a key"},
		"signed by the pinned key as well": {func(*double) ed25519.PrivateKey { return key2 }, "k2", true, ""},
		"signed by none that is known":     {func(*double) ed25519.PrivateKey { return key2 }, "k2", false, "not signed by a key"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDouble(t)
			d.answer(func(w http.ResponseWriter, q *http.Request) {
				payload := fmt.Sprintf("axle-signing-keys\nk2 %x\n", []byte(public2))
				w.Header().Set("Content-Type", "application/proto")
				answer := &agentv1.RenewResponse{
					DeployToken: "next", SigningKeys: []*agentv1.SigningKey{{Id: "k2", PublicKey: public2}},
					SigningKeysSignedBy: test.by, SigningKeysSignature: ed25519.Sign(test.signer(d), []byte(payload)),
				}
				if test.more {
					answer.MoreSignatures = []*agentv1.KeySignature{{KeyId: "k0", Signature: []byte("x")}, {KeyId: "k1", Signature: ed25519.Sign(d.key, []byte(payload))}}
				}
				w.Write(must(proto.Marshal(answer)))
			})
			got, err := d.client(t).Renew(t.Context(), hubclient.Renewal{ClusterID: "c1", ClusterUID: "uid", BootID: "b", Key: agentKey})
			if test.says != "" {
				contains(t, err, test.says)
				return
			}
			if err != nil || got.Token != "next" || !got.Keys["k2"].Equal(public2) || len(got.Keys) != 1 {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
