package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// flow is a started login at a provider.
type flow struct {
	Provider string `json:"p"`
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Next     string `json:"x"`
	// Session is the session whose person logs in again, at Begun or later;
	// empty for a login.
	Session string `json:"a,omitempty"`
	Begun   int64  `json:"b,omitempty"`
	// Trial names the provider that is tried, which is not the saved one.
	Trial string `json:"t,omitempty"`
}

// toNamed starts a flow at the provider that a request names.
func (s *Server) toNamed(w http.ResponseWriter, r *http.Request, f flow) error {
	if err := s.try(r); err != nil {
		return err
	}
	p, err := s.providers.provider(r.Context(), r.PathValue("provider"))
	if err != nil {
		return err
	}
	err = s.send(w, r, p, f)
	if errcode.Is(err, errcode.Unavailable) {
		errcode.SetRetryAfter(w.Header(), err)
		return s.loginPage(w, r, http.StatusServiceUnavailable, view{Error: errcode.Message(err), Next: safeNext(r.URL.Query().Get("next"))})
	}
	return err
}

// send starts a flow at a provider. A flow that belongs to a session asks the
// provider for a new authentication, even when the person has an open session
// there. Unavailable says why the provider cannot be used.
func (s *Server) send(w http.ResponseWriter, r *http.Request, p *provider, f flow) error {
	found, err := p.discover(r.Context())
	if err != nil {
		s.log.Warn("a login provider cannot be used", "provider", p.Name, logkey.Error, errors.Unwrap(err))
		return err
	}
	next := safeNext(r.URL.Query().Get("next"))
	f.Provider, f.State, f.Nonce, f.Verifier, f.Next = p.Name, rand.Text(), rand.Text(), oauth2.GenerateVerifier(), next
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	if f.Session != "" {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	if err := s.seal(w, cookieFlow, f, flowLifetime); err != nil {
		return err
	}
	to := p.config(found, s.origin+p.CallbackPath()).AuthCodeURL(f.State, options...)
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

var errFlow = errcode.New(errcode.Unauthorized, "this login was not begun in this browser, was used, or took too long; begin again")

// fromProvider handles the answer of a provider.
func (s *Server) fromProvider(w http.ResponseWriter, r *http.Request) error {
	if err := s.try(r); err != nil {
		return err
	}
	query := r.URL.Query()
	var f flow
	begun := s.open(r, cookieFlow, &f)
	s.dropCookie(w, cookieFlow)
	if !begun || f.Provider != r.PathValue("provider") || subtle.ConstantTimeCompare([]byte(f.State), []byte(query.Get("state"))) != 1 {
		return s.refused(r, account.MethodOIDC, "", errFlow)
	}
	if f.Trial != "" {
		return (&Trials{s}).tried(w, r, f)
	}
	p, err := s.providers.provider(r.Context(), f.Provider)
	if err != nil {
		return err
	}
	a, err := s.answered(r.Context(), p, f, query)
	if f.Session != "" {
		return (&again{s}).fromProvider(w, r, f, a, err)
	}
	if err != nil {
		err = s.refused(r, account.MethodOIDC, a.user.Name, err)
		if errcode.Of(err) == errcode.Internal {
			return err
		}
		errcode.SetRetryAfter(w.Header(), err)
		return s.loginPage(w, r, errcode.HTTPStatus(errcode.Of(err)), view{Error: errcode.Message(err), Next: f.Next})
	}
	s.came(r, 2)
	terms := account.SessionTerms{Method: account.MethodOIDC, ProviderID: p.ID, ProvedAt: a.at}
	if err := s.begin(w, r, a.user, terms, a.idToken); err != nil {
		return err
	}
	http.Redirect(w, r, safeNext(f.Next), http.StatusSeeOther)
	return nil
}

// answer is the provider's claims about the person, and when they
// authenticated: 0 when the provider does not say.
type answer struct {
	user    identity.User
	idToken string
	at      int64
}

// answered reads the claims of an answer, and finds the user.
func (s *Server) answered(ctx context.Context, p *provider, f flow, query url.Values) (a answer, err error) {
	claims, err := s.claimed(ctx, p, f, query, &a)
	if err != nil {
		return a, err
	}
	a.user, err = s.accounts.LoginBy(ctx, p.Provider, claims)
	return a, err
}

// claimed trades the code of an answer for tokens, verifies them, and returns their
// claims.
func (s *Server) claimed(ctx context.Context, p *provider, f flow, query url.Values, a *answer) (claims account.Claims, err error) {
	found, err := p.discover(ctx)
	if err != nil {
		return claims, err
	}
	if iss := query.Get("iss"); (iss != "" || found.IssInAnswer) && iss != p.Issuer {
		return claims, errcode.New(errcode.Unauthorized, "the answer did not come from %s", p.Title)
	}
	if code := query.Get("error"); code != "" {
		return claims, errcode.New(errcode.Unauthorized, "%s refused the login: %.100s %.300s", p.Title, code, query.Get("error_description"))
	}
	if query.Get("code") == "" {
		return claims, errcode.New(errcode.Unauthorized, "the answer of %s has no code", p.Title)
	}
	ctx = oidc.ClientContext(ctx, p.client)
	tokens, err := p.config(found, s.origin+p.CallbackPath()).Exchange(ctx, query.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return claims, p.notTraded(s.log, err)
	}
	a.idToken, _ = tokens.Extra("id_token").(string)
	claims, err = p.verify(ctx, found, a.idToken, f.Nonce, tokens)
	if err != nil {
		s.log.Warn("an ID token is not accepted", "provider", p.Name, logkey.Reason, errcode.Message(err), logkey.Error, errors.Unwrap(err))
		return claims, err
	}
	if why := p.unread(claims.All); why != "" {
		s.log.Warn("a login gives fewer groups than its claim has", "provider", p.Name, "claim", p.GroupsClaim, logkey.Reason, why)
	}
	// A state that came back before is a replay, even where the provider
	// accepted its code twice.
	used := sha256.Sum256([]byte(f.State))
	err = s.accounts.UseOnce(ctx, "state "+hex.EncodeToString(used[:]), s.clock.Now().Add(flowLifetime))
	if errcode.Is(err, errcode.Conflict) {
		return claims, errFlow
	}
	if err != nil {
		return claims, err
	}
	a.at = claims.AuthenticatedAt
	if f.Session != "" && a.at == 0 && slices.Contains(found.Claims, "auth_time") {
		return claims, errcode.New(errcode.Unauthorized, "%s does not report when you logged in there; an administrator can let it put auth_time into its tokens", p.Title)
	}
	return claims, nil
}

// notTraded returns why a provider gave no tokens for a code. It repeats only
// the provider's short error code, because the full answer may hold secrets.
func (p *provider) notTraded(log *slog.Logger, err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < http.StatusInternalServerError {
		log.Warn("a login provider refused a code", "provider", p.Name, logkey.Reason, refused.ErrorCode)
		hint := "begin again"
		if refused.ErrorCode == "invalid_client" || refused.ErrorCode == "unauthorized_client" {
			hint = "an administrator should look at the client id and secret of the provider"
		}
		return errcode.New(errcode.Unauthorized, "%s did not accept the login (%.60q); %s", p.Title, refused.ErrorCode, hint)
	}
	return p.unreachable(err)
}
