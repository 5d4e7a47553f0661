package oidc

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// own begins a grant of a client that acts for itself. Its tokens say who it is, and nothing
// about a person.
func (p *Provider) own(ctx context.Context, c application.Client) (Grant, error) {
	if c.Public {
		return Grant{}, oidc.ErrUnauthorizedClient().WithDescription("a client without a secret cannot act for itself")
	}
	return p.started(ctx, Grant{ID: identity.NewID("gnt_"), ClientID: c.ID, EndsAt: after(p.now(), codeLifetime)})
}

// started stores a grant that has a token at once.
func (p *Provider) started(ctx context.Context, g Grant) (Grant, error) {
	g.CreatedAt = p.now()
	return g, p.config.Stores.Writer.Write(ctx, func(ctx context.Context) error { return p.config.Stores.Grants.InsertGrant(ctx, g) })
}

// ClientCredentials implements op.ClientCredentialsStorage.
func (s *storage) ClientCredentials(ctx context.Context, id, _ string) (op.Client, error) {
	return s.GetClientByClientID(ctx, id)
}

// ClientCredentialsTokenRequest implements op.ClientCredentialsStorage.
func (s *storage) ClientCredentialsTokenRequest(ctx context.Context, _ string, _ []string) (op.TokenRequest, error) {
	return &used{Grant: flight(ctx).grant}, nil
}

const accessTokenType = string(oidc.AccessTokenType)

// exchanged begins a grant for a token of a person that another client of the same project
// got: a service calls the next one as the person. The person must be let in here as well,
// and the new token ends with their session, and no later than the one it was got for: by
// exchanging again and again nobody acts as a person for longer.
func (p *Provider) exchanged(ctx context.Context, c application.Client, form url.Values) (Grant, error) {
	refused := oidc.ErrInvalidRequest().WithDescription
	switch get := form.Get; {
	case c.Public:
		return Grant{}, oidc.ErrUnauthorizedClient().WithDescription("a client without a secret cannot exchange tokens")
	case get("subject_token_type") != accessTokenType, get("requested_token_type") != "" && get("requested_token_type") != accessTokenType:
		return Grant{}, refused("only access tokens are exchanged, for access tokens")
	case form.Has("actor_token"):
		return Grant{}, refused("actor_token is not supported")
	case form.Has("resource"), get("audience") != "" && get("audience") != c.ID:
		return Grant{}, &oidc.Error{ErrorType: "invalid_target", Description: "a token is exchanged only for the client that asks"}
	}
	s, g, err := p.grants.live(ctx, form.Get("subject_token"), prefixAccess, kindAccess)
	if errcode.Is(err, errcode.Unauthorized) || err == nil && g.UserID == "" {
		return Grant{}, refused("subject_token is not an access token of a person")
	}
	if err != nil {
		return Grant{}, err
	}
	from, err := p.config.Clients.Client(ctx, g.ClientID)
	if errcode.Is(err, errcode.NotFound) || err == nil && (from.ProjectID != c.ProjectID || c.ProjectID == "") {
		return Grant{}, refused("subject_token is not of a client of the same project")
	}
	if err != nil {
		return Grant{}, err
	}
	asked := s.Scopes
	if text := form.Get("scope"); text != "" {
		asked = strings.Fields(text)
	}
	for _, scope := range asked {
		if !slices.Contains(s.Scopes, scope) {
			return Grant{}, oidc.ErrInvalidScope().WithDescription("subject_token does not have the scope")
		}
	}
	g.ID, g.ClientID, g.Nonce, g.Redirect, g.Challenge = identity.NewID("gnt_"), c.ID, "", "", ""
	g.Scopes = slices.DeleteFunc(known(asked), func(scope string) bool { return scope == scopeOffline })
	g.EndsAt = s.ExpiresAt
	if g.TokenID != "" {
		g.SessionID = p.sessionID(g.TokenID, c.ID)
	}
	return p.started(ctx, g)
}

// exchange answers a token exchange. The library's reads claims that an opaque token does not
// have.
func (p *Provider) exchange(w http.ResponseWriter, r *http.Request) {
	f := flight(r.Context())
	// One reading of the clock: by a second one, the new token would end later than the one that
	// it is got for.
	now := p.now()
	lifetime := min(f.client.Access, time.Duration(f.grant.EndsAt-now)*time.Microsecond)
	if lifetime <= 0 {
		p.sayNo(w, oidc.ErrInvalidRequest().WithDescription("subject_token has ended"))
		return
	}
	id, _, err := p.grants.access(r.Context(), f.grant, f.grant.Scopes, now, lifetime)
	if err != nil {
		p.sayNo(w, invalidGrant(err))
		return
	}
	respond(w, oidc.TokenExchangeResponse{
		// Zero is left out of the answer, and to a client that is a token without an end.
		AccessToken: prefixAccess + id, IssuedTokenType: oidc.AccessTokenType, TokenType: oidc.BearerToken, ExpiresIn: max(1, uint64(lifetime.Seconds())), Scopes: f.grant.Scopes,
	}, http.StatusOK)
}
