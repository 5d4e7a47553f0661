// Package oidcserver is an OpenID Connect provider for tests, built on zitadel/oidc.
// That library provides discovery, a login page, PKCE, ID tokens with groups, user
// info, logout at the provider and key rotation. Tests add users, a switch that takes
// the provider down, and changes to the ID token between the library and the client,
// for tokens that must be rejected. README.md lists what it does not cover. Only
// tests use it.
package oidcserver

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/zitadel/oidc/v3/pkg/op"
)

// User is an account at the provider.
type User struct {
	// Subject is the account's permanent id, Name the one typed at login.
	Subject  string
	Name     string
	Password string
	Email    string
	// Unverified: the e-mail address is not verified.
	Unverified bool
	Groups     []string
}

// Client is the one client that the provider knows.
type Client struct {
	ID     string
	Secret string
	// Redirects are where answers may go, LoggedOut where a logout may lead.
	Redirects []string
	LoggedOut []string
}

// Token is an ID token before it is signed.
type Token struct {
	Claims map[string]any
	// Key signs, KeyID is in the header. Unsigned makes it alg none.
	Key      *rsa.PrivateKey
	KeyID    string
	Unsigned bool
	// Type is the header's typ, and HMAC signs with a shared secret in place of
	// Key; both are for tokens that Sign makes.
	Type string
	HMAC []byte
}

// Server is a running provider.
type Server struct {
	// URL is its issuer.
	URL string

	storage  *storage
	provider http.Handler
	callback func(context.Context, string) string
	server   *httptest.Server

	mu     sync.Mutex
	down   bool
	sends  string // where to, of who asks for a token
	tamper func(*Token)
	inform func(claims map[string]any)
	// describe changes the provider's metadata.
	describe func(discovery map[string]any)
	logins   int
}

// New starts a provider for one test. The client's lists may be filled later
// by SetClient.
func New(t testing.TB, users ...User) *Server {
	t.Helper()
	s, err := Start(t.Output(), users...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Start starts a provider that runs until Close; its log has errors only.
func Start(log io.Writer, users ...User) (*Server, error) {
	s := &Server{storage: newStorage(users)}
	s.server = httptest.NewUnstartedServer(s)
	s.URL = "http://" + s.server.Listener.Addr().String()
	secret := sha256.Sum256([]byte(rand.Text()))
	provider, err := op.NewProvider(&op.Config{CryptoKey: secret, CodeMethodS256: true, AuthMethodPost: true, DefaultLogoutRedirectURI: "/signed-out"},
		s.storage, op.StaticIssuer(s.URL), op.WithAllowInsecure(), op.WithLogger(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelError}))))
	if err != nil {
		s.server.Close()
		return nil, fmt.Errorf("start an OpenID Connect provider: %w", err)
	}
	s.provider, s.callback = provider, op.AuthCallbackURL(provider)
	s.server.Start()
	return s, nil
}

// Close ends it.
func (s *Server) Close() { s.server.Close() }

// SetClient says who the client is.
func (s *Server) SetClient(c Client) { s.storage.set(func(st *storage) { st.client = c }) }

// SetUsers replaces the accounts.
func (s *Server) SetUsers(users ...User) {
	s.storage.set(func(st *storage) { st.users = users })
}

// SetDown cuts every connection, as a provider that is gone does.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// SendAway answers token requests with a redirect that repeats the request; empty
// ends it.
func (s *Server) SendAway(to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sends = to
}

// Tamper is given every ID token before a client gets it; nil leaves them
// alone.
func (s *Server) Tamper(change func(*Token)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tamper = change
}

// Inform is given all user info before a client gets it; nil leaves it alone.
func (s *Server) Inform(change func(claims map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inform = change
}

// Describe gets the provider's metadata before a client does.
func (s *Server) Describe(change func(discovery map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.describe = change
}

// Sign makes a token of claims with the provider's key, modified by change: one that
// a provider sends by itself, such as a logout notification.
func (s *Server) Sign(claims map[string]any, change func(*Token)) (string, error) {
	key := s.storage.signingKey()
	token := &Token{Claims: claims, Key: key.private, KeyID: key.id}
	if change != nil {
		change(token)
	}
	return token.encode()
}

// RepeatCodes lets a code be traded again and again, which no provider may.
func (s *Server) RepeatCodes() { s.storage.set(func(st *storage) { st.repeat = true }) }

// RotateKey makes a new key, which signs from now on. The old one is forgotten
// at once, as a provider does in an emergency.
func (s *Server) RotateKey() {
	s.storage.set(func(st *storage) { st.keys = []signingKey{newKey()} })
}

// Logins counts how often a user was sent here to log in.
func (s *Server) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

// ServeHTTP is the provider with its login page.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	down, tamper, inform, describe, sends := s.down, s.tamper, s.inform, s.describe, s.sends
	s.mu.Unlock()
	switch {
	case down:
		hangUp(w)
	case r.URL.Path == "/signin":
		s.signIn(w, r)
	case r.URL.Path == "/signed-out":
		_, _ = io.WriteString(w, "signed out at the provider")
	case r.URL.Path == "/userinfo" && inform != nil:
		s.informed(w, r, inform)
	case r.URL.Path == "/.well-known/openid-configuration" && describe != nil:
		s.informed(w, r, describe)
	case r.URL.Path == "/oauth/token" && sends != "":
		http.Redirect(w, r, sends, http.StatusTemporaryRedirect)
	case r.URL.Path == "/oauth/token" && tamper != nil:
		s.tampered(w, r, tamper)
	default:
		s.provider.ServeHTTP(w, r)
	}
}

func hangUp(w http.ResponseWriter) {
	if h, ok := w.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
			return
		}
	}
	w.WriteHeader(http.StatusBadGateway)
}

// signIn is the login page.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	id, problem := r.FormValue("id"), ""
	if r.Method == http.MethodPost {
		if s.storage.logIn(id, r.FormValue("name"), r.FormValue("password")) {
			http.Redirect(w, r, s.callback(op.ContextWithIssuer(r.Context(), s.URL), id), http.StatusFound)
			return
		}
		problem = "wrong name or password"
	} else {
		s.mu.Lock()
		s.logins++
		s.mu.Unlock()
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, `<!doctype html><title>Provider</title><h1>Provider</h1><p>%s</p><form method=post action=/signin>
<input type=hidden name=id value="%s"><input name=name id=name><input name=password id=password type=password><button id=go>Sign in</button></form>`, problem, html.EscapeString(id))
}
