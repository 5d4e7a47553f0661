package identitytest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
)

// Agent is a cluster's agent: a key and a place.
type Agent struct {
	// UID is that of its cluster, Boot is its present boot.
	UID  string
	Boot string

	private ed25519.PrivateKey
}

// NewAgent returns one with a new key, at its first boot.
func NewAgent(t *testing.T, uid string) *Agent {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &Agent{UID: uid, Boot: "boot-1", private: private}
}

// Registration is the agent's request to register; an empty name leaves it to the token.
func (a *Agent) Registration(name string) agentkey.Registration {
	return agentkey.Registration{
		PublicKey: a.private.Public().(ed25519.PublicKey), ClusterUID: a.UID, Name: name, BootID: a.Boot, AgentVersion: "0.1.0",
		Proof: ed25519.Sign(a.private, []byte("axle-register\n"+a.UID+"\n"+a.Boot)),
	}
}

// Renewal is the agent's request for a new token, with a nonce of its own.
func (a *Agent) Renewal(clusterID string, at time.Time) agentkey.Renewal {
	r := agentkey.Renewal{ClusterID: clusterID, ClusterUID: a.UID, BootID: a.Boot, At: at.UnixMicro(), Nonce: make([]byte, 16)}
	rand.Read(r.Nonce)
	r.Signature = ed25519.Sign(a.private, []byte("axle-renew\n"+r.ClusterID+"\n"+r.ClusterUID+"\n"+r.BootID+"\n"+
		strconv.FormatInt(r.At, 10)+"\n"+hex.EncodeToString(r.Nonce)))
	return r
}

// AddBootstrapToken creates a bootstrap token, as ann.
func (i *Identity) AddBootstrapToken(r agentkey.BootstrapRequest) identity.CreatedToken {
	i.T.Helper()
	made, err := i.CreateBootstrapToken(i.T.Context(), i.Ann, r)
	if err != nil {
		i.T.Fatal(err)
	}
	return made
}

// AddAgent registers an agent and its cluster.
func (i *Identity) AddAgent(name string) (*Agent, agentkey.Registered) {
	i.T.Helper()
	a := NewAgent(i.T, "uid-"+name)
	r, err := i.Register(i.T.Context(), i.AddBootstrapToken(agentkey.BootstrapRequest{}).Secret, a.Registration(name))
	if err != nil {
		i.T.Fatal(err)
	}
	return a, r
}
