package oidc

import (
	"context"
	"net/http"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/axle-cd/axle/internal/errcode"
)

// token is the token endpoint. What a request uses up is used here, before the library
// checks the rest: of the library's answers, none tells an unreachable database from a wrong
// code, and an application would throw its tokens away.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	f := flight(r.Context())
	var err error
	grant := oidc.GrantType(r.PostForm.Get("grant_type"))
	switch grant {
	case oidc.GrantTypeCode:
		f.grant, err = p.grants.trade(r.Context(), r.PostForm.Get("code"))
	case oidc.GrantTypeRefreshToken:
		_, f.grant, err = p.grants.checkRefresh(r.Context(), r.PostForm.Get("refresh_token"))
	case oidc.GrantTypeDeviceCode:
		f.grant, err = p.poll(r.Context(), f.client, r.PostForm.Get("device_code"))
	case oidc.GrantTypeClientCredentials:
		f.grant, err = p.own(r.Context(), f.client)
	case oidc.GrantTypeTokenExchange:
		f.grant, err = p.exchanged(r.Context(), f.client, r.PostForm)
	default:
		p.sayNo(w, oidc.ErrUnsupportedGrantType().WithDescription("the grant_type is missing, or is not one of grant_types_supported"))
		return
	}
	if err == nil {
		err = p.admitted(r.Context(), f)
	}
	if err != nil {
		p.sayNo(w, invalidGrant(err))
		return
	}
	if grant == oidc.GrantTypeTokenExchange {
		p.exchange(w, r)
		return
	}
	op.Exchange(w, r, p)
}

// invalidGrant is the error of a code or a token that is not valid, for an application.
func invalidGrant(err error) error {
	switch errcode.Of(err) {
	case errcode.Unauthorized, errcode.NotFound:
		return oidc.ErrInvalidGrant().WithDescription("the code or token is not valid: %s", errcode.Message(err))
	case errcode.Forbidden:
		return oidc.ErrInvalidGrant().WithDescription("the person may not log in to this application any more")
	}
	return err
}

// admitted returns nil if a grant is the client's of the request, and its person may log in
// to the client now. A grant whose person may not ends.
func (p *Provider) admitted(ctx context.Context, f *inFlight) error {
	if f.grant.ClientID != f.client.ID {
		return errUnknownSecret
	}
	if f.grant.UserID == "" {
		return nil // the client acts for itself
	}
	_, err := p.gate.person(ctx, f.client, f.grant.UserID)
	return err
}
