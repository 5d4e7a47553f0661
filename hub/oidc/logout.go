package oidc

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

// scopeOffline asks for tokens that outlive the person's session.
const scopeOffline = oidc.ScopeOfflineAccess

// introspect tells a confidential client whether a token is valid that it, or another client
// of its project, got.
func (p *Provider) introspect(w http.ResponseWriter, r *http.Request) {
	c := flight(r.Context()).client
	if c.Public {
		p.sayNo(w, oidc.ErrInvalidClient().WithDescription("only a client with a secret may ask about tokens"))
		return
	}
	info, err := p.described(r.Context(), c, r.PostForm.Get("token"))
	switch errcode.Of(err) {
	case errcode.Unauthorized, errcode.Forbidden, errcode.NotFound:
		info = &oidc.IntrospectionResponse{}
	default:
		if err != nil {
			p.sayNo(w, err)
			return
		}
	}
	respond(w, info, http.StatusOK)
}

func (p *Provider) described(ctx context.Context, asks application.Client, token string) (*oidc.IntrospectionResponse, error) {
	prefix, kind := prefixAccess, kindAccess
	if strings.HasPrefix(token, prefixRefresh) {
		prefix, kind = prefixRefresh, kindRefresh
	}
	s, g, err := p.grants.live(ctx, token, prefix, kind)
	if err == nil && kind == kindRefresh && s.UsedAt != 0 {
		err = errUnknownSecret
	}
	if err != nil {
		return nil, err
	}
	c, err := p.config.Clients.Client(ctx, g.ClientID)
	if err != nil {
		return nil, err
	}
	if c.ID != asks.ID && c.ProjectID != asks.ProjectID {
		return nil, errUnknownSecret
	}
	info := &oidc.IntrospectionResponse{
		Active: true, Scope: s.Scopes, ClientID: g.ClientID, TokenType: oidc.BearerToken, Expiration: oidc.Time(s.ExpiresAt / 1e6), IssuedAt: oidc.Time(s.CreatedAt / 1e6),
		Audience: oidc.Audience{g.ClientID}, Issuer: p.issuer, Subject: g.subject(),
	}
	if kind == kindAccess && g.UserID != "" && slices.Contains(s.Scopes, oidc.ScopeOpenID) {
		known, err := p.informed(ctx, s, g)
		if err != nil {
			return nil, err
		}
		info.SetUserInfo(known)
	}
	return info, nil
}

// subject is the person of a grant, or the client that acts for itself.
func (g Grant) subject() string {
	if g.UserID == "" {
		return g.ClientID
	}
	return g.UserID
}

// revoke ends a token of the client: an access token by itself, a refresh token with all of
// its login. What is not known has ended already.
func (p *Provider) revoke(w http.ResponseWriter, r *http.Request) {
	token, c := r.PostForm.Get("token"), flight(r.Context()).client
	prefix, kind := prefixAccess, kindAccess
	if strings.HasPrefix(token, prefixRefresh) {
		prefix, kind = prefixRefresh, kindRefresh
	}
	s, g, err := p.grants.live(r.Context(), token, prefix, kind)
	if err == nil && g.ClientID == c.ID {
		if kind == kindRefresh {
			err = p.grants.end(r.Context(), g.ID)
		} else {
			err = p.config.Stores.Writer.Write(r.Context(), func(ctx context.Context) error { return p.config.Stores.Grants.DeleteGrantSecret(ctx, s.Hash) })
		}
	}
	if err != nil && !errcode.Is(err, errcode.Unauthorized) {
		p.sayNo(w, err)
		return
	}
	respond(w, struct{}{}, http.StatusOK)
}

// logoutPost accepts a logout by POST, which comes without the session's cookie.
func (p *Provider) logoutPost(w http.ResponseWriter, r *http.Request) { p.asGet(w, r, Path+"/logout") }

// logout ends the session of the browser, if the application shows an ID token of it, and
// leads back to the application. Without one the hub's own page asks: a link on any page
// must not log anybody out.
func (p *Provider) logout(w http.ResponseWriter, r *http.Request) error {
	if err := p.rates.browsers.Take(pool.Stranger(r.RemoteAddr)); err != nil {
		return err
	}
	w.Header().Set("Referrer-Policy", "no-referrer")
	query := r.URL.Query()
	if err := single(query); err != nil {
		return err
	}
	ctx := p.issued(r).Context()
	var claims *oidc.IDTokenClaims
	if hint := query.Get("id_token_hint"); hint != "" {
		shown, err := op.VerifyIDTokenHint[*oidc.IDTokenClaims](ctx, hint, p.IDTokenHintVerifier(ctx))
		var expired op.IDTokenHintExpiredError
		if err != nil && !errors.As(err, &expired) {
			return errcode.New(errcode.Invalid, "id_token_hint is not an ID token of this hub")
		}
		claims = shown
	}
	to, err := p.leavesTo(ctx, query, claims)
	if err != nil {
		return err
	}
	v, ok, err := p.config.Pages.Visitor(r)
	if err != nil {
		return err
	}
	if ok && (claims == nil || claims.SessionID != p.sessionID(v.TokenID, claims.GetAuthorizedParty())) {
		http.Redirect(w, r, "/logout", http.StatusSeeOther)
		return nil
	}
	if ok {
		// One that another replica ended meanwhile has ended.
		if err := p.config.Pages.LogOut(w, r, v); err != nil && !errcode.Is(err, errcode.NotFound) {
			return err
		}
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// leavesTo returns where a logout leads: to a URI of the client, or to the hub's page.
func (p *Provider) leavesTo(ctx context.Context, query url.Values, claims *oidc.IDTokenClaims) (string, error) {
	id, uri := query.Get("client_id"), query.Get("post_logout_redirect_uri")
	if claims != nil {
		if id != "" && id != claims.GetAuthorizedParty() {
			return "", errcode.New(errcode.Invalid, "client_id is another one than that of id_token_hint")
		}
		id = claims.GetAuthorizedParty()
	}
	if uri == "" || id == "" {
		return p.DefaultLogoutRedirectURI(), nil
	}
	c, err := p.config.Clients.Client(ctx, id)
	if errcode.Is(err, errcode.NotFound) || err == nil && !c.LeavesTo(uri) {
		return "", errcode.New(errcode.Invalid, "post_logout_redirect_uri: %.200q is not one of the application's; they are compared exactly", uri)
	}
	if state := query.Get("state"); state != "" {
		uri = withAnswer(uri, url.Values{"state": {state}})
	}
	return uri, err
}
