package identity

import (
	"context"
	"fmt"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/errcode"
)

var errReset = errcode.New(errcode.Unauthorized, "this link to choose a password is not known, was used, or is older than an hour; make another on the hub's machine with: axle-hub admin reset EMAIL")

// PrepareReset creates a token with which a person chooses a new password, once
// and within the hour. It ends everything that they have: sessions, command lines,
// API and bootstrap tokens, and earlier reset tokens, because somebody else who
// knew the password may have created them. dropFactors removes second factors as
// well. It returns how many tokens ended. NotFound, Invalid for a service account.
func (d *Directory) PrepareReset(ctx context.Context, by Principal, email string, dropFactors bool) (made CreatedToken, ended int, err error) {
	user, err := d.UserByName(ctx, email)
	if err != nil {
		return CreatedToken{}, 0, err
	}
	if user.Kind != KindUser {
		return CreatedToken{}, 0, errcode.New(errcode.Invalid, "%s is a service account, which has no password", user.Name)
	}
	made = d.mint(Token{
		Kind: TokenReset, Name: "password of " + user.Name, OwnerID: user.ID, OwnerName: user.Name, OwnerKind: user.Kind, OwnerAdmin: user.Admin,
	}, resetLifetime)
	var gone []Token
	err = d.writer.Write(ctx, func(ctx context.Context) (err error) {
		if gone, err = d.endOf(ctx, by, user.ID, true); err != nil {
			return err
		}
		if dropFactors {
			if err := d.dropFactors(ctx, user.ID); err != nil {
				return err
			}
		}
		if err := insertToken(ctx, d.store, made.Token); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "user.reset_prepared", Object: "user " + user.Name, By: by.By(), Message: "a link to choose a new password"})
	})
	if err != nil {
		return CreatedToken{}, 0, fmt.Errorf("prepare a new password of %s: %w", user.Name, err)
	}
	d.tokens.remove(ids(gone)...)
	return made, len(gone), nil
}

// dropFactors removes a person's one-time codes and passkeys in the transaction
// of the context.
func (d *Directory) dropFactors(ctx context.Context, userID string) error {
	keys, err := d.store.Passkeys(ctx, userID)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if _, err := d.store.DeletePasskey(ctx, userID, k.ID); err != nil {
			return err
		}
	}
	p, err := d.store.Password(ctx, userID)
	if errcode.Is(err, errcode.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	p.SealedTOTP, p.TOTPStep = "", 0
	return d.store.PutPassword(ctx, p)
}

// CheckReset returns the user whose password a reset token may set. Unauthorized.
func (d *Directory) CheckReset(ctx context.Context, bearer string) (User, error) {
	_, user, err := d.resetToken(ctx, bearer)
	return user, err
}

func (d *Directory) resetToken(ctx context.Context, bearer string) (Token, User, error) {
	hash := bearertoken.Hash(bearer)
	t, err := d.store.TokenByHash(ctx, hash[:])
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return Token{}, User{}, err
	}
	if err != nil || t.Kind != TokenReset || t.expired(d.now()) {
		return Token{}, User{}, errReset
	}
	user, err := d.store.User(ctx, t.OwnerID)
	if errcode.Is(err, errcode.NotFound) {
		err = errReset
	}
	return t, user, err
}

// ResetPassword sets the password of a reset token's person, consumes the
// token, and ends sessions and tokens that were created with the old password
// meanwhile. Second factors stay. Unauthorized, Invalid.
func (d *Directory) ResetPassword(ctx context.Context, bearer, password string) (User, error) {
	user, err := d.CheckReset(ctx, bearer)
	if err != nil {
		return User{}, err
	}
	hash, err := d.passwords.Hash(ctx, user.Name, password)
	if err != nil {
		return User{}, err
	}
	var gone []Token
	err = d.writer.Write(ctx, func(ctx context.Context) (err error) {
		if _, user, err = d.resetToken(ctx, bearer); err != nil {
			return err
		}
		p, err := d.store.Password(ctx, user.ID)
		if err != nil && !errcode.Is(err, errcode.NotFound) {
			return err
		}
		p.UserID, p.Hash, p.ChangedAt = user.ID, hash, d.now()
		if err := d.store.PutPassword(ctx, p); err != nil {
			return err
		}
		// The used token is one of them.
		by := Principal{Kind: KindUser, ID: user.ID, Name: user.Name}
		if gone, err = d.endOf(ctx, by, user.ID, true); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "user.password_reset", Object: "user " + user.Name, By: user.Name})
	})
	if err != nil {
		return User{}, err
	}
	d.tokens.remove(ids(gone)...)
	return user, nil
}
