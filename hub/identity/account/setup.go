package account

import (
	"context"
	"fmt"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/email"
	"github.com/axle-cd/axle/internal/errcode"
)

// setupLifetime limits how long a fresh hub can be taken over by somebody
// who reads its data folder or its first log lines. The hub creates a new
// token when it expired, and at its next start.
const setupLifetime = 24 * time.Hour

// setup creates the first administrator.
type setup struct{ *common }

// PrepareSetup returns the setup token that the hub should store in its data
// folder: the present one while it is valid, otherwise a new one, and "" once
// there is a user.
func (st *setup) PrepareSetup(ctx context.Context, present string) (string, error) {
	users, err := st.stores.Users.CountUsers(ctx)
	if err != nil {
		return "", fmt.Errorf("count users: %w", err)
	}
	if users > 0 {
		return "", nil
	}
	if present != "" {
		hash := bearertoken.Hash(present)
		t, err := st.stores.Tokens.TokenByHash(ctx, hash[:])
		if err == nil && t.Kind == identity.TokenSetup && !t.Expired(st.now()) {
			return present, nil
		}
		if err != nil && !errcode.Is(err, errcode.NotFound) {
			return "", err
		}
	}
	made, err := st.credentials.Create(ctx, identity.Principal{}, identity.Token{Kind: identity.TokenSetup, Name: "setup"}, identity.Lifetime{Standard: setupLifetime}, event.Entry{
		Kind: "hub.setup_prepared", Object: "hub", By: "hub", Message: "a setup token was written beside the hub's data",
	})
	return made.Secret, err
}

// Setup creates the first administrator and their API token. The bearer is a
// setup token and works once. Unauthorized when it is not known, Conflict when
// there is a user already, Invalid when the e-mail is not an address.
func (st *setup) Setup(ctx context.Context, bearer, email string) (identity.CreatedToken, error) {
	user, err := st.firstUser(email)
	if err != nil {
		return identity.CreatedToken{}, err
	}
	made := st.credentials.Mint(identity.Token{
		Kind: identity.TokenAPI, Name: "setup", Scopes: identity.AllScopes,
		OwnerID: user.ID, OwnerName: user.Name, OwnerKind: user.Kind, OwnerAdmin: true,
	}, identity.APILifetime)
	err = st.setUp(ctx, bearer, user, func(ctx context.Context) error {
		return st.credentials.Insert(ctx, made.Token)
	})
	if err != nil {
		return identity.CreatedToken{}, err
	}
	st.credentials.Remember(made.Token)
	return made, nil
}

// SetupLocal creates the first administrator with a local password, which works
// even when every provider is down. Errors as for Setup.
func (st *setup) SetupLocal(ctx context.Context, bearer, email, password string) (identity.User, error) {
	if err := st.CheckSetup(ctx, bearer); err != nil {
		return identity.User{}, err
	}
	user, err := st.firstUser(email)
	if err != nil {
		return identity.User{}, err
	}
	hash, err := st.hasher.Hash(ctx, user.Name, password)
	if err != nil {
		return identity.User{}, err
	}
	return user, st.setUp(ctx, bearer, user, func(ctx context.Context) error {
		return st.stores.Passwords.PutPassword(ctx, StoredPassword{UserID: user.ID, Hash: hash, ChangedAt: user.CreatedAt})
	})
}

// CheckSetup returns nil when a setup token is valid now.
func (st *setup) CheckSetup(ctx context.Context, bearer string) error {
	_, err := st.setupToken(ctx, bearer)
	return err
}

func (st *setup) firstUser(text string) (identity.User, error) {
	address, ok := email.Parse(text)
	if !ok || len(text) > identity.MaxName {
		return identity.User{}, errcode.New(errcode.Invalid, "%.80q is not an e-mail address in ASCII; give the address of the first administrator", text)
	}
	return identity.User{ID: identity.NewID("usr_"), Kind: identity.KindUser, Name: address, Admin: true, CreatedAt: st.now()}, nil
}

// setUp consumes a setup token and creates the first user; also adds more in
// the same transaction.
func (st *setup) setUp(ctx context.Context, bearer string, user identity.User, also func(ctx context.Context) error) error {
	var used identity.Token
	err := st.writer.Write(ctx, func(ctx context.Context) (err error) {
		if used, err = st.setupToken(ctx, bearer); err != nil {
			return err
		}
		if err := st.stores.Users.InsertUser(ctx, user); err != nil {
			return err
		}
		if err := st.credentials.Delete(ctx, used); err != nil {
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
	st.credentials.Forget(used)
	return st.directory.Reload(ctx, user.ID)
}

// setupToken returns the setup token of a bearer.
func (st *setup) setupToken(ctx context.Context, bearer string) (identity.Token, error) {
	users, err := st.stores.Users.CountUsers(ctx)
	if err != nil {
		return identity.Token{}, err
	}
	hash := bearertoken.Hash(bearer)
	t, err := st.stores.Tokens.TokenByHash(ctx, hash[:])
	switch {
	case err != nil && !errcode.Is(err, errcode.NotFound):
		return identity.Token{}, err
	case err == nil && t.Kind == identity.TokenSetup && !t.Expired(st.now()) && users == 0:
		return t, nil
	case users > 0:
		return identity.Token{}, errcode.New(errcode.Unauthorized, "this hub is set up already; ask an administrator for a token")
	}
	return identity.Token{}, errcode.New(errcode.Unauthorized, "the setup token is not the one that the hub wrote into its data folder")
}

// Fresh reports whether the hub has not been set up yet.
func (st *setup) Fresh(ctx context.Context) (bool, error) {
	users, err := st.stores.Users.CountUsers(ctx)
	return users == 0, err
}
