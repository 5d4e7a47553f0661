package identity

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// withoutDatabase is how long known tokens work while the database does not
	// answer: nothing can be revoked meanwhile.
	withoutDatabase = time.Hour
	// coarseUse is the precision of an API token's last use.
	coarseUse = 5 * time.Minute
	// sessionIdle ends a session that was not used for so long.
	sessionIdle = 12 * time.Hour
	// missTimeout limits one of them.
	missTimeout = 2 * time.Second
)

var (
	errNoBearer     = errcode.New(errcode.Unauthorized, "no token was sent; log in, or send Authorization: Bearer <token>")
	errUnknownToken = errcode.New(errcode.Unauthorized, "the bearer token is not a token of an Axle hub, which begins with %s; log in again", bearertoken.Prefix)
	errInvalidToken = errcode.New(errcode.Unauthorized, "the token is not known, has expired, or was revoked, itself or with the token that created it; log in again")
	errLoading      = errcode.New(errcode.Unavailable, "the hub is loading its tokens; try again in a second").After(time.Second)
	errUnasked      = errcode.New(errcode.Unavailable, "this hub does not know the token yet, and its database does not answer; try again in a second").After(time.Second)
	errBlind        = errcode.New(errcode.Unavailable, "the hub has not reached its database for an hour and cannot tell whether the token was revoked").After(30 * time.Second)
)

// Authenticate returns the caller of a bearer token, from memory. It returns
// Unauthorized when the token is unknown, and Unavailable while tokens are not
// loaded, when the database has been unavailable for more than 1 h, or when an
// unknown token cannot be looked up. Only an unknown token may cost a look-up,
// because another replica may have created it a moment ago; Exhausted when the
// network that shows it has had its share of those. A session's bearer is valid only as a cookie and is refused here.
func (d *Directory) Authenticate(ctx context.Context, bearer string) (Principal, error) {
	t, err := d.known(ctx, bearer)
	if err != nil {
		return Principal{}, err
	}
	if t.Kind == TokenSession {
		return Principal{}, errInvalidToken
	}
	d.used(t, d.now())
	return d.principal(t), nil
}

// AuthenticateSession returns the caller of a session cookie, from memory, like
// Authenticate. A session ends after 7 days, or 12 h without use.
func (d *Directory) AuthenticateSession(ctx context.Context, bearer string) (Principal, error) {
	t, err := d.known(ctx, bearer)
	if err != nil {
		return Principal{}, err
	}
	if t.Kind != TokenSession {
		return Principal{}, errInvalidToken
	}
	if t, err = d.awake(ctx, t, d.now()); err != nil {
		return Principal{}, err
	}
	d.used(t, d.now())
	return d.principal(t), nil
}

// awake returns a token unless it is of a session that was not used for long.
func (d *Directory) awake(ctx context.Context, t Token, now int64) (Token, error) {
	if t.Kind != TokenSession || !t.Idle(now) {
		return t, nil
	}
	// Another replica may have recorded a use since.
	t, err := d.lookUpID(ctx, t.ID, now)
	if err != nil {
		return t, err
	}
	if t.Idle(now) {
		return t, errcode.New(errcode.Unauthorized, "the session ended because it was not used for %d h; log in again", int(sessionIdle.Hours()))
	}
	d.tokens.put(t)
	return t, nil
}

// known returns the token of a bearer that is valid now.
func (d *Directory) known(ctx context.Context, bearer string) (Token, error) {
	switch {
	case bearer == "":
		return Token{}, errNoBearer
	case !strings.HasPrefix(bearer, bearertoken.Prefix):
		return Token{}, errUnknownToken
	}
	hash, now := bearertoken.Hash(bearer), d.now()
	t, found, loaded, goodAt := d.tokens.get(hash)
	switch {
	case !loaded:
		return Token{}, errLoading
	case now-goodAt > withoutDatabase.Microseconds():
		return Token{}, errBlind
	case !found && d.refused.has(hash):
		return Token{}, errInvalidToken
	case !found:
		var err error
		if t, err = d.lookUp(ctx, hash[:], now); err != nil {
			if errors.Is(err, errInvalidToken) {
				d.refused.add(hash)
			}
			return Token{}, err
		}
	}
	if t.Expired(now) {
		return Token{}, errInvalidToken
	}
	return t, d.stands(ctx, t, now)
}

// used records that a token was used.
func (d *Directory) used(t Token, now int64) {
	coarse := t.Kind == TokenAPI || t.OfLogin()
	if d.tokens.touch(t, now, coarseUse.Microseconds()) && (coarse || t.LastUsedAt == 0) {
		d.uses.add(t, now)
	}
}

// maxRefused bounds the bearers that are remembered as refused, with 32 bytes each.
const maxRefused = 4096

// refusedBearers are those that the database did not have, by their hashes: what was revoked
// never becomes valid, and is not asked about again. One that comes to be after all is found
// among the tokens, before these are looked at.
type refusedBearers struct {
	mu  sync.Mutex
	all map[[32]byte]struct{}
}

func (r *refusedBearers) has(hash [32]byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, refused := r.all[hash]
	return refused
}

// add remembers one, and forgets any other when there are too many.
func (r *refusedBearers) add(hash [32]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other := range r.all {
		if len(r.all) < maxRefused {
			break
		}
		delete(r.all, other)
	}
	if r.all == nil {
		r.all = map[[32]byte]struct{}{}
	}
	r.all[hash] = struct{}{}
}

// forget forgets all: the database may be another one.
func (r *refusedBearers) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = nil
}

// newLookUps makes the pools of look-ups in the database.
func newLookUps(pools *pool.Set, c clock.Clock) (unknown, absent *pool.Rates) {
	each := pool.Rate{Burst: 20, Every: time.Second / 20}
	unknown = pools.Rates(pool.RateSpec{
		Name: "strangers_tokens", Of: "tokens that this replica does not know", Clock: c, Caller: each,
		Project: pool.Rate{Burst: 40, Every: time.Second / 40}, All: pool.Rate{Burst: 200, Every: time.Second / 200},
	})
	return unknown, pools.Rates(pool.RateSpec{Name: "absent_tokens", Of: "uses of a token that this replica does not know", Clock: c, Caller: each})
}

// lookUp asks the database for a token that this replica may not have heard of yet.
func (d *Directory) lookUp(ctx context.Context, hash []byte, now int64) (Token, error) {
	if err := d.unknown.Take(pool.Source(ctx)); err != nil {
		return Token{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, missTimeout)
	defer cancel()
	t, err := d.stores.Index.TokenByHash(ctx, hash)
	if errcode.Is(err, errcode.NotFound) {
		return Token{}, errInvalidToken
	}
	if err != nil {
		return Token{}, d.unasked(err)
	}
	if t.Expired(now) {
		return Token{}, errInvalidToken
	}
	if _, known := d.access.person(t.OwnerID); !known && t.OwnerID != "" {
		if err := d.access.reload(ctx, []string{t.OwnerID}, nil); err != nil {
			return Token{}, d.unasked(err)
		}
	}
	d.tokens.put(t)
	// If it was revoked between the read and the put, the feed's row may have
	// come before the put, and nothing would remove it again.
	_, err = d.stores.Index.TokenByHash(ctx, hash)
	switch {
	case err == nil:
		return t, nil
	case errcode.Is(err, errcode.NotFound):
		err = errInvalidToken
	default:
		err = d.unasked(err)
	}
	d.tokens.remove(t.ID)
	return Token{}, err
}

// unasked is the error for a token that could not be looked up in the database.
// It may be valid and created by another replica just now, so the client should
// retry instead of logging in again or discarding it.
func (d *Directory) unasked(err error) error {
	d.log.Warn("an unknown token cannot be looked up", logkey.Error, err)
	return errUnasked
}

// principal returns the caller that a token stands for. A person's name, rights
// and groups are the current ones, whatever the token was read with.
func (d *Directory) principal(t Token) Principal {
	p := Principal{TokenID: t.ID, TokenExpiresAt: t.ExpiresAt, Scopes: t.Scopes, Session: t.Kind == TokenSession, Operator: t.EndsWith == OperatorTrust}
	switch t.Kind {
	case TokenDeploy:
		p.Kind, p.ID, p.Name = KindCluster, t.ClusterID, t.ClusterName
	case TokenBootstrap:
		p.Kind, p.ID, p.Name = KindBootstrap, t.ID, t.Name
	case TokenSetup, TokenReset:
		p.Kind, p.ID, p.Name = KindSetup, t.ID, string(t.Kind)
	default:
		p.Kind, p.ID, p.Name, p.Admin = t.OwnerKind, t.OwnerID, t.OwnerName, t.OwnerAdmin
		if known, ok := d.access.person(t.OwnerID); ok {
			p.Kind, p.Name, p.Admin, p.Groups = known.Kind, known.Name, known.Admin, known.names
		}
		if p.Administers() {
			p.Groups = slices.Sorted(slices.Values(append([]string{AdminsGroup}, p.Groups...)))
		}
	}
	return p
}

// Rebuild loads all tokens; see event.Subscriber.
func (d *Directory) Rebuild(ctx context.Context) error {
	var tokens []Token
	now := d.now()
	d.refused.forget()
	err := d.stores.Index.EachToken(ctx, now, func(t Token) error {
		tokens = append(tokens, t)
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.access.rebuild(ctx); err != nil {
		return err
	}
	d.tokens.replace(tokens, now)
	return nil
}

// Apply reads changed tokens, people and groups again; see event.Subscriber.
func (d *Directory) Apply(ctx context.Context, rows []event.Row) error {
	var ids, users, groups []string
	for _, row := range rows {
		switch row.Kind {
		case event.KindToken:
			ids = append(ids, row.Key)
		case event.KindUser:
			users = append(users, row.Key)
		case event.KindGroup:
			groups = append(groups, row.Key)
		}
	}
	if err := d.access.reload(ctx, users, groups); err != nil {
		return err
	}
	if len(ids) == 0 {
		return nil
	}
	tokens, err := d.stores.Index.TokensByID(ctx, ids)
	if err != nil {
		return err
	}
	gone := map[string]bool{}
	for _, id := range ids {
		gone[id] = true
	}
	now := d.now()
	for _, t := range tokens {
		delete(gone, t.ID)
		d.tokens.put(t)
	}
	for id := range gone {
		d.tokens.remove(id)
	}
	d.tokens.good(now)
	return nil
}
