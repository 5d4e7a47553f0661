package identity

import (
	"context"

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
func (us *users) ServiceAccounts(ctx context.Context) ([]ServiceAccount, error) {
	people, err := us.access.store.People(ctx, nil)
	if err != nil {
		return nil, err
	}
	uses := us.tokens.byOwner(us.now())
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
func (us *users) CreateServiceAccount(ctx context.Context, by Principal, name string, admin bool) (ServiceAccount, error) {
	if admin && !by.Administers() {
		return ServiceAccount{}, errcode.New(errcode.Forbidden, "only an administrator may create an administrator")
	}
	u, err := us.CreateUser(ctx, by.By(), KindServiceAccount, name, admin)
	return ServiceAccount{User: u}, err
}

// ServiceAccount returns one by name. NotFound, also for a person.
func (us *users) ServiceAccount(ctx context.Context, name string) (User, error) {
	u, err := us.reader.UserByName(ctx, name)
	if errcode.Is(err, errcode.NotFound) || err == nil && u.Kind != KindServiceAccount {
		return User{}, errcode.New(errcode.NotFound, "service account %.80q does not exist; axle serviceaccounts list shows the existing ones", name)
	}
	return u, err
}
