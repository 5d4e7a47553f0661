package identity

import (
	"context"
	"net/mail"
	"regexp"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// maxUsers limits users and service accounts together: every replica holds them
// in memory.
const maxUsers = 100_000

// administrators is what transactions that remove an administrator rely on: of
// two that each would leave only the other, the later sees the earlier.
var administrators = event.Change{Kind: event.KindUser, Key: "administrators"}

var accountName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$`)

// reserved reports whether Kubernetes or Axle reserves a name.
func reserved(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "system:") || strings.HasPrefix(name, "axle:")
}

// checkUserName returns the name as it is stored; a user's name is their e-mail
// address.
func checkUserName(kind Kind, name string) (string, error) {
	if kind == KindServiceAccount {
		if !accountName.MatchString(name) {
			return "", errcode.New(errcode.Invalid, "name: %.80q is not a valid service account name; use up to 63 small letters, digits, dashes and dots", name)
		}
		return name, nil
	}
	address, err := mail.ParseAddress(name)
	if err != nil || len(name) > maxName || reserved(address.Address) || strings.ContainsAny(address.Address, "\"\\ \t\r\n") {
		return "", errcode.New(errcode.Invalid, "email: %.80q is not an e-mail address; users are identified by one", name)
	}
	return address.Address, nil
}

// CreateUser adds a user, or a service account when kind says so. Invalid, Conflict.
func (d *Directory) CreateUser(ctx context.Context, by string, kind Kind, name string, admin bool) (User, error) {
	var u User
	err := d.changeAccess(ctx, func(ctx context.Context) (changed, error) {
		var err error
		u, err = d.insertUser(ctx, by, kind, name, admin)
		return changed{users: []string{u.ID}}, err
	})
	return u, err
}

// insertUser is CreateUser in the transaction of the context.
func (d *Directory) insertUser(ctx context.Context, by string, kind Kind, name string, admin bool) (User, error) {
	name, err := checkUserName(kind, name)
	if err != nil {
		return User{}, err
	}
	n, err := d.store.CountUsers(ctx)
	if err != nil {
		return User{}, err
	}
	if n >= maxUsers {
		return User{}, errcode.New(errcode.Exhausted, "the hub has %d users and service accounts, which is its limit; delete some first", n)
	}
	u := User{ID: newID("usr_"), Kind: kind, Name: name, Admin: admin, CreatedAt: d.now()}
	if err := d.store.InsertUser(ctx, u); err != nil {
		return User{}, err
	}
	message := ""
	if admin {
		message = "administrator"
	}
	return u, event.Record(ctx, event.Entry{Kind: "user.created", Object: "user " + u.Name, By: by, Message: message})
}

// UserByName returns a user or service account. NotFound.
func (d *Directory) UserByName(ctx context.Context, name string) (User, error) {
	u, err := d.store.UserByName(ctx, name)
	if errcode.Is(err, errcode.NotFound) {
		return u, errcode.New(errcode.NotFound, "user %.80q does not exist; axle users list shows the existing ones", name)
	}
	return u, err
}

// People returns all users and service accounts in order of name, with the
// names of their groups.
func (d *Directory) People(ctx context.Context) ([]Person, map[string]string, error) {
	people, err := d.store.People(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	groups, err := d.store.Groups(ctx, nil)
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
func (d *Directory) SetAdmin(ctx context.Context, by, name string, admin bool) (User, error) {
	var u User
	err := d.changeAccess(ctx, func(ctx context.Context) (changed, error) {
		var err error
		if u, err = d.UserByName(ctx, name); err != nil || u.Admin == admin {
			return changed{}, err
		}
		if !admin {
			if err := d.keepAnAdmin(ctx, u); err != nil {
				return changed{}, err
			}
		}
		u.Admin = admin
		if err := d.store.UpdateUser(ctx, u); err != nil {
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
func (d *Directory) keepAnAdmin(ctx context.Context, u User) error {
	if !u.Admin || u.Kind != KindUser {
		return nil
	}
	n, err := d.store.CountAdmins(ctx)
	if err != nil {
		return err
	}
	if n < 2 {
		return errcode.New(errcode.Conflict, "%s is the last administrator; make another one first: axle users admin EMAIL", u.Name)
	}
	if err := event.Append(ctx, administrators); err != nil {
		return err
	}
	return event.Rely(ctx, administrators)
}

// DeleteUser removes a user or service account with their bindings and
// memberships, and revokes their tokens. Conflict for the last administrator.
func (d *Directory) DeleteUser(ctx context.Context, by, name string) error {
	var ended []string
	err := d.changeAccess(ctx, func(ctx context.Context) (changed, error) {
		u, err := d.UserByName(ctx, name)
		if err != nil {
			return changed{}, err
		}
		if err := d.keepAnAdmin(ctx, u); err != nil {
			return changed{}, err
		}
		if ended, err = d.endOwned(ctx, u.ID); err != nil {
			return changed{}, err
		}
		if err := d.store.DeleteUser(ctx, u.ID); err != nil {
			return changed{}, err
		}
		return changed{users: []string{u.ID}}, event.Record(ctx, event.Entry{Kind: "user.deleted", Object: "user " + u.Name, By: by})
	})
	if err != nil {
		return err
	}
	d.tokens.remove(ended...)
	return nil
}

// endOwned deletes every token of a user in the transaction of the context.
func (d *Directory) endOwned(ctx context.Context, ownerID string) ([]string, error) {
	if err := event.Rely(ctx, tokensOf(ownerID)); err != nil {
		return nil, err
	}
	tokens, err := d.store.OwnedTokens(ctx, ownerID)
	if err != nil {
		return nil, err
	}
	ended := make([]string, len(tokens))
	for i, t := range tokens {
		ended[i] = t.ID
	}
	if err := appendTokens(ctx, tokens...); err != nil {
		return nil, err
	}
	return ended, d.store.DeleteTokens(ctx, ended)
}

// changed holds the ids of the people and groups that a transaction changed.
type changed struct{ users, groups []string }

// changeAccess runs a change of users, groups or bindings, appends it to the
// feed, and updates this replica's memory, so that the change takes effect for
// the caller at once.
func (d *Directory) changeAccess(ctx context.Context, change func(ctx context.Context) (changed, error)) error {
	var what changed
	err := d.writer.Write(ctx, func(ctx context.Context) (err error) {
		if what, err = change(ctx); err != nil {
			return err
		}
		for _, id := range what.users {
			if err := event.Append(ctx, event.Change{Kind: event.KindUser, Key: id}); err != nil {
				return err
			}
		}
		for _, id := range what.groups {
			if err := event.Append(ctx, event.Change{Kind: event.KindGroup, Key: id}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.reloadAccess(ctx, what.users, what.groups); err != nil {
		// The feed brings the change in a moment.
		d.log.Warn("a change of access takes effect on this replica only when the feed delivers it", logkey.Error, err)
	}
	return nil
}
