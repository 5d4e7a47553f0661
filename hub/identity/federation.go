package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/assertion"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// federatedLifetime is the longest life of an exchanged token.
	federatedLifetime = time.Hour
	// skewedFederated is the life of an exchanged token whose original has
	// expired by the hub's clock, but not by its issuer's.
	skewedFederated = time.Minute
	// replayKept is how long beyond its end a token is remembered as used.
	replayKept = 15 * time.Minute
	// maxTrusts limits the trusts that one exchange searches.
	maxTrusts = 1000
	maxPEM    = 64 << 10
)

// Trust lets tokens of an issuer act as a service account.
type Trust struct {
	ID   string
	Name string
	// Issuer is the required iss of a token; Audience must be in its aud.
	Issuer, Audience string
	// Claims are patterns by claim: globs, or regular expressions between
	// slashes. Each must match the claim's whole value.
	Claims map[string]string
	// AccountID is the service account; Account is its name, filled by reads.
	AccountID, Account string
	Scopes             []string
	// Lifetime is in microseconds.
	Lifetime   int64
	CAPEM      string
	CreatedAt  int64
	CreatedBy  string
	LastUsedAt int64
}

// FederationStore stores trusts.
type FederationStore interface {
	// InsertTrust adds one; Conflict when the name is taken.
	InsertTrust(ctx context.Context, t Trust) error
	// DeleteTrust removes one by id; a missing one is no error.
	DeleteTrust(ctx context.Context, id string) error
	// Trusts returns all, or those of an issuer, in order of name.
	Trusts(ctx context.Context, issuer string) ([]Trust, error)
	// TouchTrust records a use, or returns NotFound.
	TouchTrust(ctx context.Context, id string, at int64) error
}

// Issuers verifies tokens of other issuers; hub/identity/federation implements it.
type Issuers interface {
	// Verify returns the claims and the expiry of a valid token that the issuer
	// signed for the audience. Unauthorized, Unavailable.
	Verify(ctx context.Context, issuer, caPEM, audience, token string) (claims map[string]any, expires time.Time, err error)
}

// CreateTrust adds a trust. Invalid, NotFound for the account, Conflict,
// Forbidden for a scope that the caller lacks, ErrProve.
func (d *Directory) CreateTrust(ctx context.Context, by Principal, t Trust) (Trust, error) {
	if err := d.checkTrust(t); err != nil {
		return Trust{}, err
	}
	if len(t.Scopes) == 0 {
		t.Scopes = []string{ScopeRead}
	}
	if err := checkScopes(by, t.Scopes); err != nil {
		return Trust{}, err
	}
	if t.Lifetime == 0 {
		t.Lifetime = federatedLifetime.Microseconds()
	}
	if err := d.Proved(ctx, by); err != nil {
		return Trust{}, err
	}
	t.ID, t.CreatedAt, t.CreatedBy = newID("fed_"), d.now(), by.By()
	err := d.writer.Write(ctx, func(ctx context.Context) error {
		account, err := d.serviceAccount(ctx, t.Account)
		if err != nil {
			return err
		}
		all, err := d.store.Trusts(ctx, "")
		if err != nil {
			return err
		}
		if len(all) >= maxTrusts {
			return errcode.New(errcode.Exhausted, "the hub trusts %d issuers' tokens, which is its limit; delete some first", len(all))
		}
		t.AccountID = account.ID
		if err := d.store.InsertTrust(ctx, t); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "trust.created", Object: "trust " + t.Name, By: by.By(), Message: "tokens of " + t.Issuer + " act as " + t.Account})
	})
	return t, err
}

func (d *Directory) checkTrust(t Trust) error {
	if !accountName.MatchString(t.Name) {
		return errcode.New(errcode.Invalid, "name: %.80q is not valid; use up to 63 small letters, digits, dashes and dots", t.Name)
	}
	u, err := url.Parse(t.Issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && !(d.plainIssuers && u.Scheme == "http") || len(t.Issuer) > maxText {
		return errcode.New(errcode.Invalid, "issuer: %.200q is not an https URL; give the iss of the tokens, such as https://token.actions.githubusercontent.com", t.Issuer)
	}
	if t.Audience == "" || len(t.Audience) > maxText {
		return errcode.New(errcode.Invalid, "audience: give the aud that the CI puts into the tokens for this hub, such as the hub's URL")
	}
	if t.Lifetime < 0 || t.Lifetime > federatedLifetime.Microseconds() {
		return errcode.New(errcode.Invalid, "lifetime: an exchanged token lives at most %s", federatedLifetime)
	}
	if len(t.CAPEM) > maxPEM {
		return errcode.New(errcode.Invalid, "ca_pem: at most %d bytes", maxPEM)
	}
	return assertion.CheckPatterns(t.Claims)
}

// Trusts returns all trusts in order of name.
func (d *Directory) Trusts(ctx context.Context) ([]Trust, error) { return d.store.Trusts(ctx, "") }

// DeleteTrust removes a trust by name and revokes the tokens that were
// exchanged through it. NotFound.
func (d *Directory) DeleteTrust(ctx context.Context, by Principal, name string) error {
	var ended []Token
	err := d.writer.Write(ctx, func(ctx context.Context) error {
		all, err := d.store.Trusts(ctx, "")
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(t Trust) bool { return t.Name == name })
		if i < 0 {
			return errcode.New(errcode.NotFound, "trust %.80q does not exist; axle federation list shows the existing ones", name)
		}
		if err := d.store.DeleteTrust(ctx, all[i].ID); err != nil {
			return err
		}
		if ended, err = d.store.OwnedTokens(ctx, all[i].AccountID); err != nil {
			return err
		}
		ended = slices.DeleteFunc(ended, func(t Token) bool { return t.EndsWith != all[i].ID })
		if err := d.endTokens(ctx, ended, by, "token.revoked"); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "trust.deleted", Object: "trust " + name, By: by.By()})
	})
	if err != nil {
		return err
	}
	d.tokens.remove(ids(ended)...)
	return nil
}

// Exchange trades a token of a trusted issuer for a hub token that lives at most
// an hour. name chooses the trust; empty chooses the one that fits. A token can
// be traded once. Unauthorized, Conflict when several trusts fit, Unavailable.
func (d *Directory) Exchange(ctx context.Context, name, token string) (CreatedToken, error) {
	said, err := assertion.Parse(token)
	if err != nil {
		return CreatedToken{}, err
	}
	all, err := d.store.Trusts(ctx, said.Issuer)
	if err != nil {
		return CreatedToken{}, err
	}
	var fits []Trust
	var why error
	var expires time.Time
	id := said.Signed
	for _, t := range all {
		if name != "" && t.Name != name {
			continue
		}
		claims, until, err := d.verify(ctx, t, token)
		if errcode.Is(err, errcode.Unavailable) {
			return CreatedToken{}, err
		}
		if err != nil {
			why = err
			continue
		}
		if jti, ok := claims["jti"].(string); ok && jti != "" {
			id = jti
		}
		expires = until
		fits = append(fits, t)
	}
	switch {
	case len(fits) == 1:
		return d.exchange(ctx, fits[0], said.Issuer+"\n"+id, expires)
	case len(fits) > 1:
		return CreatedToken{}, errcode.New(errcode.Conflict, "several trusts fit the token; name one of them")
	case why != nil:
		d.log.Info("a federated token was refused", logkey.Reason, why)
		return CreatedToken{}, errcode.New(errcode.Unauthorized, "the token fits no trust of this hub: %s", errcode.Message(why))
	}
	return CreatedToken{}, errcode.New(errcode.Unauthorized, "no trust of this hub fits the token; an administrator can add one with: axle federation create")
}

// verify returns the claims of a token that a trust accepts.
func (d *Directory) verify(ctx context.Context, t Trust, token string) (map[string]any, time.Time, error) {
	if d.issuers == nil {
		return nil, time.Time{}, errcode.New(errcode.Unauthorized, "this hub does not accept tokens of other issuers")
	}
	claims, expires, err := d.issuers.Verify(ctx, t.Issuer, t.CAPEM, t.Audience, token)
	if err != nil {
		return nil, time.Time{}, err
	}
	return claims, expires, assertion.Match(t.Claims, claims)
}

// exchange creates the token, unless the same one was exchanged before.
func (d *Directory) exchange(ctx context.Context, t Trust, used string, expires time.Time) (CreatedToken, error) {
	left := time.Duration(expires.UnixMicro()-d.now()) * time.Microsecond
	if left <= 0 {
		// It has expired by our clock, and was accepted because the issuer's
		// clock may differ.
		left = skewedFederated
	}
	lifetime := min(left, time.Duration(t.Lifetime)*time.Microsecond)
	digest := sha256.Sum256([]byte(used))
	var made CreatedToken
	err := d.writer.Write(ctx, func(ctx context.Context) error {
		account, err := d.store.User(ctx, t.AccountID)
		if err != nil {
			return errcode.Hide(errcode.Unauthorized, err, "the service account of the trust %s is gone", t.Name)
		}
		err = d.store.UseOnce(ctx, "federated/"+hex.EncodeToString(digest[:]), expires.Add(replayKept).UnixMicro())
		if errcode.Is(err, errcode.Conflict) {
			return errcode.New(errcode.Unauthorized, "this token was exchanged before; a job exchanges its token once and keeps the answer")
		}
		if err != nil {
			return err
		}
		made = d.mint(Token{
			Kind: TokenFederated, Name: "federated by " + t.Name, Scopes: t.Scopes,
			OwnerID: account.ID, OwnerName: account.Name, OwnerKind: account.Kind, OwnerAdmin: account.Admin, EndsWith: t.ID,
		}, lifetime)
		if err := insertToken(ctx, d.store, made.Token); err != nil {
			return err
		}
		// The row is written so that a concurrent deletion of the trust is noticed.
		if err := d.store.TouchTrust(ctx, t.ID, d.now()); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "token.exchanged", Object: "trust " + t.Name, By: account.Name, Message: "a token of " + t.Issuer})
	})
	if err != nil {
		return CreatedToken{}, err
	}
	d.tokens.put(made.Token)
	return made, nil
}

// checkScopes returns nil when the caller may give a token these scopes.
func checkScopes(by Principal, scopes []string) error {
	for _, s := range scopes {
		if !slices.Contains(allScopes, s) {
			return errcode.New(errcode.Invalid, "scope %.80q does not exist; use %s", s, strings.Join(allScopes, ", "))
		}
		if !by.HasScope(s) {
			return errcode.New(errcode.Forbidden, "a token without the scope %q cannot make one that has it", s)
		}
	}
	return nil
}

// Principal returns the caller that the token was created for.
func (t CreatedToken) Principal() Principal {
	return Principal{Kind: t.OwnerKind, ID: t.OwnerID, Name: t.OwnerName, Admin: t.OwnerAdmin, Scopes: t.Scopes, TokenID: t.ID, TokenExpiresAt: t.ExpiresAt}
}
