package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// flow is a login at a provider that has begun.
type flow struct {
	Provider string `json:"p"`
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Next     string `json:"x"`
}

// toProvider sends a browser to log in at a provider.
func (s *Server) toProvider(w http.ResponseWriter, r *http.Request) error {
	if err := s.try(r); err != nil {
		return err
	}
	next := safeNext(r.URL.Query().Get("next"))
	p, err := s.parties.party(r.Context(), r.PathValue("provider"))
	if err != nil {
		return err
	}
	found, err := p.discover(r.Context())
	if err != nil {
		s.log.Warn("a login provider cannot be used", "provider", p.Name, logkey.Error, errors.Unwrap(err))
		retryAfter(w, err)
		return s.loginPage(w, r, http.StatusServiceUnavailable, view{Error: errcode.Message(err), Next: next})
	}
	f := flow{Provider: p.Name, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: next}
	if err := s.seal(w, cookieFlow, f, flowLifetime); err != nil {
		return err
	}
	to := p.config(found, s.origin+p.CallbackPath()).AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier))
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

var errFlow = errcode.New(errcode.Unauthorized, "this login was not begun in this browser, was used, or took too long; begin again")

// fromProvider takes the answer of a provider.
func (s *Server) fromProvider(w http.ResponseWriter, r *http.Request) error {
	if err := s.try(r); err != nil {
		return err
	}
	query := r.URL.Query()
	var f flow
	begun := s.open(r, cookieFlow, &f)
	s.dropCookie(w, cookieFlow)
	if !begun || f.Provider != r.PathValue("provider") || subtle.ConstantTimeCompare([]byte(f.State), []byte(query.Get("state"))) != 1 {
		return s.refused(r, identity.MethodOIDC, "", errFlow)
	}
	p, err := s.parties.party(r.Context(), f.Provider)
	if err != nil {
		return err
	}
	user, idToken, err := s.answered(r.Context(), p, f, query)
	if err != nil {
		err = s.refused(r, identity.MethodOIDC, user.Name, err)
		if errcode.Of(err) == errcode.Internal {
			return err
		}
		retryAfter(w, err)
		return s.loginPage(w, r, errcode.HTTPStatus(errcode.Of(err)), view{Error: errcode.Message(err), Next: f.Next})
	}
	if err := s.begin(w, r, user, identity.SessionTerms{Method: identity.MethodOIDC, ProviderID: p.ID}, idToken); err != nil {
		return err
	}
	http.Redirect(w, r, safeNext(f.Next), http.StatusSeeOther)
	return nil
}

// answered trades the code of an answer for tokens, believes them or not, and
// finds the user.
func (s *Server) answered(ctx context.Context, p *party, f flow, query url.Values) (user identity.User, idToken string, err error) {
	found, err := p.discover(ctx)
	if err != nil {
		return user, "", err
	}
	if iss := query.Get("iss"); (iss != "" || found.IssInAnswer) && iss != p.Issuer {
		return user, "", errcode.New(errcode.Unauthorized, "the answer is not of %s", p.Title)
	}
	if code := query.Get("error"); code != "" {
		return user, "", errcode.New(errcode.Unauthorized, "%s refused the login: %.100s %.300s", p.Title, code, query.Get("error_description"))
	}
	if query.Get("code") == "" {
		return user, "", errcode.New(errcode.Unauthorized, "the answer of %s has no code", p.Title)
	}
	ctx = oidc.ClientContext(ctx, p.client)
	tokens, err := p.config(found, s.origin+p.CallbackPath()).Exchange(ctx, query.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return user, "", s.notTraded(p, err)
	}
	idToken, _ = tokens.Extra("id_token").(string)
	claims, err := p.believe(ctx, found, idToken, f.Nonce, tokens)
	if err != nil {
		return user, "", err
	}
	// A state that came back before is a replay, even where the provider took
	// its code twice.
	used := sha256.Sum256([]byte(f.State))
	err = s.identity.UseOnce(ctx, "state "+hex.EncodeToString(used[:]), s.clock.Now().Add(flowLifetime))
	if errcode.Is(err, errcode.Conflict) {
		return user, "", errFlow
	}
	if err != nil {
		return user, "", err
	}
	user, err = s.identity.LoginBy(ctx, p.Provider, claims)
	return user, idToken, err
}

// notTraded says why a provider gave no tokens for a code. Its own short code
// is repeated, its secret-bearing answer is not.
func (s *Server) notTraded(p *party, err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < http.StatusInternalServerError {
		s.log.Warn("a login provider refused a code", "provider", p.Name, logkey.Reason, refused.ErrorCode)
		hint := "begin again"
		if refused.ErrorCode == "invalid_client" || refused.ErrorCode == "unauthorized_client" {
			hint = "an administrator should look at the client id and secret of the provider"
		}
		return errcode.New(errcode.Unauthorized, "%s did not accept the login (%.60q); %s", p.Title, refused.ErrorCode, hint)
	}
	return p.unreachable(err)
}
