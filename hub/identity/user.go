package identity

import (
	"context"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/email"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
	"github.com/axle-cd/axle/internal/rule"
)

// maxUsers limits users and service accounts together: every replica holds them
// in memory.
const maxUsers = 100_000

// administrators is what transactions that remove an administrator rely on: of
// two that each would leave only the other, the later sees the earlier.
var administrators = event.Change{Kind: event.KindUser, Key: "administrators"}

// reserved reports whether Kubernetes or Axle reserves a name.
func reserved(name string) bool {
	return kubereq.Reserved(name) || strings.HasPrefix(email.Lower(name), "axle:")
}

// checkUserName returns the name as it is stored; a user's name is their e-mail
// address.
func checkUserName(kind Kind, name string) (string, error) {
	if kind == KindServiceAccount {
		if !rule.Account.Valid(name) {
			return "", errcode.New(errcode.Invalid, "name: %.80q is not a valid service account name; use %s", name, rule.Account.Words)
		}
		return name, nil
	}
	address, ok := email.Parse(name)
	if !ok || len(name) > MaxName || reserved(address) {
		return "", errcode.New(errcode.Invalid, "email: %.80q is not an e-mail address in ASCII; users are identified by one", name)
	}
	return address, nil
}

// users lists and changes users and service accounts.
type users struct {
	*changes
	store       UserStore
	reader      UserReader
	credentials *Credentials
	tokens      *tokenIndex
}

// User returns a user by id, or NotFound.
func (us *users) User(ctx context.Context, id string) (User, error) { return us.reader.User(ctx, id) }

// CreateUser adds a user, or a service account when kind says so. One that exists is
// Conflict, unless the caller takes it over. Invalid.
func (us *users) CreateUser(ctx context.Context, by string, kind Kind, name string, admin bool) (User, error) {
	var u User
	err := us.apply(ctx, func(ctx context.Context) (changed, error) {
		var err error
		u, err = us.insertUser(ctx, by, kind, name, admin)
		return changed{users: []string{u.ID}}, err
	})
	return u, err
}

// insertUser is CreateUser in the transaction of the context.
func (us *users) insertUser(ctx context.Context, by string, kind Kind, name string, admin bool) (User, error) {
	name, err := checkUserName(kind, name)
	if err != nil {
		return User{}, err
	}
	if u, found, err := us.takeOver(ctx, kind, name, admin); found || err != nil {
		return u, err
	}
	if err := us.alone(ctx, kind, name); err != nil {
		return User{}, err
	}
	n, err := us.store.CountUsers(ctx)
	if err != nil {
		return User{}, err
	}
	if n >= maxUsers {
		return User{}, errcode.New(errcode.Exhausted, "the hub has %d users and service accounts, which is its limit; delete some first", n)
	}
	u := User{ID: NewID("usr_"), Kind: kind, Name: name, Admin: admin, ManagedBy: managed.Created(ctx), CreatedAt: us.now()}
	if admin {
		u.AdminManagedBy = u.ManagedBy
	}
	if err := us.store.InsertUser(ctx, u); err != nil {
		return User{}, err
	}
	message := ""
	if admin {
		message = "administrator"
	}
	return u, event.Record(ctx, event.Entry{Kind: "user.created", Object: "user " + u.Name, By: by, Message: message})
}

// alone returns Conflict when somebody has an address that differs in the case of letters
// only: applications and clusters take both for one person.
func (us *users) alone(ctx context.Context, kind Kind, name string) error {
	if kind != KindUser {
		return nil
	}
	other, err := us.reader.UserByAddress(ctx, name)
	if errcode.Is(err, errcode.NotFound) || err == nil && other.Name == name {
		return nil // the latter is refused by its name
	}
	if err == nil {
		err = errcode.New(errcode.Conflict, "user %s exists, whose address differs from %s only in the case of letters; use that one", other.Name, name)
	}
	return err
}

// takeOver makes the caller the manager of a user that exists, if the caller takes
// over, and reports whether there is one.
func (us *users) takeOver(ctx context.Context, kind Kind, name string, admin bool) (User, bool, error) {
	if !managed.CallerOf(ctx).TakeOver {
		return User{}, false, nil
	}
	u, err := us.reader.UserByName(ctx, name)
	switch {
	case errcode.Is(err, errcode.NotFound):
		return u, false, nil
	case err != nil:
		return u, true, err
	case u.Kind != kind || admin && !u.Admin:
		return u, true, errcode.New(errcode.Conflict, "%s exists and is %s", name, map[bool]string{true: "no administrator", false: "a " + u.Kind.words()}[u.Kind == kind])
	}
	before := u.ManagedBy
	if u.ManagedBy, err = managed.Write(ctx, u.noun(), before, false); err != nil || u.ManagedBy == before {
		return u, true, err
	}
	return u, true, us.store.UpdateUser(ctx, u)
}

// noun is a user for errors, such as "service account ci".
func (u User) noun() string { return u.Kind.words() + " " + u.Name }

func (k Kind) words() string { return strings.ReplaceAll(string(k), "_", " ") }

// UserByName returns a user or service account. NotFound.
func (us *users) UserByName(ctx context.Context, name string) (User, error) {
	u, err := us.reader.UserByName(ctx, name)
	if errcode.Is(err, errcode.NotFound) {
		return u, errcode.New(errcode.NotFound, "user %.80q does not exist; axle users list shows the existing ones", name)
	}
	return u, err
}

// People returns all users and service accounts in order of name, or the one with a
// name, with the names of the groups.
func (us *users) People(ctx context.Context, name string) ([]Person, map[string]string, error) {
	var ids []string
	if name != "" {
		u, err := us.reader.UserByName(ctx, name)
		if errcode.Is(err, errcode.NotFound) {
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		ids = []string{u.ID}
	}
	people, err := us.access.store.People(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	groups, err := us.access.store.Groups(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	names := make(map[string]string, len(groups))
	for _, g := range groups {
		names[g.ID] = g.Name
	}
	return people, names, nil
}

// SetAdmin makes a user an administrator, or revokes that. Conflict for the last one.
func (us *users) SetAdmin(ctx context.Context, by, name string, admin bool) (User, error) {
	var u User
	err := us.apply(ctx, func(ctx context.Context) (changed, error) {
		var err error
		if u, err = us.UserByName(ctx, name); err != nil {
			return changed{}, err
		}
		before := u
		if u.AdminManagedBy, err = managed.Part(ctx, "administrator "+u.Name, before.AdminManagedBy, before.Admin, admin, before.Admin != admin); err != nil || u == before && u.Admin == admin {
			return changed{}, err
		}
		if before.Admin == admin {
			return changed{}, us.store.UpdateUser(ctx, u)
		}
		if !admin {
			if err := us.keepAnAdmin(ctx, u); err != nil {
				return changed{}, err
			}
		}
		u.Admin = admin
		if err := us.store.UpdateUser(ctx, u); err != nil {
			return changed{}, err
		}
		verb := "user.promoted"
		if !admin {
			verb = "user.demoted"
		}
		return changed{users: []string{u.ID}}, event.Record(ctx, event.Entry{Kind: verb, Object: "user " + u.Name, By: by})
	})
	return u, err
}

// keepAnAdmin refuses to remove the last administrator.
func (us *users) keepAnAdmin(ctx context.Context, u User) error {
	if !u.Admin || u.Kind != KindUser {
		return nil
	}
	n, err := us.store.CountAdmins(ctx)
	if err != nil {
		return err
	}
	if n < 2 {
		return errcode.New(errcode.Conflict, "%s is the last administrator; make another one first: axle users admin EMAIL", u.Name)
	}
	if err := event.Append(ctx, administrators); err != nil {
		return err
	}
	return event.DependsOn(ctx, administrators)
}

// DeleteUser removes a user or service account with their bindings and
// memberships, and revokes their tokens. Conflict for the last administrator.
func (us *users) DeleteUser(ctx context.Context, by, name string) error {
	var ended []Token
	err := us.apply(ctx, func(ctx context.Context) (changed, error) {
		u, err := us.UserByName(ctx, name)
		if err != nil {
			return changed{}, err
		}
		if _, err := managed.Write(ctx, u.noun(), u.ManagedBy, true); err != nil {
			return changed{}, err
		}
		if err := us.keepAnAdmin(ctx, u); err != nil {
			return changed{}, err
		}
		if ended, err = us.credentials.owned(ctx, u.ID); err != nil {
			return changed{}, err
		}
		if err := us.credentials.Delete(ctx, ended...); err != nil {
			return changed{}, err
		}
		if err := us.store.DeleteUser(ctx, u.ID); err != nil {
			return changed{}, err
		}
		return changed{users: []string{u.ID}}, event.Record(ctx, event.Entry{Kind: "user.deleted", Object: "user " + u.Name, By: by})
	})
	if err != nil {
		return err
	}
	us.credentials.Forget(ended...)
	return nil
}
