package federation

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// Skew is how far an issuer's clock may differ.
const Skew = 5 * time.Minute

// algorithms are the accepted algorithms, all asymmetric.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

// Config configures Issuers. Client is required.
type Config struct {
	// Client returns a client that trusts the authorities in PEM, or the
	// system's when it is empty, and connects only to allowed addresses.
	Client func(caPEM string) (*http.Client, error)
	// AllowHTTP allows http:// issuers, for tests.
	AllowHTTP bool
	Clock     clock.Clock
	Log       *slog.Logger
}

// Issuers are the issuers whose keys were requested.
type Issuers struct {
	config Config
	mu     sync.Mutex
	keys   map[[sha256.Size]byte]*keySet
}

// New checks the configuration.
func New(c Config) (*Issuers, error) {
	if c.Client == nil {
		return nil, errors.New("federation: a client is missing")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Issuers{config: c, keys: map[[sha256.Size]byte]*keySet{}}, nil
}

// Verify returns the claims of a valid token that the issuer signed for the
// audience. Unauthorized when it is not valid; Unavailable when the issuer's
// keys cannot be fetched.
func (i *Issuers) Verify(ctx context.Context, url, caPEM, audience, token string) (claims map[string]any, expires time.Time, err error) {
	set := &heard{keySet: i.set(url, caPEM)}
	// Times are checked below, with tolerance for clocks that differ.
	verifier := oidc.NewVerifier(url, set, &oidc.Config{ClientID: audience, SupportedSigningAlgs: algorithms, SkipExpiryCheck: true})
	checked, err := verifier.Verify(ctx, token)
	if err != nil {
		var coded *errcode.Error
		if errors.As(set.err, &coded) && coded.Code == errcode.Unavailable {
			return nil, time.Time{}, coded
		}
		// The library's message may quote claims of an unverified token.
		return nil, time.Time{}, errcode.Hide(errcode.Unauthorized, err, "the token is not one that %s signed for the audience %s", url, audience)
	}
	if err := checked.Claims(&claims); err != nil {
		return nil, time.Time{}, errcode.Hide(errcode.Unauthorized, err, "the claims of the token cannot be read")
	}
	now := i.config.Clock.Now()
	switch {
	case checked.Expiry.IsZero() || now.After(checked.Expiry.Add(Skew)):
		return nil, time.Time{}, errcode.New(errcode.Unauthorized, "the token of %s has expired, or has no end", url)
	case checked.IssuedAt.After(now.Add(Skew)) || before(claims["nbf"], now):
		return nil, time.Time{}, errcode.New(errcode.Unauthorized, "the token of %s is not in force yet; the clocks may differ by 5 min", url)
	}
	return claims, checked.Expiry, nil
}

// heard records why a signature was not verified: the library's error keeps
// only the text.
type heard struct {
	*keySet
	err error
}

// VerifySignature implements oidc.KeySet.
func (h *heard) VerifySignature(ctx context.Context, token string) (payload []byte, err error) {
	payload, h.err = h.keySet.VerifySignature(ctx, token)
	return payload, h.err
}

// before reports whether nbf is in the future, beyond the tolerated skew.
func before(nbf any, now time.Time) bool {
	seconds, ok := nbf.(float64)
	return ok && seconds > float64(now.Add(Skew).Unix())
}

func (i *Issuers) set(url, caPEM string) *keySet {
	id := sha256.Sum256([]byte(url + "\n" + caPEM))
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.keys[id] == nil {
		i.keys[id] = &keySet{issuers: i, url: url, caPEM: caPEM}
	}
	return i.keys[id]
}
