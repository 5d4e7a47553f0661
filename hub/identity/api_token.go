package identity

import (
	"context"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

// AllScopes are what a session may do.
var AllScopes = []string{ScopeRead, ScopeWrite, ScopeAdmin}

// MaxName limits names of tokens and e-mail addresses, in bytes.
const MaxName = 200

// apiTokens creates, lists and revokes API tokens.
type apiTokens struct {
	credentials *Credentials
	reader      TokenReader
	users       *users
}

// CreateToken creates an API token for the caller. The token can never do more
// than the token that created it, and ends with it. A token created in a
// session is independent and needs a fresh proof. Invalid, Forbidden, ErrProve.
func (a *apiTokens) CreateToken(ctx context.Context, by Principal, r TokenRequest) (CreatedToken, error) {
	if len(r.Scopes) == 0 {
		r.Scopes = by.Scopes
	}
	return a.CreateTokenFor(ctx, by, User{ID: by.ID, Kind: by.Kind, Name: by.Name, Admin: by.Admin}, r)
}

// CreateTokenFor creates an API token for another account. The token belongs to
// that account and outlives the one that created it. Its scopes cannot exceed
// the caller's. Invalid, Forbidden, ErrProve.
func (a *apiTokens) CreateTokenFor(ctx context.Context, by Principal, owner User, r TokenRequest) (CreatedToken, error) {
	if owner.Kind != KindUser && owner.Kind != KindServiceAccount {
		return CreatedToken{}, errcode.New(errcode.Forbidden, "only people and service accounts have API tokens")
	}
	if err := CheckScopes(by, r.Scopes); err != nil {
		return CreatedToken{}, err
	}
	if owner.Admin && owner.ID != by.ID && !by.Administers() {
		return CreatedToken{}, errcode.New(errcode.Forbidden, "only an administrator may create tokens for an administrator")
	}
	if err := checkTokenName(r.Name); err != nil {
		return CreatedToken{}, err
	}
	message := "scopes " + strings.Join(r.Scopes, ", ")
	if owner.ID != by.ID {
		message = "for " + owner.Name + ", " + message
	}
	return a.credentials.Create(ctx, by, Token{
		Kind: TokenAPI, Name: r.Name, Scopes: r.Scopes,
		OwnerID: owner.ID, OwnerName: owner.Name, OwnerKind: owner.Kind, OwnerAdmin: owner.Admin,
	}, Lifetime{r.Lifetime, APILifetime}, event.Entry{Kind: "token.created", Object: "token " + r.Name, By: by.By(), Message: message})
}

// CreateServiceAccountToken creates an API token for a service account, as
// CreateTokenFor. NotFound.
func (a *apiTokens) CreateServiceAccountToken(ctx context.Context, by Principal, account string, r TokenRequest) (CreatedToken, error) {
	u, err := a.users.ServiceAccount(ctx, account)
	if err != nil {
		return CreatedToken{}, err
	}
	if len(r.Scopes) == 0 {
		r.Scopes = []string{ScopeRead}
	}
	return a.CreateTokenFor(ctx, by, u, r)
}

func checkTokenName(name string) error {
	if strings.TrimSpace(name) == "" || len(name) > MaxName {
		return errcode.New(errcode.Invalid, "a token needs a name of at most %d bytes, so that it can be told apart later", MaxName)
	}
	return nil
}

// Tokens lists API and bootstrap tokens, newest first: all for an
// administrator, otherwise the caller's own.
func (a *apiTokens) Tokens(ctx context.Context, by Principal) ([]Token, error) {
	owner := by.ID
	if by.Administers() {
		owner = ""
	}
	all, err := a.reader.Tokens(ctx, owner)
	return a.credentials.Standing(all), err
}

// EndingTokens returns the API tokens of service accounts that were made for at least
// life and end within a time, in microseconds, the first to end first, 50 at most. Only
// an administrator replaces them; anybody else gets none.
func (d *Directory) EndingTokens(ctx context.Context, by Principal, within, life int64) ([]Token, error) {
	if !by.Administers() {
		return nil, nil
	}
	all, err := d.stores.Uses.EndingTokens(ctx, d.now(), d.now()+within, life)
	return d.credentials.Standing(all), err
}

// RevokeToken ends a token and those that it created. It returns NotFound also
// when the token is not the caller's own and the caller is not an administrator,
// Forbidden as MayEnd.
func (a *apiTokens) RevokeToken(ctx context.Context, by Principal, id string) error {
	var t Token
	err := a.users.writer.Write(ctx, func(ctx context.Context) (err error) {
		if t, err = a.reader.Token(ctx, id); err != nil {
			return err
		}
		listed := t.Kind == TokenAPI || t.Kind == TokenBootstrap || t.Kind == TokenCLI || t.Kind == TokenFederated
		if !listed || (t.OwnerID != by.ID && !by.Administers()) {
			return errcode.New(errcode.NotFound, "token %s does not exist or is not yours", id)
		}
		if err := by.MayEnd(t); err != nil {
			return err
		}
		if err := a.credentials.Delete(ctx, t); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "token.revoked", Object: "token " + t.Name, By: by.By()})
	})
	if err != nil {
		return err
	}
	a.credentials.Forget(t)
	return nil
}

// CheckScopes returns nil when the caller may give a token these scopes.
func CheckScopes(by Principal, scopes []string) error {
	for _, s := range scopes {
		if !slices.Contains(AllScopes, s) {
			return errcode.New(errcode.Invalid, "scope %.80q does not exist; use %s", s, strings.Join(AllScopes, ", "))
		}
		if !by.HasScope(s) {
			return errcode.New(errcode.Forbidden, "a token without the scope %q cannot make one that has it", s)
		}
	}
	return nil
}
