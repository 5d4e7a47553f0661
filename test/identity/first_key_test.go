package identity_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/errcode"
)

// between terminates TLS between hub and agent and changes the hub's answers to a
// registration.
type between struct {
	http.RoundTripper
	change func(*agentv1.RegisterResponse)
}

func (p between) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := p.RoundTripper.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.URL.Path, "/Register") || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	m := &agentv1.RegisterResponse{}
	if err := proto.Unmarshal(text, m); err != nil {
		return nil, err
	}
	p.change(m)
	if text, err = proto.Marshal(m); err != nil {
		return nil, err
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	answer.Header.Del("Content-Length")
	return answer, nil
}

// A proxy that ends TLS cannot put its own keys in the place of the hub's: the
// hub's key comes with the bootstrap token, by another way.
func TestKeysOfSomebodyBetweenAreRefused(t *testing.T) {
	b := newBed(t)
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	own := &agentv1.SigningKey{Id: "sig_own", PublicKey: public}
	sign := func(m *agentv1.RegisterResponse, by string) {
		keys := make([]agentkey.SigningKey, 0, len(m.GetSigningKeys()))
		for _, k := range m.GetSigningKeys() {
			keys = append(keys, agentkey.SigningKey{ID: k.GetId(), PublicKey: k.GetPublicKey()})
		}
		m.MoreSignatures = append(m.MoreSignatures, &agentv1.KeySignature{KeyId: by, Signature: ed25519.Sign(private, agentkey.KeysPayload(keys))})
	}
	for name, change := range map[string]func(*agentv1.RegisterResponse){
		"in place of the hub's":     func(m *agentv1.RegisterResponse) { m.SigningKeys = []*agentv1.SigningKey{own} },
		"beside the hub's":          func(m *agentv1.RegisterResponse) { m.SigningKeys = append(m.SigningKeys, own) },
		"under the id of the hub's": func(m *agentv1.RegisterResponse) { m.SigningKeys[0].PublicKey = public },
		"signed by themselves":      func(m *agentv1.RegisterResponse) { m.SigningKeys = []*agentv1.SigningKey{own}; sign(m, own.GetId()) },
		"beside it, signed":         func(m *agentv1.RegisterResponse) { m.SigningKeys = append(m.SigningKeys, own); sign(m, own.GetId()) },
		"signed in the hub's name": func(m *agentv1.RegisterResponse) {
			by := m.SigningKeys[0].GetId()
			m.SigningKeys = []*agentv1.SigningKey{own}
			sign(m, by)
		},
		"without any": func(m *agentv1.RegisterResponse) { m.SigningKeys = nil },
		"beside it, without a proof": func(m *agentv1.RegisterResponse) {
			m.SigningKeys = append(m.SigningKeys, own)
			m.MoreSignatures = nil
			m.SigningKeysSignature = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t, "uid-"+name)
			a := b.agentBy(f, "boot-1", func(next http.RoundTripper) http.RoundTripper { return between{next, change} })
			if _, err := a.register(b.bootstrap(agentkey.BootstrapRequest{}), "edge-"+strings.ToLower(rand.Text()), nil); err == nil {
				t.Fatal("the agent believes the keys of somebody between")
			}
			if len(f.keys) > 0 {
				t.Errorf("it keeps %v", f.keys)
			}
		})
	}
}

// Keys are rotated between the making of a token and its use, and an older
// token names no key: both register.
func TestTokensOutliveRotationsOfKeys(t *testing.T) {
	b := newBed(t)
	rotate := func(days int) {
		t.Helper()
		if _, err := b.Parts().AgentKeys.RotateSigningKey(t.Context()); err != nil && !errcode.Is(err, errcode.Conflict) {
			t.Fatal(err)
		}
		b.clock.days(days)
	}
	// A token made with the administrator's token ends with that token, and the
	// rotations here take longer than it lives: tokens that the hub makes itself, as
	// for its own cluster, do not end with another.
	b.admin.TokenID = ""
	lasting := func() string { return b.bootstrap(agentkey.BootstrapRequest{Lifetime: 300 * 24 * time.Hour}) }
	before := lasting()
	first, err := b.Parts().AgentKeys.SigningKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rotate(0)
	announced := lasting()
	rotate(40)
	for range 4 {
		rotate(40)
	}
	b.again()
	now, err := b.Parts().AgentKeys.SigningKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range now {
		if k.ID == first[0].ID {
			t.Fatal("the first key is still in force; the test rotates too little")
		}
	}
	bare, _, _ := strings.Cut(lasting(), ".")
	for name, token := range map[string]string{"before": before, "announced": announced, "now": lasting(), "bare": bare} {
		f := newFolder(t, "uid-"+name)
		if _, err := b.agent(f, "boot-1").register(token, name, nil); err != nil {
			t.Errorf("a token of %s: %v", name, err)
		}
	}
	// An older agent sends the whole token.
	whole := lasting()
	if _, err := b.Parts().AgentKeys.Register(t.Context(), whole, b.registration(t, "uid-old")); err != nil {
		t.Errorf("an older agent: %v", err)
	}
	// A retired key vouches for a year, and no token lives longer.
	old := lasting()
	for range 3 {
		rotate(99)
	}
	b.again()
	if _, err := b.agent(newFolder(t, "uid-late"), "boot-1").register(old, "late", nil); err != nil {
		t.Errorf("after 297 days: %v", err)
	}
}
