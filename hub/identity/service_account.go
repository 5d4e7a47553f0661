package identity

import (
	"context"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

// ServiceAccount is the identity of a program, with a summary of its tokens.
type ServiceAccount struct {
	User
	// Tokens is the number of valid tokens; LastUsedAt is the last use of any,
	// accurate to a few minutes.
	Tokens     int
	LastUsedAt int64
}

// ServiceAccounts returns all in order of name.
func (d *Directory) ServiceAccounts(ctx context.Context) ([]ServiceAccount, error) {
	people, err := d.store.People(ctx, nil)
	if err != nil {
		return nil, err
	}
	uses := d.tokens.byOwner(d.now())
	var accounts []ServiceAccount
	for _, p := range people {
		if p.Kind == KindServiceAccount {
			u := uses[p.ID]
			accounts = append(accounts, ServiceAccount{User: p.User, Tokens: u.tokens, LastUsedAt: u.lastUsedAt})
		}
	}
	return accounts, nil
}

// CreateServiceAccount adds a service account. Invalid, Conflict; Forbidden for
// an administrator's account when the caller's token is not an administrator's.
func (d *Directory) CreateServiceAccount(ctx context.Context, by Principal, name string, admin bool) (ServiceAccount, error) {
	if admin && !(by.Admin && by.HasScope(ScopeAdmin)) {
		return ServiceAccount{}, errcode.New(errcode.Forbidden, "only an administrator may create an administrator")
	}
	u, err := d.CreateUser(ctx, by.By(), KindServiceAccount, name, admin)
	return ServiceAccount{User: u}, err
}

// serviceAccount returns one by name. NotFound, also for a person.
func (d *Directory) serviceAccount(ctx context.Context, name string) (User, error) {
	u, err := d.store.UserByName(ctx, name)
	if errcode.Is(err, errcode.NotFound) || err == nil && u.Kind != KindServiceAccount {
		return User{}, errcode.New(errcode.NotFound, "service account %.80q does not exist; axle serviceaccounts list shows the existing ones", name)
	}
	return u, err
}

// DeleteServiceAccount removes a service account, its tokens, and the trusts
// that refer to it. NotFound.
func (d *Directory) DeleteServiceAccount(ctx context.Context, by Principal, name string) error {
	u, err := d.serviceAccount(ctx, name)
	if err != nil {
		return err
	}
	if err := d.DeleteUser(ctx, by.By(), u.Name); err != nil {
		return err
	}
	// The trusts already give no access: an exchange looks up the account.
	return d.writer.Write(ctx, func(ctx context.Context) error {
		all, err := d.store.Trusts(ctx, "")
		if err != nil {
			return err
		}
		for _, t := range all {
			if t.AccountID != u.ID {
				continue
			}
			if err := d.store.DeleteTrust(ctx, t.ID); err != nil {
				return err
			}
			if err := event.Record(ctx, event.Entry{Kind: "trust.deleted", Object: "trust " + t.Name, By: by.By(), Message: "its service account was deleted"}); err != nil {
				return err
			}
		}
		return nil
	})
}

// CreateServiceAccountToken creates an API token for a service account, as
// CreateTokenFor. NotFound.
func (d *Directory) CreateServiceAccountToken(ctx context.Context, by Principal, account string, r TokenRequest) (CreatedToken, error) {
	u, err := d.serviceAccount(ctx, account)
	if err != nil {
		return CreatedToken{}, err
	}
	if len(r.Scopes) == 0 {
		r.Scopes = []string{ScopeRead}
	}
	return d.CreateTokenFor(ctx, by, u, r)
}

type tokenUse struct {
	tokens     int
	lastUsedAt int64
}

// byOwner counts valid tokens by owner.
func (x *tokenIndex) byOwner(now int64) map[string]tokenUse {
	x.mu.RLock()
	defer x.mu.RUnlock()
	uses := map[string]tokenUse{}
	for _, t := range x.byHash {
		if t.OwnerID == "" || t.Kind == TokenBootstrap || !x.holds(t, now) {
			continue
		}
		u := uses[t.OwnerID]
		u.tokens++
		u.lastUsedAt = max(u.lastUsedAt, t.LastUsedAt)
		uses[t.OwnerID] = u
	}
	return uses
}
