package identity

import (
	"context"
	"fmt"
	"net/mail"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/errcode"
)

// PrepareSetup returns the setup token that the hub should store in its data
// folder: the present one while it is valid, otherwise a new one, and "" once
// there is a user.
func (d *Directory) PrepareSetup(ctx context.Context, present string) (string, error) {
	users, err := d.store.CountUsers(ctx)
	if err != nil {
		return "", fmt.Errorf("count users: %w", err)
	}
	if users > 0 {
		return "", nil
	}
	if present != "" {
		hash := bearertoken.Hash(present)
		t, err := d.store.TokenByHash(ctx, hash[:])
		if err == nil && t.Kind == TokenSetup && !t.expired(d.now()) {
			return present, nil
		}
		if err != nil && !errcode.Is(err, errcode.NotFound) {
			return "", err
		}
	}
	made, err := d.create(ctx, Principal{}, Token{Kind: TokenSetup, Name: "setup"}, lifetime{standard: setupLifetime}, event.Entry{
		Kind: "hub.setup_prepared", Object: "hub", By: "hub", Message: "a setup token was written beside the hub's data",
	})
	return made.Secret, err
}

// Setup creates the first administrator and their API token. The bearer is a
// setup token and works once. Unauthorized when it is not known, Conflict when
// there is a user already, Invalid when the e-mail is not an address.
func (d *Directory) Setup(ctx context.Context, bearer, email string) (CreatedToken, error) {
	user, err := d.firstUser(email)
	if err != nil {
		return CreatedToken{}, err
	}
	made := d.mint(Token{
		Kind: TokenAPI, Name: "setup", Scopes: allScopes,
		OwnerID: user.ID, OwnerName: user.Name, OwnerKind: user.Kind, OwnerAdmin: true,
	}, apiLifetime)
	err = d.setUp(ctx, bearer, user, func(ctx context.Context) error {
		return insertToken(ctx, d.store, made.Token)
	})
	if err != nil {
		return CreatedToken{}, err
	}
	d.tokens.put(made.Token)
	return made, nil
}

// SetupLocal creates the first administrator with a local password, which works
// even when every provider is down. Errors as for Setup.
func (d *Directory) SetupLocal(ctx context.Context, bearer, email, password string) (User, error) {
	if err := d.CheckSetup(ctx, bearer); err != nil {
		return User{}, err
	}
	user, err := d.firstUser(email)
	if err != nil {
		return User{}, err
	}
	hash, err := d.passwords.Hash(ctx, user.Name, password)
	if err != nil {
		return User{}, err
	}
	return user, d.setUp(ctx, bearer, user, func(ctx context.Context) error {
		return d.store.PutPassword(ctx, StoredPassword{UserID: user.ID, Hash: hash, ChangedAt: user.CreatedAt})
	})
}

// CheckSetup returns nil when a setup token is valid now.
func (d *Directory) CheckSetup(ctx context.Context, bearer string) error {
	_, err := d.setupToken(ctx, bearer)
	return err
}

func (d *Directory) firstUser(email string) (User, error) {
	address, err := mail.ParseAddress(email)
	if err != nil || len(email) > maxName {
		return User{}, errcode.New(errcode.Invalid, "%.80q is not an e-mail address; give the address of the first administrator", email)
	}
	return User{ID: newID("usr_"), Kind: KindUser, Name: address.Address, Admin: true, CreatedAt: d.now()}, nil
}

// setUp consumes a setup token and creates the first user; also adds more in
// the same transaction.
func (d *Directory) setUp(ctx context.Context, bearer string, user User, also func(ctx context.Context) error) error {
	var used Token
	err := d.writer.Write(ctx, func(ctx context.Context) (err error) {
		if used, err = d.setupToken(ctx, bearer); err != nil {
			return err
		}
		if err := d.store.InsertUser(ctx, user); err != nil {
			return err
		}
		if err := d.store.DeleteTokens(ctx, []string{used.ID}); err != nil {
			return err
		}
		if err := appendTokens(ctx, used); err != nil {
			return err
		}
		if err := event.Append(ctx, event.Change{Kind: event.KindUser, Key: user.ID}); err != nil {
			return err
		}
		if err := also(ctx); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "user.created", Object: "user " + user.Name, By: "setup", Message: "first administrator"})
	})
	if err != nil {
		return err
	}
	d.tokens.remove(used.ID)
	return d.reloadAccess(ctx, []string{user.ID}, nil)
}

// setupToken returns the setup token of a bearer.
func (d *Directory) setupToken(ctx context.Context, bearer string) (Token, error) {
	users, err := d.store.CountUsers(ctx)
	if err != nil {
		return Token{}, err
	}
	hash := bearertoken.Hash(bearer)
	t, err := d.store.TokenByHash(ctx, hash[:])
	switch {
	case err != nil && !errcode.Is(err, errcode.NotFound):
		return Token{}, err
	case err == nil && t.Kind == TokenSetup && !t.expired(d.now()) && users == 0:
		return t, nil
	case users > 0:
		return Token{}, errcode.New(errcode.Unauthorized, "this hub is set up already; ask an administrator for a token")
	}
	return Token{}, errcode.New(errcode.Unauthorized, "the setup token is not the one that the hub wrote into its data folder")
}

// Fresh reports whether the hub has not been set up yet.
func (d *Directory) Fresh(ctx context.Context) (bool, error) {
	users, err := d.store.CountUsers(ctx)
	return users == 0, err
}
