package identity

import (
	"context"

	"github.com/axle-cd/axle/internal/errcode"
)

// Caller returns the current caller of a token by the token's id, from memory
// unless this replica does not know it yet. It is for what was begun with the token
// and continues: a stream, a ticket, a credential created with it. Unauthorized
// when the token was revoked or has expired; Unavailable as Authenticate.
func (d *Directory) Caller(ctx context.Context, tokenID string) (Principal, error) {
	t, found, loaded, goodAt := d.tokens.find(tokenID)
	now := d.now()
	switch {
	case !loaded:
		return Principal{}, errLoading
	case now-goodAt > withoutDatabase.Microseconds():
		return Principal{}, errBlind
	case !found:
		var err error
		if t, err = d.lookUpID(ctx, tokenID, now); err != nil {
			return Principal{}, err
		}
	}
	if t.expired(now) {
		return Principal{}, errUnknown
	}
	if err := d.stands(ctx, t, now); err != nil {
		return Principal{}, err
	}
	return d.principal(t), nil
}

// lookUpID reads the database, as lookUp does, and caches nothing: the feed
// brings the token in a moment.
func (d *Directory) lookUpID(ctx context.Context, tokenID string, now int64) (Token, error) {
	if !d.misses.take(now) {
		return Token{}, errUnknown
	}
	ctx, cancel := context.WithTimeout(ctx, missTimeout)
	defer cancel()
	t, err := d.store.Token(ctx, tokenID)
	if errcode.Is(err, errcode.NotFound) {
		return Token{}, errUnknown
	}
	if err != nil {
		return Token{}, d.unasked(err)
	}
	return t, nil
}

// find is get by a token's id.
func (x *tokenIndex) find(id string) (t Token, found, loaded bool, goodAt int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	hash, found := x.byID[id]
	if found {
		t, found = x.byHash[hash]
	}
	return t, found, x.loaded, x.goodAt
}
