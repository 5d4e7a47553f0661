package identity

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/errcode"
)

var allScopes = []string{ScopeRead, ScopeWrite, ScopeAdmin}

// maxName limits names of tokens and e-mail addresses, in bytes.
const maxName = 200

// CreateToken creates an API token for the caller. The token can never do more
// than the token that created it, and ends with it. A token created in a
// session is independent and needs a fresh proof. Invalid, Forbidden, ErrProve.
func (d *Directory) CreateToken(ctx context.Context, by Principal, r TokenRequest) (CreatedToken, error) {
	if len(r.Scopes) == 0 {
		r.Scopes = by.Scopes
	}
	return d.CreateTokenFor(ctx, by, User{ID: by.ID, Kind: by.Kind, Name: by.Name, Admin: by.Admin}, r)
}

// CreateTokenFor creates an API token for another account. The token belongs to
// that account and outlives the one that created it. Its scopes cannot exceed
// the caller's. Invalid, Forbidden, ErrProve.
func (d *Directory) CreateTokenFor(ctx context.Context, by Principal, owner User, r TokenRequest) (CreatedToken, error) {
	if owner.Kind != KindUser && owner.Kind != KindServiceAccount {
		return CreatedToken{}, errcode.New(errcode.Forbidden, "only people and service accounts have API tokens")
	}
	if err := checkScopes(by, r.Scopes); err != nil {
		return CreatedToken{}, err
	}
	if owner.Admin && owner.ID != by.ID && !(by.Admin && by.HasScope(ScopeAdmin)) {
		return CreatedToken{}, errcode.New(errcode.Forbidden, "only an administrator may create tokens for an administrator")
	}
	if err := checkTokenName(r.Name); err != nil {
		return CreatedToken{}, err
	}
	message := "scopes " + strings.Join(r.Scopes, ", ")
	if owner.ID != by.ID {
		message = "for " + owner.Name + ", " + message
	}
	return d.create(ctx, by, Token{
		Kind: TokenAPI, Name: r.Name, Scopes: r.Scopes,
		OwnerID: owner.ID, OwnerName: owner.Name, OwnerKind: owner.Kind, OwnerAdmin: owner.Admin,
	}, lifetime{r.Lifetime, apiLifetime}, event.Entry{Kind: "token.created", Object: "token " + r.Name, By: by.By(), Message: message})
}

func checkTokenName(name string) error {
	if strings.TrimSpace(name) == "" || len(name) > maxName {
		return errcode.New(errcode.Invalid, "a token needs a name of at most %d bytes, so that it can be told apart later", maxName)
	}
	return nil
}

// checkLifetime returns the wanted lifetime or the default. Invalid when it is
// negative or too long.
func checkLifetime(wanted, standard time.Duration) (time.Duration, error) {
	if wanted == 0 {
		return standard, nil
	}
	if wanted < 0 || wanted > maxLifetime {
		return 0, errcode.New(errcode.Invalid, "a token lives at most %d days", int(maxLifetime.Hours()/24))
	}
	return wanted, nil
}

// create stores a token with the given terms and a new secret, bound to the
// caller's token as descend decides.
func (d *Directory) create(ctx context.Context, by Principal, t Token, l lifetime, entry event.Entry) (CreatedToken, error) {
	var made CreatedToken
	err := d.writer.Write(ctx, func(ctx context.Context) error {
		t := t
		length, err := d.descend(ctx, by, &t, l)
		if err != nil {
			return err
		}
		made = d.mint(t, length)
		if err := insertToken(ctx, d.store, made.Token); err != nil {
			return err
		}
		return event.Record(ctx, entry)
	})
	if err != nil {
		return CreatedToken{}, fmt.Errorf("make a token: %w", err)
	}
	d.tokens.put(made.Token)
	return made, nil
}

// mint gives a token its id, secret and times; an end that is already set is
// the latest possible.
func (d *Directory) mint(t Token, lifetime time.Duration) CreatedToken {
	bearer := bearertoken.New()
	hash := bearertoken.Hash(bearer)
	t.ID, t.Hash, t.CreatedAt = newID("tok_"), hash[:], d.now()
	if end := t.CreatedAt + lifetime.Microseconds(); t.ExpiresAt == 0 || end < t.ExpiresAt {
		t.ExpiresAt = end
	}
	return CreatedToken{Token: t, Secret: bearer}
}

// Tokens lists API and bootstrap tokens, newest first: all for an
// administrator, otherwise the caller's own.
func (d *Directory) Tokens(ctx context.Context, by Principal) ([]Token, error) {
	owner := by.ID
	if by.Admin && by.HasScope(ScopeAdmin) {
		owner = ""
	}
	all, err := d.store.Tokens(ctx, owner)
	return d.tokens.standing(all, d.now()), err
}

// RevokeToken ends a token and those that it created. It returns NotFound also
// when the token is not the caller's own and the caller is not an administrator.
func (d *Directory) RevokeToken(ctx context.Context, by Principal, id string) error {
	err := d.writer.Write(ctx, func(ctx context.Context) error {
		t, err := d.store.Token(ctx, id)
		if err != nil {
			return err
		}
		listed := t.Kind == TokenAPI || t.Kind == TokenBootstrap || t.Kind == TokenCLI || t.Kind == TokenFederated
		if !listed || (t.OwnerID != by.ID && !(by.Admin && by.HasScope(ScopeAdmin))) {
			return errcode.New(errcode.NotFound, "token %s does not exist or is not yours", id)
		}
		if err := d.store.DeleteTokens(ctx, []string{id}); err != nil {
			return err
		}
		if err := event.Append(ctx, change(t)); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "token.revoked", Object: "token " + t.Name, By: by.By()})
	})
	if err != nil {
		return err
	}
	d.tokens.remove(id)
	return nil
}

// RevokeCluster ends every credential of a cluster. It may be repeated.
func (d *Directory) RevokeCluster(ctx context.Context, clusterID string) error {
	return d.RevokeClusterWith(ctx, clusterID, func(context.Context) error { return nil })
}

// RevokeClusterWith ends every credential of a cluster in one transaction with
// also, which deletes the cluster: a kill leaves both or neither. An error of
// also is returned as it is.
func (d *Directory) RevokeClusterWith(ctx context.Context, clusterID string, also func(ctx context.Context) error) error {
	var ids []string
	err := d.writer.Write(ctx, func(ctx context.Context) (err error) {
		if err := also(ctx); err != nil {
			return err
		}
		if ids, err = d.endCredentials(ctx, clusterID); err != nil {
			return fmt.Errorf("revoke the credentials of cluster %s: %w", clusterID, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.tokens.remove(ids...)
	d.boots.Delete(clusterID)
	return nil
}

// endCredentials deletes the tokens and the key of a cluster in the
// transaction of the context and returns the ids of the tokens.
func (d *Directory) endCredentials(ctx context.Context, clusterID string) ([]string, error) {
	tokens, err := d.store.ClusterTokens(ctx, clusterID)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(tokens))
	for _, t := range tokens {
		ids = append(ids, t.ID)
	}
	if err := appendTokens(ctx, tokens...); err != nil {
		return nil, err
	}
	if err := d.store.DeleteTokens(ctx, ids); err != nil {
		return nil, err
	}
	return ids, d.store.DeleteAgentKey(ctx, clusterID)
}
