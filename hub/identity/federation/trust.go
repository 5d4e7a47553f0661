package federation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/assertion"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/rule"
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
	// maxText limits an issuer and an audience, in bytes.
	maxText = 200
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
	ManagedBy  managed.Manager
	CreatedAt  int64
	CreatedBy  string
	LastUsedAt int64
}

// MarkStore remembers what can be used once.
type MarkStore interface {
	// UseOnce records a key until it expires, or returns Conflict when it was
	// recorded before.
	UseOnce(ctx context.Context, key string, expires int64) error
}

// TrustStore stores trusts. Methods that change something run in the transaction
// of the context.
type TrustStore interface {
	// InsertTrust adds one; Conflict when the name is taken.
	InsertTrust(ctx context.Context, t Trust) error
	// DeleteTrust removes one by id; a missing one is no error.
	DeleteTrust(ctx context.Context, id string) error
	// Trusts returns all, or those of an issuer, in order of name.
	Trusts(ctx context.Context, issuer string) ([]Trust, error)
	// IsClient reports whether an id is that of a client of the identity provider.
	IsClient(ctx context.Context, id string) (bool, error)
	// TouchTrust records a use, or returns NotFound.
	TouchTrust(ctx context.Context, id string, at int64) error
}

// TrustsConfig holds the dependencies of Trusts, all required.
type TrustsConfig struct {
	Store TrustStore
	// Marks remembers which tokens were exchanged.
	Marks       MarkStore
	Writer      identity.Writer
	Directory   *identity.Directory
	Credentials *identity.Credentials
	Issuers     *Issuers
	// Operator is nil if no ServiceAccount of the hub's own cluster may log in.
	Operator *Operator
	Clock    clock.Clock
	Log      *slog.Logger
}

// Trusts decides which tokens of other issuers act as which service account.
type Trusts struct {
	store       TrustStore
	marks       MarkStore
	writer      identity.Writer
	directory   *identity.Directory
	credentials *identity.Credentials
	issuers     *Issuers
	operator    *Operator
	clock       clock.Clock
	log         *slog.Logger
}

// NewTrusts returns an error when a required part is missing.
func NewTrusts(c TrustsConfig) (*Trusts, error) {
	if c.Store == nil || c.Marks == nil || c.Writer == nil || c.Directory == nil || c.Credentials == nil || c.Issuers == nil {
		return nil, errors.New("federation: a part of the trusts is missing")
	}
	return &Trusts{
		store: c.Store, marks: c.Marks, writer: c.Writer, directory: c.Directory, credentials: c.Credentials,
		issuers: c.Issuers, operator: c.Operator, clock: c.Clock, log: c.Log,
	}, nil
}

func (ts *Trusts) now() int64 { return clock.Micros(ts.clock.Now()) }

// CreateTrust adds a trust. One that exists is Conflict, unless it has the same terms
// and the caller takes it over. Invalid, NotFound for the account, Forbidden for a
// scope that the caller lacks, ErrProve.
func (ts *Trusts) CreateTrust(ctx context.Context, by identity.Principal, t Trust) (Trust, error) {
	if err := ts.checkTrust(t); err != nil {
		return Trust{}, err
	}
	if len(t.Scopes) == 0 {
		t.Scopes = []string{identity.ScopeRead}
	}
	if err := identity.CheckScopes(by, t.Scopes); err != nil {
		return Trust{}, err
	}
	if t.Lifetime == 0 {
		t.Lifetime = federatedLifetime.Microseconds()
	}
	if err := ts.directory.Proved(ctx, by); err != nil {
		return Trust{}, err
	}
	t.ID, t.ManagedBy, t.CreatedAt, t.CreatedBy = identity.NewID("fed_"), managed.Created(ctx), ts.now(), by.By()
	err := ts.writer.Write(ctx, func(ctx context.Context) error {
		account, err := ts.directory.ServiceAccount(ctx, t.Account)
		if err != nil {
			return err
		}
		all, err := ts.store.Trusts(ctx, "")
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(have Trust) bool { return have.Name == t.Name }); i >= 0 && managed.CallerOf(ctx).TakeOver {
			t, err = ts.takeOver(ctx, all[i], t)
			return err
		}
		if len(all) >= maxTrusts {
			return errcode.New(errcode.Exhausted, "the hub trusts %d issuers' tokens, which is its limit; delete some first", len(all))
		}
		t.AccountID = account.ID
		client, err := ts.store.IsClient(ctx, t.Audience)
		if err == nil && client {
			err = errcode.New(errcode.Conflict, "audience: %.80q is the client id of an application, whose tokens sign people in; give another aud to the tokens of the CI", t.Audience)
		}
		if err != nil {
			return err
		}
		if err := ts.store.InsertTrust(ctx, t); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "trust.created", Object: "trust " + t.Name, By: by.By(), Message: "tokens of " + t.Issuer + " act as " + t.Account})
	})
	return t, err
}

// takeOver makes the caller the manager of a trust that has the terms that it wants.
func (ts *Trusts) takeOver(ctx context.Context, have, want Trust) (Trust, error) {
	same := have.Issuer == want.Issuer && have.Audience == want.Audience && have.Account == want.Account && have.Lifetime == want.Lifetime &&
		have.CAPEM == want.CAPEM && maps.Equal(have.Claims, want.Claims) && slices.Equal(have.Scopes, want.Scopes)
	if !same {
		return have, errcode.New(errcode.Conflict, "trust %s exists with other terms; delete it first", have.Name)
	}
	var err error
	if have.ManagedBy, err = managed.Write(ctx, "trust "+have.Name, have.ManagedBy, false); err != nil {
		return have, err
	}
	if err := ts.store.DeleteTrust(ctx, have.ID); err != nil {
		return have, err
	}
	return have, ts.store.InsertTrust(ctx, have)
}

func (ts *Trusts) checkTrust(t Trust) error {
	if !rule.Account.Valid(t.Name) {
		return errcode.New(errcode.Invalid, "name: %.80q is not valid; use %s", t.Name, rule.Account.Words)
	}
	u, err := url.Parse(t.Issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && !(ts.issuers.config.AllowHTTP && u.Scheme == "http") || len(t.Issuer) > maxText {
		return errcode.New(errcode.Invalid, "issuer: %.200q is not an https URL; give the iss of the tokens, such as https://token.actions.githubusercontent.com", t.Issuer)
	}
	if t.Audience == "" || len(t.Audience) > maxText {
		return errcode.New(errcode.Invalid, "audience: give the aud that the CI puts into the tokens for this hub, such as the hub's URL")
	}
	if rule.IsClient(t.Audience) {
		return errcode.New(errcode.Invalid, "audience: %.80q is the id of an application, whose tokens sign people in; give another aud to the tokens of the CI", t.Audience)
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
func (ts *Trusts) Trusts(ctx context.Context) ([]Trust, error) { return ts.store.Trusts(ctx, "") }

// DeleteTrust removes a trust by name and revokes the tokens that were
// exchanged through it. NotFound.
func (ts *Trusts) DeleteTrust(ctx context.Context, by identity.Principal, name string) error {
	var ended []identity.Token
	err := ts.writer.Write(ctx, func(ctx context.Context) error {
		all, err := ts.store.Trusts(ctx, "")
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(t Trust) bool { return t.Name == name })
		if i < 0 {
			return errcode.New(errcode.NotFound, "trust %.80q does not exist; axle federation list shows the existing ones", name)
		}
		if _, err := managed.Write(ctx, "trust "+name, all[i].ManagedBy, true); err != nil {
			return err
		}
		if err := ts.store.DeleteTrust(ctx, all[i].ID); err != nil {
			return err
		}
		if ended, err = ts.credentials.EndThrough(ctx, by, all[i].AccountID, all[i].ID); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "trust.deleted", Object: "trust " + name, By: by.By()})
	})
	if err != nil {
		return err
	}
	ts.credentials.Forget(ended...)
	return nil
}

// DeleteServiceAccount removes a service account, its tokens, and the trusts that
// refer to it. NotFound.
func (ts *Trusts) DeleteServiceAccount(ctx context.Context, by identity.Principal, name string) error {
	account, err := ts.directory.ServiceAccount(ctx, name)
	if err != nil {
		return err
	}
	if err := ts.directory.DeleteUser(ctx, by.By(), account.Name); err != nil {
		return err
	}
	// The trusts already give no access: an exchange looks up the account.
	return ts.writer.Write(ctx, func(ctx context.Context) error {
		all, err := ts.store.Trusts(ctx, "")
		if err != nil {
			return err
		}
		for _, t := range all {
			if t.AccountID != account.ID {
				continue
			}
			if err := ts.store.DeleteTrust(ctx, t.ID); err != nil {
				return err
			}
			if err := event.Record(ctx, event.Entry{Kind: "trust.deleted", Object: "trust " + t.Name, By: by.By(), Message: "its service account was deleted"}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Exchange trades a token of a trusted issuer for a hub token that lives at most
// an hour. name chooses the trust; empty chooses the one that fits. A token can
// be traded once. Unauthorized, Conflict when several trusts fit, Unavailable.
func (ts *Trusts) Exchange(ctx context.Context, name, token string) (identity.CreatedToken, error) {
	said, err := assertion.Parse(token)
	if err != nil {
		return identity.CreatedToken{}, err
	}
	if ts.operator != nil && name == "" && said.Subject == ts.operator.Reviewer.Subject() {
		return ts.exchangeOperator(ctx, said, token)
	}
	all, err := ts.store.Trusts(ctx, said.Issuer)
	if err != nil {
		return identity.CreatedToken{}, err
	}
	var fits []Trust
	var why error
	var expires time.Time
	id := said.Signed
	for _, t := range all {
		if name != "" && t.Name != name {
			continue
		}
		claims, until, err := ts.verify(ctx, t, token)
		if errcode.Is(err, errcode.Unavailable) {
			return identity.CreatedToken{}, err
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
		return ts.exchange(ctx, fits[0], said.Issuer+"\n"+id, expires)
	case len(fits) > 1:
		return identity.CreatedToken{}, errcode.New(errcode.Conflict, "several trusts fit the token; name one of them")
	case why != nil:
		ts.log.Info("a federated token was refused", logkey.Reason, why)
		return identity.CreatedToken{}, errcode.New(errcode.Unauthorized, "the token fits no trust of this hub: %s", errcode.Message(why))
	}
	return identity.CreatedToken{}, errcode.New(errcode.Unauthorized, "no trust of this hub fits the token; an administrator can add one with: axle federation create")
}

// verify returns the claims of a token that a trust accepts.
func (ts *Trusts) verify(ctx context.Context, t Trust, token string) (map[string]any, time.Time, error) {
	claims, expires, err := ts.issuers.Verify(ctx, t.Issuer, t.CAPEM, t.Audience, token)
	if err != nil {
		return nil, time.Time{}, err
	}
	return claims, expires, assertion.Match(t.Claims, claims)
}

// exchange creates the token, unless the same one was exchanged before.
func (ts *Trusts) exchange(ctx context.Context, t Trust, used string, expires time.Time) (identity.CreatedToken, error) {
	left := time.Duration(expires.UnixMicro()-ts.now()) * time.Microsecond
	if left <= 0 {
		// It has expired by our clock, and was accepted because the issuer's
		// clock may differ.
		left = skewedFederated
	}
	lifetime := min(left, time.Duration(t.Lifetime)*time.Microsecond)
	digest := sha256.Sum256([]byte(used))
	var made identity.CreatedToken
	err := ts.writer.Write(ctx, func(ctx context.Context) error {
		account, err := ts.directory.User(ctx, t.AccountID)
		if err != nil {
			return errcode.Hide(errcode.Unauthorized, err, "the service account of the trust %s is gone", t.Name)
		}
		err = ts.marks.UseOnce(ctx, "federated/"+hex.EncodeToString(digest[:]), expires.Add(replayKept).UnixMicro())
		if errcode.Is(err, errcode.Conflict) {
			return errcode.New(errcode.Unauthorized, "this token was exchanged before; a job exchanges its token once and keeps the answer")
		}
		if err != nil {
			return err
		}
		made = ts.credentials.Mint(identity.Token{
			Kind: identity.TokenFederated, Name: "federated by " + t.Name, Scopes: t.Scopes,
			OwnerID: account.ID, OwnerName: account.Name, OwnerKind: account.Kind, OwnerAdmin: account.Admin, EndsWith: t.ID,
		}, lifetime)
		if err := ts.credentials.Insert(ctx, made.Token); err != nil {
			return err
		}
		// The row is written so that a concurrent deletion of the trust is noticed.
		if err := ts.store.TouchTrust(ctx, t.ID, ts.now()); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "token.exchanged", Object: "trust " + t.Name, By: account.Name, Message: "a token of " + t.Issuer})
	})
	if err != nil {
		return identity.CreatedToken{}, err
	}
	ts.credentials.Remember(made.Token)
	return made, nil
}
