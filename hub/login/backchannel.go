package login

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// logoutEvent is the event that a logout token must contain.
	logoutEvent = "http://schemas.openid.net/event/backchannel-logout"
	// maxLogoutToken limits a logout token, in bytes.
	maxLogoutToken = 16 << 10
)

// tellOfLogouts logs for the administrator the back-channel logout URL of a
// provider that supports it.
func (s *Server) tellOfLogouts(p *provider, found *discovery) {
	if found.BackChannel {
		s.log.Info("a login provider can end sessions here when somebody logs out there; enter this back-channel logout URL at it",
			"provider", p.Name, "url", s.origin+p.LogoutPath())
	}
}

// backChannel receives a provider's message that an account logged out there
// (OpenID Connect Back-Channel Logout 1.0). The provider calls it, not a
// browser, so only the token's signature authenticates it.
func (s *Server) backChannel(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	w.Header().Set("Cache-Control", "no-store")
	from := pool.Stranger(r.RemoteAddr)
	err := s.ready()
	if err == nil {
		err = s.limits.logouts.Look(from)
	}
	if err == nil {
		err = s.loggedOutThere(r)
		switch errcode.Of(err) {
		case errcode.Invalid, errcode.Unauthorized, errcode.NotFound:
			_ = s.limits.logouts.Take(from) // whoever comes next is refused
		}
	}
	if err != nil {
		s.noLogout(w, r, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// loggedOutThere ends what a logout token names.
func (s *Server) loggedOutThere(r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return errcode.New(errcode.Invalid, "the form cannot be read")
	}
	tokens := r.PostForm["logout_token"]
	if len(tokens) != 1 {
		return errcode.New(errcode.Invalid, "send a form with exactly one logout_token")
	}
	p, err := s.providers.provider(r.Context(), r.PathValue("provider"))
	if err != nil {
		return err
	}
	found, err := p.discover(r.Context())
	if err != nil {
		return err
	}
	l, err := p.verifyLogout(r.Context(), found, tokens[0])
	if err != nil {
		return err
	}
	ended, err := s.accounts.LogoutBy(r.Context(), p.Provider, l)
	if errcode.Is(err, errcode.Conflict) {
		return errcode.New(errcode.Invalid, "this logout token was used before")
	}
	if err != nil {
		return err
	}
	s.record(r, audit.Record{
		Actor: "login provider " + p.Name, ActorKind: "provider", ActorID: p.ID, Action: "logout", Verb: "backchannel", Result: audit.ResultOK,
		Detail: map[string]string{"ended": strconv.Itoa(ended)},
	})
	return nil
}

// noLogout answers as the standard requires, with a status that tells the
// provider whether to retry.
func (s *Server) noLogout(w http.ResponseWriter, r *http.Request, err error) {
	level := slog.LevelInfo
	if errcode.Of(err) == errcode.Internal {
		level = slog.LevelError
	}
	s.log.LogAttrs(r.Context(), level, "a logout of a login provider was refused",
		slog.String("provider", r.PathValue("provider")), slog.String(logkey.Address, source(r)), slog.Any(logkey.Error, err))
	status := errcode.HTTPStatus(errcode.Of(err))
	if status == http.StatusUnauthorized {
		status = http.StatusBadRequest
	}
	errcode.SetRetryAfter(w.Header(), err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": "invalid_request", "error_description": errcode.Message(err)})
}

// verifyLogout verifies a logout token. Unauthorized says what is wrong.
func (p *provider) verifyLogout(ctx context.Context, found *discovery, raw string) (l account.Logout, err error) {
	if raw == "" || len(raw) > maxLogoutToken || !logoutTyped(raw) {
		return l, p.noLogout("it is not a logout token")
	}
	token, err := found.Verifier(&oidc.Config{ClientID: p.ClientID, SkipExpiryCheck: true}).Verify(oidc.ClientContext(ctx, p.client), raw)
	if err != nil {
		return l, errcode.Hide(errcode.Unauthorized, err, "%s", p.noLogout("its signature, issuer or audience is wrong").Error())
	}
	var all map[string]json.RawMessage
	var claims struct {
		Subject   string                     `json:"sub"`
		Session   string                     `json:"sid"`
		ID        string                     `json:"jti"`
		Events    map[string]json.RawMessage `json:"events"`
		NotBefore json.Number                `json:"nbf"`
	}
	if token.Claims(&all) != nil || token.Claims(&claims) != nil {
		return l, p.noLogout("its claims cannot be read")
	}
	_, nonce := all["nonce"]
	now := p.clock.Now()
	switch event := bytes.TrimSpace(claims.Events[logoutEvent]); {
	case nonce:
		err = p.noLogout("it has a nonce, so it is the ID token of a login")
	case len(event) == 0 || event[0] != '{':
		err = p.noLogout("it is not about a logout")
	case claims.ID == "":
		err = p.noLogout("it has no jti")
	case claims.Subject == "" && claims.Session == "":
		err = p.noLogout("it names neither a session nor an account")
	case token.IssuedAt.IsZero() || token.IssuedAt.After(now.Add(skew)):
		err = p.noLogout("it was made in the future; are the clocks right?")
	case now.Sub(token.IssuedAt) > maxTokenAge+skew:
		err = p.noLogout("it was made too long ago; are the clocks right?")
	case !token.Expiry.IsZero() && !now.Before(token.Expiry.Add(skew)):
		err = p.noLogout("it has expired; are the clocks right?")
	case notYet(claims.NotBefore, now):
		err = p.noLogout("it is not valid yet; are the clocks right?")
	}
	if err != nil {
		return l, err
	}
	return account.Logout{
		Subject: claims.Subject, Session: claims.Session, TokenID: claims.ID,
		// Keep it a little longer than the token is accepted.
		Until: token.IssuedAt.Add(maxTokenAge + skew + time.Minute),
	}, nil
}

// logoutTyped reports whether a token's type is that of a logout token, or is
// missing. A token of any other type is refused.
func logoutTyped(raw string) bool {
	head, _, _ := strings.Cut(raw, ".")
	text, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		return false
	}
	var header struct {
		Type string `json:"typ"`
	}
	if json.Unmarshal(text, &header) != nil {
		return false
	}
	switch strings.ToLower(strings.TrimPrefix(header.Type, "application/")) {
	case "", "jwt", "logout+jwt":
		return true
	}
	return false
}

func (p *provider) noLogout(why string) error {
	return errcode.New(errcode.Unauthorized, "the logout token of %s is not accepted: %s", p.Title, why)
}
