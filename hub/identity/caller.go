package identity

import (
	"context"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

// Caller returns the current caller of a token by the token's id, from memory
// unless this replica does not know it yet. It is for what was begun with the token
// and continues: a stream, a ticket, a credential created with it. Unauthorized
// when the token was revoked or has expired, or a session was not used for long;
// Unavailable as Authenticate.
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
	if t.Expired(now) {
		return Principal{}, errInvalidToken
	}
	t, err := d.awake(ctx, t, now)
	if err == nil {
		err = d.stands(ctx, t, now)
	}
	if err != nil {
		return Principal{}, err
	}
	return d.principal(t), nil
}

// lookUpID reads the database, as lookUp does, and caches nothing: the feed
// brings the token in a moment.
func (d *Directory) lookUpID(ctx context.Context, tokenID string, now int64) (Token, error) {
	if err := d.absent.Take(pool.Caller{Name: tokenID}); err != nil {
		return Token{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, missTimeout)
	defer cancel()
	t, err := d.stores.Index.Token(ctx, tokenID)
	if errcode.Is(err, errcode.NotFound) {
		return Token{}, errInvalidToken
	}
	if err != nil {
		return Token{}, d.unasked(err)
	}
	return t, nil
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
		if t = maker; t.Expired(now) {
			return errInvalidToken
		}
	}
	return errInvalidToken
}
