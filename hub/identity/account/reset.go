package account

import (
	"context"
	"fmt"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/errcode"
)

// resetLifetime is how long a person has to choose a new password: the
// request comes from the hub's machine.
const resetLifetime = time.Hour

var errReset = errcode.New(errcode.Unauthorized, "this link to choose a password is not known, was used, or is older than an hour; make another on the hub's machine with: axle-hub admin reset EMAIL")

// PrepareReset creates a token with which a person chooses a new password, once
// and within the hour. It ends everything that they have: sessions, command lines,
// API and bootstrap tokens, and earlier reset tokens, because somebody else who
// knew the password may have created them. dropFactors removes second factors as
// well. It returns how many tokens ended. NotFound, Invalid for a service account.
func (ps *passwords) PrepareReset(ctx context.Context, by identity.Principal, email string, dropFactors bool) (made identity.CreatedToken, ended int, err error) {
	user, err := ps.directory.UserByName(ctx, email)
	if err != nil {
		return identity.CreatedToken{}, 0, err
	}
	if user.Kind != identity.KindUser {
		return identity.CreatedToken{}, 0, errcode.New(errcode.Invalid, "%s is a service account, which has no password", user.Name)
	}
	made = ps.credentials.Mint(identity.Token{
		Kind: identity.TokenReset, Name: "password of " + user.Name, OwnerID: user.ID, OwnerName: user.Name, OwnerKind: user.Kind, OwnerAdmin: user.Admin,
	}, resetLifetime)
	var gone []identity.Token
	err = ps.writer.Write(ctx, func(ctx context.Context) (err error) {
		if gone, err = ps.credentials.EndOwned(ctx, by, user.ID, true); err != nil {
			return err
		}
		if dropFactors {
			if err := ps.dropFactors(ctx, user.ID); err != nil {
				return err
			}
		}
		if err := ps.credentials.Insert(ctx, made.Token); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "user.reset_prepared", Object: "user " + user.Name, By: by.By(), Message: "a link to choose a new password"})
	})
	if err != nil {
		return identity.CreatedToken{}, 0, fmt.Errorf("prepare a new password of %s: %w", user.Name, err)
	}
	ps.credentials.Forget(gone...)
	return made, len(gone), nil
}

// dropFactors removes a person's one-time codes and passkeys in the transaction
// of the context.
func (ps *passwords) dropFactors(ctx context.Context, userID string) error {
	keys, err := ps.stores.Passkeys.Passkeys(ctx, userID)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if _, err := ps.stores.Passkeys.DeletePasskey(ctx, userID, k.ID); err != nil {
			return err
		}
	}
	p, err := ps.stores.Passwords.Password(ctx, userID)
	if errcode.Is(err, errcode.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	p.SealedTOTP, p.TOTPStep = "", 0
	return ps.stores.Passwords.PutPassword(ctx, p)
}

// CheckReset returns the user whose password a reset token may set. Unauthorized.
func (ps *passwords) CheckReset(ctx context.Context, bearer string) (identity.User, error) {
	_, user, err := ps.resetToken(ctx, bearer)
	return user, err
}

func (ps *passwords) resetToken(ctx context.Context, bearer string) (identity.Token, identity.User, error) {
	hash := bearertoken.Hash(bearer)
	t, err := ps.stores.Tokens.TokenByHash(ctx, hash[:])
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return identity.Token{}, identity.User{}, err
	}
	if err != nil || t.Kind != identity.TokenReset || t.Expired(ps.now()) {
		return identity.Token{}, identity.User{}, errReset
	}
	user, err := ps.stores.Users.User(ctx, t.OwnerID)
	if errcode.Is(err, errcode.NotFound) {
		err = errReset
	}
	return t, user, err
}

// ResetPassword sets the password of a reset token's person, consumes the
// token, and ends sessions and tokens that were created with the old password
// meanwhile. Second factors stay. Unauthorized, Invalid.
func (ps *passwords) ResetPassword(ctx context.Context, bearer, password string) (identity.User, error) {
	user, err := ps.CheckReset(ctx, bearer)
	if err != nil {
		return identity.User{}, err
	}
	hash, err := ps.hasher.Hash(ctx, user.Name, password)
	if err != nil {
		return identity.User{}, err
	}
	var gone []identity.Token
	err = ps.writer.Write(ctx, func(ctx context.Context) (err error) {
		if _, user, err = ps.resetToken(ctx, bearer); err != nil {
			return err
		}
		p, err := ps.stores.Passwords.Password(ctx, user.ID)
		if err != nil && !errcode.Is(err, errcode.NotFound) {
			return err
		}
		p.UserID, p.Hash, p.ChangedAt = user.ID, hash, ps.now()
		if err := ps.stores.Passwords.PutPassword(ctx, p); err != nil {
			return err
		}
		// The used token is one of them.
		by := identity.Principal{Kind: identity.KindUser, ID: user.ID, Name: user.Name}
		if gone, err = ps.credentials.EndOwned(ctx, by, user.ID, true); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "user.password_reset", Object: "user " + user.Name, By: user.Name})
	})
	if err != nil {
		return identity.User{}, err
	}
	ps.credentials.Forget(gone...)
	return user, nil
}
