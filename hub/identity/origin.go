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
	// proofLifetime is how long it counts that somebody showed a password or a
	// passkey.
	proofLifetime = 10 * time.Minute
	// maxDescent bounds how many tokens stand one upon the other.
	maxDescent = 8
)

// ErrProve is the answer to a session that wants something lasting while its
// person showed nothing for more than proofLifetime: a cookie that was copied
// is not enough for it.
var ErrProve = errcode.New(errcode.Forbidden, "this needs your password or passkey again, from the last %d minutes: open /login/again in the browser, then repeat it", int(proofLifetime.Minutes()))

// Origin says what a token was made with, for people and for what it may make
// itself.
type Origin struct {
	// Token is the id of the token or session that made it, By that one's
	// owner by name.
	Token string `json:"token,omitempty"`
	By    string `json:"by,omitempty"`
	// Owners are the ids of those whose tokens it descends from, its own owner
	// not among them; Depth counts the tokens that it stands upon.
	Owners []string `json:"owners,omitempty"`
	Depth  int      `json:"depth,omitempty"`
}

// MadeBy is whose token or session made it, empty when none did.
func (o *Origin) MadeBy() string {
	if o == nil {
		return ""
	}
	return o.By
}

// lifetime is how long a token was asked to live, and how long it does when
// nobody says.
type lifetime struct{ wanted, standard time.Duration }

// descend fills in what a new token owes to the one that makes it, in the
// transaction of the context, and returns how long it lives:
//
//   - made with a token of the same owner it ends with that one, so that no
//     thief lives on in what he made;
//   - made in a session it stands by itself, and so its person must have shown
//     a password or a passkey a moment ago;
//   - made for another account it is that account's own. It is never one of an
//     owner that its maker descends from: two accounts would prolong each
//     other.
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
	// Whoever ends the maker does not see what is not committed yet.
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
		return 0, errcode.New(errcode.Forbidden, "a token that was exchanged for a CI's makes no others; exchange a new one, or let a person make it")
	case maker.OwnerID == t.OwnerID:
		return endWith(t, maker, length, d.now(), l.wanted)
	}
	if maker.OwnerID != t.OwnerID {
		t.Origin.Owners, t.Origin.Depth = append(slices.Clone(from.Owners), maker.OwnerID), 0
	}
	if slices.Contains(from.Owners, t.OwnerID) || len(t.Origin.Owners) > maxDescent {
		return 0, errcode.New(errcode.Forbidden, "this token was made with one of %s, and so it makes none for %s; let a person make it", from.By, t.OwnerName)
	}
	return length, nil
}

// endWith binds a token to the one that makes it, and returns how long it then
// lives.
func endWith(t *Token, maker Token, length time.Duration, now int64, wanted time.Duration) (time.Duration, error) {
	if t.Origin.Depth > maxDescent {
		return 0, errcode.New(errcode.Forbidden, "this token stands upon %d others already; make the new one with an earlier one of them", t.Origin.Depth-1)
	}
	t.EndsWith, t.ExpiresAt = maker.ID, maker.ExpiresAt
	if maker.ExpiresAt != 0 && now+wanted.Microseconds() > maker.ExpiresAt {
		return 0, errcode.New(errcode.Invalid, "a token that is made with another one ends with it, here at %s; ask for less, or make it in the browser at /login/account, which asks for your password or passkey",
			clock.FromMicros(maker.ExpiresAt).Format(time.RFC3339))
	}
	return length, nil
}

// stands returns nil when the tokens are good that a token ends with. Those
// are known here; one that another replica made a moment ago is looked up.
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

// descends reports whether the token ends with another one. A federated one
// ends with its trust, which takes its tokens along.
func (t Token) descends() bool { return t.EndsWith != "" && t.Kind != TokenFederated }

// holds is stands of a token as far as this replica knows, without the lock.
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

// standing returns those of some tokens that nothing has ended.
func (x *tokenIndex) standing(tokens []Token, now int64) []Token {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.DeleteFunc(tokens, func(t Token) bool { return t.descends() && !x.holds(t, now) })
}

// Proved returns nil when the person of a session has shown a password or a
// passkey in the last ten minutes, or has logged in anew at the provider; else
// ErrProve. Who comes with a token is not asked: what tokens make ends with
// them.
func (d *Directory) Proved(ctx context.Context, by Principal) error {
	at, err := d.ProvedAt(ctx, by)
	return fresh(by, at, d.now(), err)
}

// ProvedForCLI is Proved for letting a command line in, which ends with the
// session: having logged in is enough, also where the provider asked nothing.
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

// ProvedAt is when the person of a session last did, 0 when that is not known.
func (d *Directory) ProvedAt(ctx context.Context, by Principal) (int64, error) {
	row, err := d.store.Session(ctx, by.TokenID)
	if errcode.Is(err, errcode.NotFound) {
		return 0, nil
	}
	return row.ProvedAt, err
}

// Prove notes that the person of a session has shown a password or a passkey
// at that time, and gives the session another value: a copy of the cookie that
// somebody waits with is worth nothing from then on. Command lines that the
// session logged in go on.
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
