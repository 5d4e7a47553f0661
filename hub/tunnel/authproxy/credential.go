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
	// credentialPrefix is the prefix of a short-lived bearer token for one
	// cluster.
	credentialPrefix = "axle_k8s_"
	// MaxCredential is the longest life of a credential.
	MaxCredential = time.Hour
	// sealedCredential and sealedTicket bind a sealed text to its purpose.
	sealedCredential = "credential of a cluster"
	sealedTicket     = "ticket of a cluster"
)

// grant is the content of a credential or a ticket. It names the token that it
// was created with: when that token is revoked, it opens nothing.
type grant struct {
	Token   string `json:"t"`
	Cluster string `json:"c"`
	Until   int64  `json:"u"`
	// Handle, URI and Nonce are set for tickets.
	Handle string `json:"h,omitempty"`
	URI    string `json:"p,omitempty"`
	Nonce  []byte `json:"n,omitempty"`
}

func (p *Proxy) seal(g grant, purpose string) (string, error) {
	text, err := json.Marshal(g)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString([]byte(p.config.Sealer.Seal(text, purpose))), nil
}

// open returns the sealed grant. Unauthorized when the text is not a grant of
// this hub, or has expired.
func (p *Proxy) open(text, purpose string) (g grant, err error) {
	unknown := errcode.New(errcode.Unauthorized, "this is not a %s of this hub, or it has expired; create another", purpose)
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return g, unknown
	}
	plain, err := p.config.Sealer.Open(string(sealed), purpose)
	if err != nil || json.Unmarshal(plain, &g) != nil || clock.Micros(p.config.Clock.Now()) >= g.Until {
		return grant{}, unknown
	}
	return g, nil
}

// Credential creates a bearer token for one cluster, by handle, that lives at
// most an hour and no longer than the caller's own token. It is not stored.
func (p *Proxy) Credential(ctx context.Context, caller identity.Principal, handle string, lifetime time.Duration) (bearer string, until int64, err error) {
	if lifetime <= 0 || lifetime > MaxCredential {
		lifetime = MaxCredential
	}
	c, err := p.mayUse(ctx, caller, handle)
	if err != nil {
		return "", 0, err
	}
	until = clock.Micros(p.config.Clock.Now().Add(lifetime))
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
	return c, p.config.Identity.Authorize(ctx, caller, identity.ActionRead, c.scope())
}

// openCredential sets the caller from the token that a credential was created
// with.
func (p *Proxy) openCredential(ctx context.Context, a *parsedRequest, sealed string) (grant, error) {
	g, err := p.credentials.open(sealed, clock.Micros(p.config.Clock.Now()), func() (grant, error) { return p.open(sealed, sealedCredential) })
	if err != nil {
		return g, err
	}
	a.until = g.Until
	a.caller, err = p.config.Identity.Caller(ctx, g.Token)
	return g, err
}

// maxOpened limits how many opened credentials are cached, 300 B each.
const maxOpened = 10_000

// openedCredentials caches the content of credentials by the hash of their
// text, because each request sends its credential again. The content never
// changes; whether its token is still valid is checked each time.
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
