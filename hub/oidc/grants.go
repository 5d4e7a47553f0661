package oidc

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// The prefixes of secrets. The hub's own tokens begin otherwise, so neither passes as the other.
const (
	prefixCode, prefixAccess, prefixRefresh = "axo_c_", "axo_a_", "axo_r_"
)

const (
	// codeLifetime is how long an application may take to trade a code.
	codeLifetime = time.Minute
	// retryWithin is how long a used refresh token gets the same answer again: the first may
	// have been lost on the way.
	retryWithin = 30 * time.Second
	// lastEnd is how long after a login its refresh tokens end, however often they are used:
	// then the person logs in again, with whatever factors are wanted by then.
	lastEnd = 365 * 24 * time.Hour
)

// errReused is returned for a code or a refresh token that was used before; its grant has ended.
var errReused = errcode.New(errcode.Unauthorized, "it was used before, so the login has ended")

// errUnknownSecret is returned for what is not known, or has expired.
var errUnknownSecret = errcode.New(errcode.Unauthorized, "it is not known, or has expired")

// grants issues and uses codes and tokens.
type grants struct {
	store  GrantStore
	writer identity.Writer
	clock  clock.Clock
	seeds  []byte
}

func (gs *grants) now() int64 { return clock.Micros(gs.clock.Now()) }

func after(now int64, d time.Duration) int64 { return now + d.Microseconds() }

// hashOf is how codes and tokens are stored.
func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// begin stores a grant with its code, and returns the code.
func (gs *grants) begin(ctx context.Context, g Grant) (code string, err error) {
	now := gs.now()
	g.CreatedAt, g.EndsAt = now, after(now, codeLifetime)
	code = prefixCode + rand.Text() + rand.Text()
	return code, gs.writer.Write(ctx, func(ctx context.Context) error {
		if err := gs.store.InsertGrant(ctx, g); err != nil {
			return err
		}
		return gs.store.InsertGrantSecret(ctx, Secret{Hash: hashOf(code), Kind: kindCode, GrantID: g.ID, Scopes: g.Scopes, CreatedAt: now, ExpiresAt: g.EndsAt})
	})
}

// trade uses a code, once over all replicas. A second use ends the grant with its tokens:
// one of the two who had the code is not the application.
func (gs *grants) trade(ctx context.Context, code string) (g Grant, err error) {
	var reused bool
	err = gs.writer.Write(ctx, func(ctx context.Context) error {
		reused = false
		s, err := gs.find(ctx, code, prefixCode, kindCode)
		if err != nil {
			return err
		}
		fresh, err := gs.store.UseGrantSecret(ctx, s.Hash, gs.now())
		if err != nil {
			return err
		}
		if !fresh {
			// What ended the grant must be committed, so that this is no error here.
			reused = true
			return gs.store.DeleteGrants(ctx, []string{s.GrantID})
		}
		g, err = gs.store.Grant(ctx, s.GrantID)
		return err
	})
	if err == nil && reused {
		err = errReused
	}
	return g, err
}

// find returns a secret of a kind.
func (gs *grants) find(ctx context.Context, text, prefix string, kind SecretKind) (Secret, error) {
	if !strings.HasPrefix(text, prefix) || len(text) > 200 {
		return Secret{}, errUnknownSecret
	}
	s, err := gs.store.GrantSecret(ctx, hashOf(text))
	if errcode.Is(err, errcode.NotFound) || err == nil && s.Kind != kind {
		err = errUnknownSecret
	}
	return s, err
}

// live returns an access or refresh token that has not expired, with its grant.
func (gs *grants) live(ctx context.Context, text, prefix string, kind SecretKind) (Secret, Grant, error) {
	s, err := gs.find(ctx, text, prefix, kind)
	if err == nil && s.ExpiresAt <= gs.now() {
		err = errUnknownSecret
	}
	if err != nil {
		return s, Grant{}, err
	}
	g, err := gs.store.Grant(ctx, s.GrantID)
	if errcode.Is(err, errcode.NotFound) {
		err = errUnknownSecret
	}
	return s, g, err
}

// access issues an access token of a grant, for so long from now on.
func (gs *grants) access(ctx context.Context, g Grant, scopes []string, now int64, lifetime time.Duration) (id string, until time.Time, err error) {
	s := Secret{Kind: kindAccess, GrantID: g.ID, Scopes: scopes, CreatedAt: now, ExpiresAt: after(now, lifetime)}
	id = rand.Text() + rand.Text()
	s.Hash = hashOf(prefixAccess + id)
	err = gs.writer.Write(ctx, func(ctx context.Context) error {
		if _, err := gs.store.Grant(ctx, g.ID); err != nil {
			return err // it ended meanwhile
		}
		if err := gs.store.InsertGrantSecret(ctx, s); err != nil {
			return err
		}
		return gs.store.ExtendGrant(ctx, g.ID, s.ExpiresAt)
	})
	return id, clock.FromMicros(s.ExpiresAt), err
}

// refresh issues a refresh token in place of another one; an empty one begins a series.
func (gs *grants) refresh(ctx context.Context, g Grant, present string, lifetime time.Duration) (next string, err error) {
	if present == "" {
		next = prefixRefresh + rand.Text() + rand.Text()
		return next, gs.insertRefresh(ctx, g, next, lifetime)
	}
	next = gs.successor(present)
	err = gs.writer.Write(ctx, func(ctx context.Context) error {
		if _, err := gs.store.Grant(ctx, g.ID); err != nil {
			return err
		}
		fresh, err := gs.store.UseGrantSecret(ctx, hashOf(present), gs.now())
		if err != nil || !fresh {
			return err // checkRefresh let a repeated one pass
		}
		return gs.insertRefresh(ctx, g, next, lifetime)
	})
	return next, err
}

// successor derives the refresh token that follows another, so that a repeated request gets
// the same one again: no second series begins, which a thief could follow unseen.
func (gs *grants) successor(of string) string {
	return prefixRefresh + derived(gs.seeds, "refresh "+of)
}

func derived(seeds []byte, text string) string {
	mac := hmac.New(sha256.New, seeds)
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (gs *grants) insertRefresh(ctx context.Context, g Grant, text string, lifetime time.Duration) error {
	now := gs.now()
	s := Secret{Hash: hashOf(text), Kind: kindRefresh, GrantID: g.ID, Scopes: g.Scopes, CreatedAt: now, ExpiresAt: min(after(now, lifetime), after(g.CreatedAt, lastEnd))}
	return gs.writer.Write(ctx, func(ctx context.Context) error {
		if err := gs.store.InsertGrantSecret(ctx, s); err != nil {
			return err
		}
		return gs.store.ExtendGrant(ctx, g.ID, s.ExpiresAt)
	})
}

// checkRefresh returns the grant of a refresh token that may be used now. One that was used
// before passes for a moment, as long as its successor was not used; otherwise the grant ends.
func (gs *grants) checkRefresh(ctx context.Context, text string) (Secret, Grant, error) {
	s, g, err := gs.live(ctx, text, prefixRefresh, kindRefresh)
	if err != nil || s.UsedAt == 0 {
		return s, g, err
	}
	if gs.now()-s.UsedAt < retryWithin.Microseconds() {
		next, err := gs.store.GrantSecret(ctx, hashOf(gs.successor(text)))
		if err == nil && next.UsedAt == 0 {
			return s, g, nil
		}
		if err != nil && !errcode.Is(err, errcode.NotFound) {
			return s, g, err
		}
	}
	return s, g, errors.Join(errReused, gs.end(ctx, g.ID))
}

// end deletes grants with all their tokens.
func (gs *grants) end(ctx context.Context, ids ...string) error {
	return gs.writer.Write(ctx, func(ctx context.Context) error { return gs.store.DeleteGrants(ctx, ids) })
}

// bearers are access tokens: an id that nobody can guess, of which the database has the hash.
type bearers struct{}

// Encrypt implements op.Crypto.
func (bearers) Encrypt(text string) (string, error) {
	id, _, _ := strings.Cut(text, ":")
	return prefixAccess + id, nil
}

// Decrypt implements op.Crypto. The subject is read from the database, never from a token.
func (bearers) Decrypt(token string) (string, error) {
	id, ok := strings.CutPrefix(token, prefixAccess)
	if !ok || strings.Contains(id, ":") {
		return "", errUnknownSecret
	}
	return id + ":-", nil
}
