package identity

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxDescent limits the length of a chain of tokens that created each other.
const maxDescent = 8

// Origin records what a token was created with, for people and to limit what
// the token may create itself.
type Origin struct {
	// Token is the id of the token or session that created it, By the name of
	// that token's owner.
	Token string `json:"token,omitempty"`
	By    string `json:"by,omitempty"`
	// Owners are the ids of the owners of the tokens it descends from, without
	// its own owner; Depth counts the tokens it descends from.
	Owners []string `json:"owners,omitempty"`
	Depth  int      `json:"depth,omitempty"`
}

// MadeBy returns the owner of the token or session that created it, empty when
// there is none.
func (o *Origin) MadeBy() string {
	if o == nil {
		return ""
	}
	return o.By
}

// Lifetime is the requested lifetime of a token, and the default.
type Lifetime struct{ Wanted, Standard time.Duration }

// length returns the requested lifetime or the default. Invalid when it is
// negative or too long.
func (l Lifetime) length() (time.Duration, error) {
	if l.Wanted == 0 {
		return l.Standard, nil
	}
	if l.Wanted < 0 || l.Wanted > maxLifetime {
		return 0, errcode.New(errcode.Invalid, "a token lives at most %d days", int(maxLifetime.Hours()/24))
	}
	return l.Wanted, nil
}

// Credentials issues and ends the hub's own tokens. Whoever has it can issue a
// token for anybody: only the packages that decide who gets one have it.
type Credentials struct {
	directory *Directory
	store     TokenStore
}

// Create stores a token with the given terms and a new secret, bound to the
// caller's token as descend decides.
func (c *Credentials) Create(ctx context.Context, by Principal, t Token, l Lifetime, entry event.Entry) (CreatedToken, error) {
	var made CreatedToken
	err := c.directory.writer.Write(ctx, func(ctx context.Context) error {
		t := t
		length, err := c.descend(ctx, by, &t, l)
		if err != nil {
			return err
		}
		made = c.Mint(t, length)
		if err := c.Insert(ctx, made.Token); err != nil {
			return err
		}
		return event.Record(ctx, entry)
	})
	if err != nil {
		return CreatedToken{}, fmt.Errorf("make a token: %w", err)
	}
	c.Remember(made.Token)
	return made, nil
}

// Mint gives a token its id, secret and times; an end that is already set is
// the latest possible.
func (c *Credentials) Mint(t Token, lifetime time.Duration) CreatedToken {
	bearer := bearertoken.New()
	hash := bearertoken.Hash(bearer)
	t.ID, t.Hash, t.CreatedAt = NewID("tok_"), hash[:], c.directory.now()
	if end := t.CreatedAt + lifetime.Microseconds(); t.ExpiresAt == 0 || end < t.ExpiresAt {
		t.ExpiresAt = end
	}
	return CreatedToken{Token: t, Secret: bearer}
}

// Insert stores a new token, in the transaction of the context. Remember it
// after the transaction.
func (c *Credentials) Insert(ctx context.Context, t Token) error {
	if err := c.store.InsertToken(ctx, t); err != nil {
		return err
	}
	if t.OwnerID != "" {
		if err := event.Append(ctx, tokensOf(t.OwnerID)); err != nil {
			return err
		}
	}
	return event.Append(ctx, change(t))
}

// Update stores another hash or other bootstrap terms of a token, in the
// transaction of the context.
func (c *Credentials) Update(ctx context.Context, t Token) error {
	if err := c.store.UpdateToken(ctx, t); err != nil {
		return err
	}
	return event.Append(ctx, change(t))
}

// Delete deletes tokens in the transaction of the context. Forget them after it.
func (c *Credentials) Delete(ctx context.Context, tokens ...Token) error {
	if len(tokens) == 0 {
		return nil
	}
	ids := make([]string, len(tokens))
	for i, t := range tokens {
		ids[i] = t.ID
		if err := event.Append(ctx, change(t)); err != nil {
			return err
		}
	}
	return c.store.DeleteTokens(ctx, ids)
}

// End is Delete for tokens of one user, with an event of the given kind.
func (c *Credentials) End(ctx context.Context, tokens []Token, by Principal, kind string) error {
	if len(tokens) == 0 {
		return nil
	}
	if err := c.Delete(ctx, tokens...); err != nil {
		return err
	}
	return event.Record(ctx, event.Entry{Kind: kind, Object: "user " + tokens[0].OwnerName, By: by.By()})
}

// EndOwned ends a user's logins, or everything that they have, in the transaction
// of the context, and returns what ended.
func (c *Credentials) EndOwned(ctx context.Context, by Principal, userID string, everything bool) ([]Token, error) {
	all, err := c.owned(ctx, userID)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(t Token) bool { return !everything && !t.OfLogin() })
	return all, c.End(ctx, all, by, "session.all_ended")
}

// EndThrough ends the tokens of a service account that were exchanged through a
// trust, in the transaction of the context, and returns them.
func (c *Credentials) EndThrough(ctx context.Context, by Principal, accountID, trustID string) ([]Token, error) {
	all, err := c.store.OwnedTokens(ctx, accountID)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(t Token) bool { return t.EndsWith != trustID })
	return all, c.End(ctx, all, by, "token.revoked")
}

// owned returns every token of a user. A transaction that creates another one
// and commits first makes this one start again.
func (c *Credentials) owned(ctx context.Context, ownerID string) ([]Token, error) {
	if err := event.DependsOn(ctx, tokensOf(ownerID)); err != nil {
		return nil, err
	}
	return c.store.OwnedTokens(ctx, ownerID)
}

// Remember makes a token that was inserted or updated valid on this replica at once.
func (c *Credentials) Remember(t Token) { c.directory.tokens.put(t) }

// Forget makes this replica refuse deleted tokens at once and for good: the feed's read of a
// token that was made a moment before may end after its deletion.
func (c *Credentials) Forget(tokens ...Token) {
	for _, t := range tokens {
		c.directory.tokens.forget(t.ID)
	}
}

// Standing returns those of the tokens whose makers are still valid.
func (c *Credentials) Standing(tokens []Token) []Token {
	return c.directory.tokens.standing(tokens, c.directory.now())
}

// Maker returns a token with which another one is created, in the transaction of
// the context, which starts again when the maker ends meanwhile. Unauthorized
// when it is not valid.
func (c *Credentials) Maker(ctx context.Context, id string) (Token, error) {
	maker, err := c.store.Token(ctx, id)
	if errcode.Is(err, errcode.NotFound) || err == nil && maker.Expired(c.directory.now()) {
		return Token{}, errInvalidToken
	}
	if err != nil {
		return Token{}, err
	}
	// A transaction that ends the creator does not see what is not committed yet.
	return maker, event.DependsOn(ctx, change(maker))
}

// descend sets how a new token depends on the token that creates it, in the
// transaction of the context, and returns how long it lives:
//
//   - A token created with a token of the same owner ends with that token, so
//     that a stolen token cannot be prolonged.
//   - A bootstrap token that the operator creates is independent too: it gives no right
//     that its maker has.
//   - A token created in a session is independent; its person must therefore
//     have given a proof a moment ago.
//   - A token created for another account belongs to that account. It must not
//     belong to an owner that its creator descends from: otherwise two accounts
//     could prolong each other's tokens.
func (c *Credentials) descend(ctx context.Context, by Principal, t *Token, l Lifetime) (time.Duration, error) {
	length, err := l.length()
	if err != nil || by.TokenID == "" {
		return length, err
	}
	maker, err := c.Maker(ctx, by.TokenID)
	if err != nil {
		return 0, err
	}
	from := Origin{}
	if maker.Origin != nil {
		from = *maker.Origin
	}
	t.Origin = &Origin{Token: maker.ID, By: maker.OwnerName, Owners: from.Owners, Depth: from.Depth + 1}
	switch {
	case maker.Kind == TokenSession:
		t.Origin.Depth, by.Session = 0, true
		if err := c.directory.Proved(ctx, by); err != nil {
			return 0, err
		}
	case maker.Kind == TokenFederated && t.Kind != TokenBootstrap && (maker.EndsWith != OperatorTrust || maker.OwnerID == t.OwnerID):
		return 0, errcode.New(errcode.Forbidden, "a token that was exchanged for a CI token cannot create tokens; exchange a new one, or let a person create it")
	case maker.EndsWith == OperatorTrust && t.Kind == TokenBootstrap:
		// The operator writes it to a Secret, and its own token ends within a minute.
		return length, nil
	case maker.OwnerID == t.OwnerID:
		return endWith(t, maker, length, c.directory.now(), l.Wanted)
	}
	if maker.OwnerID != t.OwnerID {
		t.Origin.Owners, t.Origin.Depth = append(slices.Clone(from.Owners), maker.OwnerID), 0
	}
	if slices.Contains(from.Owners, t.OwnerID) || len(t.Origin.Owners) > maxDescent {
		return 0, errcode.New(errcode.Forbidden, "this token was created with a token of %s, so it cannot create one for %s; let a person create it", from.By, t.OwnerName)
	}
	return length, nil
}

// endWith makes a token end with the one that creates it, and returns how long
// it then lives.
func endWith(t *Token, maker Token, length time.Duration, now int64, wanted time.Duration) (time.Duration, error) {
	if t.Origin.Depth > maxDescent {
		return 0, errcode.New(errcode.Forbidden, "this token is already the last of %d that created each other; create the new one with an earlier token", t.Origin.Depth-1)
	}
	t.EndsWith, t.ExpiresAt = maker.ID, maker.ExpiresAt
	if maker.ExpiresAt != 0 && now+wanted.Microseconds() > maker.ExpiresAt {
		return 0, errcode.New(errcode.Invalid, "a token that is created with another one ends with it, here at %s; ask for a shorter lifetime, or create it in the browser at /login/account, which asks for your password or passkey",
			clock.FromMicros(maker.ExpiresAt).Format(time.RFC3339))
	}
	return length, nil
}

// Stands returns nil when the tokens that a token ends with are valid. Unauthorized,
// Unavailable.
func (c *Credentials) Stands(ctx context.Context, t Token) error {
	return c.directory.stands(ctx, t, c.directory.now())
}

// change returns the feed row of a token.
func change(t Token) event.Change {
	return event.Change{Kind: event.KindToken, Key: t.ID, Cluster: t.ClusterID}
}

// tokensOf is what a transaction that revokes a user's credentials relies on:
// of it and a concurrent transaction that creates a token for that user, the
// later sees the earlier.
func tokensOf(ownerID string) event.Change {
	return event.Change{Kind: event.KindToken, Key: "of " + ownerID}
}
