package identity

import (
	"context"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// proofLifetime is how long a proof counts, such as a password or a passkey.
	proofLifetime = 10 * time.Minute
	// maxDescent limits the length of a chain of tokens that created each other.
	maxDescent = 8
)

// ErrProve is returned to a session that asks for something lasting when its person
// gave no proof within proofLifetime: a copied cookie must not be enough for that.
var ErrProve = errcode.New(errcode.Forbidden, "this needs your password or passkey again, from the last %d minutes: open /login/again in the browser, then repeat it", int(proofLifetime.Minutes()))

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

// lifetime is the requested lifetime of a token, and the default.
type lifetime struct{ wanted, standard time.Duration }

// descend sets how a new token depends on the token that creates it, in the
// transaction of the context, and returns how long it lives:
//
//   - A token created with a token of the same owner ends with that token, so
//     that a stolen token cannot be prolonged.
//   - A token created in a session is independent; its person must therefore
//     have given a proof a moment ago.
//   - A token created for another account belongs to that account. It must not
//     belong to an owner that its creator descends from: otherwise two accounts
//     could prolong each other's tokens.
func (d *Directory) descend(ctx context.Context, by Principal, t *Token, l lifetime) (time.Duration, error) {
	length, err := checkLifetime(l.wanted, l.standard)
	if err != nil || by.TokenID == "" {
		return length, err
	}
	maker, err := d.store.Token(ctx, by.TokenID)
	if errcode.Is(err, errcode.NotFound) || err == nil && maker.expired(d.now()) {
		return 0, errUnknown
	}
	if err != nil {
		return 0, err
	}
	// A transaction that ends the creator does not see what is not committed yet.
	if err := event.Rely(ctx, change(maker)); err != nil {
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
		if err := d.Proved(ctx, by); err != nil {
			return 0, err
		}
	case maker.Kind == TokenFederated && t.Kind != TokenBootstrap:
		return 0, errcode.New(errcode.Forbidden, "a token that was exchanged for a CI token cannot create tokens; exchange a new one, or let a person create it")
	case maker.OwnerID == t.OwnerID:
		return endWith(t, maker, length, d.now(), l.wanted)
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

// stands returns nil when the tokens that a token ends with are valid. Usually
// they are known here; one that another replica created a moment ago is looked up.
func (d *Directory) stands(ctx context.Context, t Token, now int64) error {
	for range maxDescent + 1 {
		if !t.descends() {
			return nil
		}
		maker, found, _, _ := d.tokens.find(t.EndsWith)
		if !found {
			var err error
			if maker, err = d.lookUpID(ctx, t.EndsWith, now); err != nil {
				return err
			}
		}
		if t = maker; t.expired(now) {
			return errUnknown
		}
	}
	return errUnknown
}

// descends reports whether the token ends with another token. A federated token
// ends with its trust, which revokes its tokens itself.
func (t Token) descends() bool { return t.EndsWith != "" && t.Kind != TokenFederated }

// holds is stands as far as this replica knows. The caller holds the lock.
func (x *tokenIndex) holds(t Token, now int64) bool {
	for range maxDescent + 1 {
		if t.expired(now) {
			return false
		}
		if !t.descends() {
			return true
		}
		hash, found := x.byID[t.EndsWith]
		if !found {
			return false
		}
		t = x.byHash[hash]
	}
	return false
}

// standing returns those of the tokens that are still valid.
func (x *tokenIndex) standing(tokens []Token, now int64) []Token {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.DeleteFunc(tokens, func(t Token) bool { return t.descends() && !x.holds(t, now) })
}

// Proved returns nil when the person of a session has shown a password or a
// passkey in the last ten minutes, or has logged in again at the provider;
// otherwise ErrProve. Callers with a token need no proof, because tokens that
// they create end with their token.
func (d *Directory) Proved(ctx context.Context, by Principal) error {
	at, err := d.ProvedAt(ctx, by)
	return fresh(by, at, d.now(), err)
}

// ProvedForCLI is Proved for allowing a command line, whose token ends with the
// session: a login is enough as proof, even where the provider asked for no
// credentials.
func (d *Directory) ProvedForCLI(ctx context.Context, by Principal) error {
	at, err := d.ProvedAt(ctx, by)
	if err != nil {
		return err
	}
	t, err := d.store.Token(ctx, by.TokenID)
	return fresh(by, max(at, t.CreatedAt), d.now(), err)
}

func fresh(by Principal, at, now int64, err error) error {
	if err == nil && by.Session && now-at > proofLifetime.Microseconds() {
		return ErrProve
	}
	return err
}

// ProvedAt returns when the person of a session last gave a proof, 0 when that
// is unknown.
func (d *Directory) ProvedAt(ctx context.Context, by Principal) (int64, error) {
	row, err := d.store.Session(ctx, by.TokenID)
	if errcode.Is(err, errcode.NotFound) {
		return 0, nil
	}
	return row.ProvedAt, err
}

// Prove records that the person of a session has shown a password or a passkey
// at that time, and gives the session a new cookie value, so that a copy of the
// old cookie becomes worthless. Command lines that the session logged in
// continue to work.
func (d *Directory) Prove(ctx context.Context, by Principal, at int64) (CreatedToken, error) {
	var made CreatedToken
	err := d.writer.Write(ctx, func(ctx context.Context) error {
		t, err := d.store.Token(ctx, by.TokenID)
		if err != nil {
			return err
		}
		row, err := d.store.Session(ctx, t.ID)
		if err != nil {
			return err
		}
		row.ProvedAt = at
		made = CreatedToken{Token: t, Secret: bearertoken.New()}
		hash := bearertoken.Hash(made.Secret)
		made.Hash = hash[:]
		if err := d.store.UpdateToken(ctx, made.Token); err != nil {
			return err
		}
		if err := d.store.PutSession(ctx, row); err != nil {
			return err
		}
		if err := event.Append(ctx, change(t)); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "session.proved", Object: "user " + by.Name, By: by.By()})
	})
	if err != nil {
		return CreatedToken{}, err
	}
	d.tokens.put(made.Token)
	return made, nil
}
