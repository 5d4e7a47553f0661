package oidcserver

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

var (
	_ op.Storage                   = (*storage)(nil)
	_ op.CanSetUserinfoFromRequest = (*storage)(nil)
)

var errUnknown = errors.New("not known here")

// storage is the library's storage, in memory.
type storage struct {
	mu       sync.Mutex
	client   Client
	users    []User
	keys     []signingKey
	requests map[string]*request
	codes    map[string]string
	tokens   map[string]granted
	// repeat keeps codes that were used.
	repeat bool
}

type granted struct {
	subject string
	scopes  []string
}

func newStorage(users []User) *storage {
	return &storage{users: users, keys: []signingKey{newKey()}, requests: map[string]*request{}, codes: map[string]string{}, tokens: map[string]granted{}}
}

func (s *storage) set(change func(*storage)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *storage) logIn(id, name, password string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.requests[id]
	for _, u := range s.users {
		if r != nil && u.Name == name && u.Password == password {
			r.subject, r.at = u.Subject, time.Now()
			return true
		}
	}
	return false
}

// request is a login that is under way.
type request struct {
	id      string
	asked   oidc.AuthRequest
	subject string
	at      time.Time
}

func (r *request) GetID() string          { return r.id }
func (r *request) GetACR() string         { return "" }
func (r *request) GetAMR() []string       { return []string{"pwd"} }
func (r *request) GetAudience() []string  { return []string{r.asked.ClientID} }
func (r *request) GetAuthTime() time.Time { return r.at }
func (r *request) GetClientID() string    { return r.asked.ClientID }
func (r *request) GetNonce() string       { return r.asked.Nonce }
func (r *request) GetRedirectURI() string { return r.asked.RedirectURI }
func (r *request) GetScopes() []string    { return r.asked.Scopes }
func (r *request) GetState() string       { return r.asked.State }
func (r *request) GetSubject() string     { return r.subject }
func (r *request) Done() bool             { return r.subject != "" }
func (r *request) GetCodeChallenge() *oidc.CodeChallenge {
	if r.asked.CodeChallenge == "" {
		return nil
	}
	return &oidc.CodeChallenge{Challenge: r.asked.CodeChallenge, Method: r.asked.CodeChallengeMethod}
}
func (r *request) GetResponseType() oidc.ResponseType { return r.asked.ResponseType }
func (r *request) GetResponseMode() oidc.ResponseMode { return r.asked.ResponseMode }

// CreateAuthRequest is op.Storage. A client without PKCE is refused.
func (s *storage) CreateAuthRequest(_ context.Context, asked *oidc.AuthRequest, _ string) (op.AuthRequest, error) {
	if asked.CodeChallengeMethod != oidc.CodeChallengeMethodS256 || asked.Nonce == "" {
		return nil, oidc.ErrInvalidRequest().WithDescription("PKCE with S256 and a nonce are wanted")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &request{id: rand.Text(), asked: *asked}
	s.requests[r.id] = r
	return r, nil
}

func (s *storage) AuthRequestByID(_ context.Context, id string) (op.AuthRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.requests[id]; ok {
		return r, nil
	}
	return nil, errUnknown
}

func (s *storage) AuthRequestByCode(ctx context.Context, code string) (op.AuthRequest, error) {
	s.mu.Lock()
	id, ok := s.codes[code]
	s.mu.Unlock()
	if !ok {
		return nil, errUnknown
	}
	return s.AuthRequestByID(ctx, id)
}

func (s *storage) SaveAuthCode(_ context.Context, id, code string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes[code] = id
	return nil
}

func (s *storage) DeleteAuthRequest(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repeat {
		return nil
	}
	delete(s.requests, id)
	for code, of := range s.codes {
		if of == id {
			delete(s.codes, code)
		}
	}
	return nil
}

func (s *storage) CreateAccessToken(_ context.Context, r op.TokenRequest) (string, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := rand.Text()
	s.tokens[id] = granted{r.GetSubject(), r.GetScopes()}
	return id, time.Now().Add(time.Hour), nil
}

func (s *storage) CreateAccessAndRefreshTokens(ctx context.Context, r op.TokenRequest, _ string) (string, string, time.Time, error) {
	id, until, err := s.CreateAccessToken(ctx, r)
	return id, rand.Text(), until, err
}

func (s *storage) TokenRequestByRefreshToken(context.Context, string) (op.RefreshTokenRequest, error) {
	return nil, errUnknown
}
func (s *storage) TerminateSession(context.Context, string, string) error { return nil }
func (s *storage) RevokeToken(context.Context, string, string, string) *oidc.Error {
	return nil
}
func (s *storage) GetRefreshTokenInfo(context.Context, string, string) (string, string, error) {
	return "", "", op.ErrInvalidRefreshToken
}

// signingKey is a key of the provider, as op.SigningKey and op.Key.
type signingKey struct {
	id      string
	private *rsa.PrivateKey
}

func newKey() signingKey {
	private, err := rsa.GenerateKey(rand.Reader, 1024) // an eighth of the time of 2048
	if err != nil {
		return signingKey{}
	}
	return signingKey{rand.Text(), private}
}

func (k signingKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k signingKey) Key() any                                    { return k.private }
func (k signingKey) ID() string                                  { return k.id }

type publicKey struct{ signingKey }

func (k publicKey) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k publicKey) Use() string                        { return "sig" }
func (k publicKey) Key() any                           { return &k.private.PublicKey }

func (s *storage) signingKey() signingKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[0]
}

func (s *storage) SigningKey(context.Context) (op.SigningKey, error) { return s.signingKey(), nil }

func (s *storage) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.RS256}, nil
}

func (s *storage) KeySet(context.Context) ([]op.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []op.Key
	for _, k := range s.keys {
		all = append(all, publicKey{k})
	}
	return all, nil
}

func (s *storage) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id != s.client.ID {
		return nil, oidc.ErrInvalidClient().WithDescription("client not known")
	}
	return client{s.client}, nil
}

func (s *storage) AuthorizeClientIDSecret(_ context.Context, id, secret string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id != s.client.ID || secret != s.client.Secret {
		return oidc.ErrInvalidClient().WithDescription("wrong secret")
	}
	return nil
}

func (s *storage) SetUserinfoFromScopes(context.Context, *oidc.UserInfo, string, string, []string) error {
	return nil
}

func (s *storage) SetUserinfoFromRequest(_ context.Context, info *oidc.UserInfo, r op.IDTokenRequest, scopes []string) error {
	return s.fill(info, r.GetSubject(), scopes)
}

func (s *storage) SetUserinfoFromToken(_ context.Context, info *oidc.UserInfo, tokenID, _, _ string) error {
	s.mu.Lock()
	of, ok := s.tokens[tokenID]
	s.mu.Unlock()
	if !ok {
		return errUnknown
	}
	return s.fill(info, of.subject, of.scopes)
}

// fill sets the claims of a user that the scopes allow.
func (s *storage) fill(info *oidc.UserInfo, subject string, scopes []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.users {
		if u.Subject != subject {
			continue
		}
		info.Subject = subject
		if slices.Contains(scopes, oidc.ScopeEmail) {
			info.Email, info.EmailVerified = u.Email, oidc.Bool(!u.Unverified)
		}
		if slices.Contains(scopes, "groups") {
			info.AppendClaims("groups", u.Groups)
		}
		return nil
	}
	return errUnknown
}

func (s *storage) SetIntrospectionFromToken(context.Context, *oidc.IntrospectionResponse, string, string, string) error {
	return errUnknown
}
func (s *storage) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return map[string]any{}, nil
}
func (s *storage) GetKeyByIDAndClientID(context.Context, string, string) (*jose.JSONWebKey, error) {
	return nil, errUnknown
}
func (s *storage) ValidateJWTProfileScopes(_ context.Context, _ string, scopes []string) ([]string, error) {
	return scopes, nil
}
func (s *storage) Health(context.Context) error { return nil }

// client is Client as the library wants to see it.
type client struct{ Client }

func (c client) GetID() string                       { return c.ID }
func (c client) RedirectURIs() []string              { return c.Redirects }
func (c client) PostLogoutRedirectURIs() []string    { return c.LoggedOut }
func (c client) ApplicationType() op.ApplicationType { return op.ApplicationTypeWeb }
func (c client) AuthMethod() oidc.AuthMethod {
	if c.Secret == "" {
		return oidc.AuthMethodNone
	}
	return oidc.AuthMethodBasic
}
func (c client) ResponseTypes() []oidc.ResponseType {
	return []oidc.ResponseType{oidc.ResponseTypeCode}
}
func (c client) GrantTypes() []oidc.GrantType        { return []oidc.GrantType{oidc.GrantTypeCode} }
func (c client) LoginURL(id string) string           { return "/signin?id=" + id }
func (c client) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeBearer }
func (c client) IDTokenLifetime() time.Duration      { return time.Hour }
func (c client) DevMode() bool                       { return true }
func (c client) RestrictAdditionalIdTokenScopes() func([]string) []string {
	return func(scopes []string) []string { return scopes }
}
func (c client) RestrictAdditionalAccessTokenScopes() func([]string) []string {
	return func(scopes []string) []string { return scopes }
}
func (c client) IsScopeAllowed(scope string) bool     { return scope == "groups" }
func (c client) IDTokenUserinfoClaimsAssertion() bool { return true }
func (c client) ClockSkew() time.Duration             { return 0 }
