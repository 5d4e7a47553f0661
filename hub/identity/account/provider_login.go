package account

import (
	"context"
	"slices"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// LoginBy returns the user that a provider's claims are about, and creates the
// user at their first login, see Provider.nameOf. From then on the provider's subject identifies the
// user: an e-mail address that is later given to somebody else opens nothing.
// Memberships that this provider gave become what the claims map to now.
// Forbidden says why the login is refused.
func (ps *providers) LoginBy(ctx context.Context, p Provider, c Claims) (identity.User, error) {
	address, err := p.emailOf(c)
	if err != nil {
		return identity.User{}, err
	}
	var user identity.User
	err = ps.writer.Write(ctx, func(ctx context.Context) (err error) {
		if user, err = ps.userOf(ctx, p, c, address); err != nil {
			return err
		}
		err = ps.stores.Subjects.PutSubject(ctx, Subject{ProviderID: p.ID, Subject: c.Subject, UserID: user.ID, Email: address, LastLoginAt: ps.now()})
		if err != nil {
			return err
		}
		return ps.setGroups(ctx, user, p, c.Groups)
	})
	if err != nil {
		return identity.User{}, err
	}
	return user, ps.directory.Reload(ctx, user.ID)
}

// subjectUser is whom a subject is: without an id, somebody new.
type subjectUser struct {
	user identity.User
	// links is set when this user exists and has no account at a provider yet.
	links bool
}

// find returns whom a subject is, and changes nothing. Forbidden when the address is
// another's.
func (ps *providers) find(ctx context.Context, p Provider, c Claims, address string) (f subjectUser, err error) {
	known, err := ps.stores.Subjects.Subject(ctx, p.ID, c.Subject)
	if err == nil {
		f.user, err = ps.stores.Users.User(ctx, known.UserID)
		if err == nil || !errcode.Is(err, errcode.NotFound) {
			return f, err
		}
		// The user was deleted since; they start again, with no rights.
	} else if !errcode.Is(err, errcode.NotFound) {
		return f, err
	}
	name, err := p.nameOf(c, address)
	if err != nil {
		return f, err
	}
	f.user, err = ps.stores.Users.UserByName(ctx, name)
	if errcode.Is(err, errcode.NotFound) {
		return subjectUser{user: identity.User{Kind: identity.KindUser, Name: name}}, nil
	}
	if err == nil {
		f.links, err = true, ps.mayLink(ctx, p, f.user)
	}
	return f, err
}

// userOf finds or creates the user of a subject.
func (ps *providers) userOf(ctx context.Context, p Provider, c Claims, address string) (identity.User, error) {
	found, err := ps.find(ctx, p, c, address)
	user := found.user
	switch {
	case err != nil:
		return identity.User{}, err
	case user.ID == "":
		user.ID, user.CreatedAt = identity.NewID("usr_"), ps.now()
		if err := ps.stores.Users.InsertUser(ctx, user); err != nil {
			return identity.User{}, err
		}
		if err := event.Append(ctx, event.Change{Kind: event.KindUser, Key: user.ID}); err != nil {
			return identity.User{}, err
		}
		return user, event.Record(ctx, event.Entry{Kind: "user.created", Object: "user " + user.Name, By: user.Name, Message: "first login through " + p.Name})
	case found.links:
		return user, event.Record(ctx, event.Entry{Kind: "user.linked", Object: "user " + user.Name, By: user.Name, Message: "to an account at " + p.Name})
	}
	return user, nil
}

// mayLink refuses to link an existing account to another person who now has its
// e-mail address.
func (ps *providers) mayLink(ctx context.Context, p Provider, user identity.User) error {
	if user.Kind != identity.KindUser {
		return errcode.New(errcode.Forbidden, "%s is not the account of a person", user.Name)
	}
	if p.AllowUnverified {
		return errcode.New(errcode.Forbidden, "the account %s exists already, and %s does not verify addresses", user.Name, p.Title)
	}
	local, err := ps.passwords.HasPassword(ctx, user.ID)
	if err != nil {
		return err
	}
	if local {
		return errcode.New(errcode.Forbidden, "%s is a local account of this hub; log in with its password", user.Name)
	}
	linked, err := ps.stores.Subjects.SubjectsOf(ctx, user.ID)
	if err != nil {
		return err
	}
	if len(linked) > 0 {
		return errcode.New(errcode.Forbidden, "%s belongs to another account at a provider already; an administrator can remove that link", user.Name)
	}
	return nil
}

// setGroups sets the memberships that this provider gives to what the claims
// map to. Memberships that were added by hand or by another provider stay.
func (ps *providers) setGroups(ctx context.Context, user identity.User, p Provider, claimed []string) error {
	present, err := ps.stores.Members.MembershipsOf(ctx, user.ID, p.Name)
	if err != nil {
		return err
	}
	wanted, err := ps.mapped(ctx, p, claimed)
	if err != nil {
		return err
	}
	changed := false
	for _, m := range present {
		if !slices.Contains(wanted, m.GroupID) {
			gone, err := ps.stores.Members.DeleteMember(ctx, m)
			if err != nil {
				return err
			}
			changed = changed || gone
		}
	}
	for _, group := range wanted {
		added, err := ps.stores.Members.PutMember(ctx, identity.Member{GroupID: group, UserID: user.ID, Source: p.Name})
		if err != nil {
			return err
		}
		changed = changed || added
	}
	if !changed {
		return nil
	}
	return event.Append(ctx, event.Change{Kind: event.KindUser, Key: user.ID})
}

// mapped returns the ids of the hub's groups that the claimed values map to.
func (ps *providers) mapped(ctx context.Context, p Provider, claimed []string) ([]string, error) {
	var all []string
	for _, value := range claimed {
		name, ok := p.Groups[value]
		if !ok {
			continue
		}
		group, err := ps.stores.Members.GroupByName(ctx, name)
		if errcode.Is(err, errcode.NotFound) {
			ps.log.Warn("a login provider maps to a group that is gone", "provider", p.Name, "group", name)
			continue
		}
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, group.ID) {
			all = append(all, group.ID)
		}
	}
	return all, nil
}

// Unlink removes the links between a user and accounts at providers, so that
// the next account with the user's address is linked. NotFound.
func (ps *providers) Unlink(ctx context.Context, by identity.Principal, name string) error {
	return ps.writer.Write(ctx, func(ctx context.Context) error {
		user, err := ps.stores.Users.UserByName(ctx, name)
		if err != nil {
			return err
		}
		if err := ps.stores.Subjects.DeleteSubjects(ctx, user.ID); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "user.unlinked", Object: "user " + user.Name, By: by.By()})
	})
}
