package authproxy

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// credentialPrefix begins a short-lived bearer for one cluster.
	credentialPrefix = "axle_k8s_"
	// MaxCredential is the longest that one lives.
	MaxCredential = time.Hour
	// sealedCredential and sealedTicket bind what is sealed to its purpose.
	sealedCredential = "credential of a cluster"
	sealedTicket     = "ticket of a cluster"
)

// grant is what a credential or a ticket says. It names the token that it was
// made with: when that one is revoked, it opens nothing.
type grant struct {
	Token   string `json:"t"`
	Cluster string `json:"c"`
	Until   int64  `json:"u"`
	// Handle, URI and Nonce are a ticket's.
	Handle string `json:"h,omitempty"`
	URI    string `json:"p,omitempty"`
	Nonce  []byte `json:"n,omitempty"`
}

func (p *Proxy) seal(g grant, purpose string) (string, error) {
	text, err := json.Marshal(g)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString([]byte(p.Sealer.Seal(text, purpose))), nil
}

// open returns what was sealed. Unauthorized when it was not, or is over.
func (p *Proxy) open(text, purpose string) (g grant, err error) {
	unknown := errcode.New(errcode.Unauthorized, "this is no %s of this hub, or it is over; make another", purpose)
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return g, unknown
	}
	plain, err := p.Sealer.Open(string(sealed), purpose)
	if err != nil || json.Unmarshal(plain, &g) != nil || clock.Micros(p.Clock.Now()) >= g.Until {
		return grant{}, unknown
	}
	return g, nil
}

// Credential makes a bearer for one cluster, by handle, that lives at most an
// hour and no longer than the caller's own token. It is kept nowhere.
func (p *Proxy) Credential(ctx context.Context, caller identity.Principal, handle string, lifetime time.Duration) (bearer string, until int64, err error) {
	if lifetime <= 0 || lifetime > MaxCredential {
		lifetime = MaxCredential
	}
	c, err := p.mayUse(ctx, caller, handle)
	if err != nil {
		return "", 0, err
	}
	until = clock.Micros(p.Clock.Now().Add(lifetime))
	if caller.TokenExpiresAt != 0 {
		until = min(until, caller.TokenExpiresAt)
	}
	sealed, err := p.seal(grant{Token: caller.TokenID, Cluster: c.ID, Until: until}, sealedCredential)
	return credentialPrefix + sealed, until, err
}

// mayUse returns a cluster that the caller may use.
func (p *Proxy) mayUse(ctx context.Context, caller identity.Principal, handle string) (Cluster, error) {
	c, err := p.cluster(ctx, handle)
	if err != nil {
		return c, err
	}
	return c, p.Identity.Authorize(ctx, caller, identity.ActionRead, c.scope())
}

// openCredential fills the caller by the token that a credential was made
// with.
func (p *Proxy) openCredential(ctx context.Context, a *asked, sealed string) (grant, error) {
	g, err := p.credentials.open(sealed, clock.Micros(p.Clock.Now()), func() (grant, error) { return p.open(sealed, sealedCredential) })
	if err != nil {
		return g, err
	}
	a.until = g.Until
	a.caller, err = p.Identity.Caller(ctx, g.Token)
	return g, err
}

// maxOpened bounds the credentials that are remembered open, 300 B each.
const maxOpened = 10_000

// openedCredentials are what credentials said, by the hash of their text: each
// request sends its credential again. What they say never changes; whether its
// token is still good is looked up each time.
type openedCredentials struct {
	mu     sync.Mutex
	byHash map[[sha256.Size]byte]grant
}

func (o *openedCredentials) open(sealed string, now int64, open func() (grant, error)) (grant, error) {
	hash := sha256.Sum256([]byte(sealed))
	o.mu.Lock()
	g, known := o.byHash[hash]
	o.mu.Unlock()
	if known && now < g.Until {
		return g, nil
	}
	g, err := open()
	if err != nil {
		return g, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byHash == nil || len(o.byHash) >= maxOpened {
		o.byHash = map[[sha256.Size]byte]grant{}
	}
	o.byHash[hash] = g
	return g, nil
}
