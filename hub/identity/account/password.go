package account

import (
	"context"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/passhash"
)

// errWrong is returned for every bad login, so that the answer does not reveal
// which accounts exist.
var errWrong = errcode.New(errcode.Unauthorized, "the e-mail or the password is wrong")

// passwords are local passwords and second factors.
type passwords struct{ *common }

// SecondFactor says what a user needs beside the password.
type SecondFactor struct {
	TOTP     bool
	Passkeys int
}

// Needed reports whether there is one.
func (f SecondFactor) Needed() bool { return f.TOTP || f.Passkeys > 0 }

// CheckPassword returns the user of an e-mail and a password, and the second
// factors that are required. A missing account takes as much time as an
// existing one. Unauthorized; Exhausted when too many log in at once.
func (ps *passwords) CheckPassword(ctx context.Context, email, password string) (identity.User, SecondFactor, error) {
	if len(password) > passhash.Max || len(email) > identity.MaxName {
		return identity.User{}, SecondFactor{}, errWrong
	}
	user, stored, err := ps.localUser(ctx, strings.TrimSpace(email))
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return identity.User{}, SecondFactor{}, err
	}
	hash := stored.Hash
	if err != nil {
		hash = passhash.Nobody
	}
	good, gate := ps.hasher.Compare(ctx, hash, password)
	if gate != nil {
		return identity.User{}, SecondFactor{}, gate
	}
	if err != nil || !good {
		return identity.User{}, SecondFactor{}, errWrong
	}
	factor, err := ps.SecondFactor(ctx, user.ID)
	return user, factor, err
}

func (ps *passwords) localUser(ctx context.Context, name string) (identity.User, StoredPassword, error) {
	user, err := ps.stores.Users.UserByName(ctx, name)
	if err != nil {
		return identity.User{}, StoredPassword{}, err
	}
	stored, err := ps.stores.Passwords.Password(ctx, user.ID)
	return user, stored, err
}

// HasPassword reports whether a user may log in with a local password.
func (ps *passwords) HasPassword(ctx context.Context, userID string) (bool, error) {
	_, err := ps.stores.Passwords.Password(ctx, userID)
	if errcode.Is(err, errcode.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// ChangePassword sets the caller's own password. The caller must give the
// current one. It ends all their sessions, including this one, because somebody
// else may hold a copy of its cookie. It also revokes their tokens when tokens
// is set. Invalid, Unauthorized.
func (ps *passwords) ChangePassword(ctx context.Context, by identity.Principal, present, wanted string, tokens bool) error {
	stored, err := ps.stores.Passwords.Password(ctx, by.ID)
	if errcode.Is(err, errcode.NotFound) {
		return errcode.New(errcode.Invalid, "you log in through a provider; there is no password to change here")
	}
	if err != nil {
		return err
	}
	good, err := ps.hasher.Compare(ctx, stored.Hash, cut(present, passhash.Max+1))
	if err != nil {
		return err
	}
	if !good {
		return errcode.New(errcode.Unauthorized, "the current password is wrong")
	}
	hash, err := ps.hasher.Hash(ctx, by.Name, wanted)
	if err != nil {
		return err
	}
	var ended []identity.Token
	err = ps.writer.Write(ctx, func(ctx context.Context) error {
		latest, err := ps.stores.Passwords.Password(ctx, by.ID)
		if err != nil {
			return err
		}
		latest.Hash, latest.ChangedAt = hash, ps.now()
		if err := ps.stores.Passwords.PutPassword(ctx, latest); err != nil {
			return err
		}
		if ended, err = ps.credentials.EndOwned(ctx, by, by.ID, tokens); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "user.password_changed", Object: "user " + by.Name, By: by.By()})
	})
	if err != nil {
		return err
	}
	ps.credentials.Forget(ended...)
	return nil
}
