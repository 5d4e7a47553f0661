package oidc

import (
	"context"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// storage is the Provider for the library. What the library would begin or store by itself is
// refused: authorization is here, and clients have no keys.
type storage struct{ *Provider }

var (
	_ op.Storage                    = (*storage)(nil)
	_ op.CanSetUserinfoFromRequest  = (*storage)(nil)
	_ op.DeviceAuthorizationStorage = (*storage)(nil)
	_ op.ClientCredentialsStorage   = (*storage)(nil)
)

var errElsewhere = errcode.New(errcode.Internal, "this is not done by the library")

// used is a grant as the library sees it, for a code or a refresh token.
type used struct {
	Grant
	// scopes are those of the tokens that are issued now.
	scopes []string
}

// GetID is op.AuthRequest's.
func (u *used) GetID() string { return u.ID }

// GetACR is op.AuthRequest's.
func (u *used) GetACR() string { return u.Class }

// GetAMR is op.AuthRequest's.
func (u *used) GetAMR() []string { return u.Methods }

// GetAudience is op.AuthRequest's.
func (u *used) GetAudience() []string { return []string{u.ClientID} }

// GetAuthTime is op.AuthRequest's.
func (u *used) GetAuthTime() time.Time { return clock.FromMicros(u.AuthAt) }

// GetClientID is op.AuthRequest's.
func (u *used) GetClientID() string { return u.ClientID }

// GetScopes is op.AuthRequest's.
func (u *used) GetScopes() []string { return u.scopes }

// GetSubject is op.AuthRequest's.
func (u *used) GetSubject() string { return u.UserID }

// SetCurrentScopes is op.RefreshTokenRequest's.
func (u *used) SetCurrentScopes(scopes []string) { u.scopes = scopes }

// ofCode is a grant whose code is traded.
type ofCode struct{ *used }

var _ op.AuthRequest = ofCode{}

// GetCodeChallenge implements op.AuthRequest.
func (u ofCode) GetCodeChallenge() *oidc.CodeChallenge {
	if u.Challenge == "" {
		return nil
	}
	return &oidc.CodeChallenge{Challenge: u.Challenge, Method: oidc.CodeChallengeMethodS256}
}

// GetNonce implements op.AuthRequest.
func (u ofCode) GetNonce() string { return u.Nonce }

// GetRedirectURI implements op.AuthRequest.
func (u ofCode) GetRedirectURI() string { return u.Redirect }

// GetResponseType implements op.AuthRequest.
func (u ofCode) GetResponseType() oidc.ResponseType { return oidc.ResponseTypeCode }

// GetResponseMode implements op.AuthRequest.
func (u ofCode) GetResponseMode() oidc.ResponseMode { return oidc.ResponseModeQuery }

// GetState implements op.AuthRequest.
func (u ofCode) GetState() string { return "" }

// Done implements op.AuthRequest.
func (u ofCode) Done() bool { return true }

// refreshed is a grant whose refresh token is used.
type refreshed struct{ *used }

var _ op.RefreshTokenRequest = refreshed{}

// CreateAuthRequest implements op.AuthStorage.
func (s *storage) CreateAuthRequest(context.Context, *oidc.AuthRequest, string) (op.AuthRequest, error) {
	return nil, errElsewhere
}

// AuthRequestByID implements op.AuthStorage.
func (s *storage) AuthRequestByID(context.Context, string) (op.AuthRequest, error) {
	return nil, errElsewhere
}

// SaveAuthCode implements op.AuthStorage.
func (s *storage) SaveAuthCode(context.Context, string, string) error { return errElsewhere }

// DeleteAuthRequest implements op.AuthStorage: the code is used by AuthRequestByCode.
func (s *storage) DeleteAuthRequest(context.Context, string) error { return nil }

// AuthRequestByCode implements op.AuthStorage: Provider.token has traded the code, which is
// used up even if what follows fails.
func (s *storage) AuthRequestByCode(ctx context.Context, _ string) (op.AuthRequest, error) {
	g := flight(ctx).grant
	return ofCode{&used{g, g.Scopes}}, nil
}

// TokenRequestByRefreshToken implements op.AuthStorage: Provider.token has checked the token.
func (s *storage) TokenRequestByRefreshToken(ctx context.Context, _ string) (op.RefreshTokenRequest, error) {
	g := flight(ctx).grant
	return refreshed{&used{g, g.Scopes}}, nil
}

// CreateAccessToken implements op.AuthStorage.
func (s *storage) CreateAccessToken(ctx context.Context, r op.TokenRequest) (string, time.Time, error) {
	f := flight(ctx)
	id, until, err := s.grants.access(ctx, f.grant, r.GetScopes(), s.now(), f.client.Access)
	if err != nil {
		return "", until, s.told(invalidGrant(err))
	}
	return id, until, nil
}

// CreateAccessAndRefreshTokens implements op.AuthStorage.
func (s *storage) CreateAccessAndRefreshTokens(ctx context.Context, r op.TokenRequest, present string) (id, next string, until time.Time, err error) {
	f := flight(ctx)
	err = s.config.Stores.Writer.Write(ctx, func(ctx context.Context) error {
		if next, err = s.grants.refresh(ctx, f.grant, present, f.client.Refresh); err != nil {
			return err
		}
		id, until, err = s.grants.access(ctx, f.grant, r.GetScopes(), s.now(), f.client.Access)
		return err
	})
	if err != nil {
		return "", "", until, s.told(invalidGrant(err))
	}
	return id, next, until, nil
}

// TerminateSession implements op.AuthStorage.
func (s *storage) TerminateSession(context.Context, string, string) error { return errElsewhere }

// RevokeToken implements op.AuthStorage.
func (s *storage) RevokeToken(context.Context, string, string, string) *oidc.Error {
	return oidc.ErrServerError()
}

// GetRefreshTokenInfo implements op.AuthStorage.
func (s *storage) GetRefreshTokenInfo(context.Context, string, string) (string, string, error) {
	return "", "", op.ErrInvalidRefreshToken
}

// SigningKey implements op.AuthStorage: the key of the algorithm that the client chose.
func (s *storage) SigningKey(ctx context.Context) (op.SigningKey, error) {
	k, err := s.keys.signing(ctx, flight(ctx).client.Algorithm)
	if err != nil {
		return nil, s.told(err)
	}
	return k, nil
}

// SignatureAlgorithms implements op.AuthStorage.
func (s *storage) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.RS256, jose.ES256}, nil
}

// KeySet implements op.AuthStorage: the public halves, which the library publishes as they are.
func (s *storage) KeySet(ctx context.Context) ([]op.Key, error) { return s.keys.published(ctx) }

// GetClientByClientID implements op.OPStorage: only the client of the request, which has
// shown its secret.
func (s *storage) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	if c := flight(ctx).client; c.ID == id && id != "" {
		return opClient{c}, nil
	}
	return nil, errClient
}

// AuthorizeClientIDSecret implements op.OPStorage: Provider.authenticated has checked the secret.
func (s *storage) AuthorizeClientIDSecret(ctx context.Context, id, _ string) error {
	if c := flight(ctx).client; c.ID == id && !c.Public && id != "" {
		return nil
	}
	return errClient
}

// SetUserinfoFromScopes implements op.OPStorage; SetUserinfoFromRequest does its work.
func (s *storage) SetUserinfoFromScopes(context.Context, *oidc.UserInfo, string, string, []string) error {
	return nil
}

// SetUserinfoFromRequest implements op.CanSetUserinfoFromRequest: the claims of an ID token.
func (s *storage) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, r op.IDTokenRequest, scopes []string) error {
	f := flight(ctx)
	person, err := s.gate.person(ctx, f.client, r.GetSubject())
	if err != nil {
		return s.told(invalidGrant(err))
	}
	if err := s.fill(info, f.client, person, scopes); err != nil {
		return oidc.ErrInvalidGrant().WithDescription("%s", errcode.Message(err))
	}
	if f.grant.SessionID != "" {
		info.AppendClaims("sid", f.grant.SessionID)
	}
	return nil
}

// SetUserinfoFromToken implements op.OPStorage; Provider.userinfo answers.
func (s *storage) SetUserinfoFromToken(context.Context, *oidc.UserInfo, string, string, string) error {
	return errElsewhere
}

// SetIntrospectionFromToken implements op.OPStorage.
func (s *storage) SetIntrospectionFromToken(context.Context, *oidc.IntrospectionResponse, string, string, string) error {
	return errElsewhere
}

// GetPrivateClaimsFromScopes implements op.OPStorage; access tokens have no claims.
func (s *storage) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return nil, nil
}

// GetKeyByIDAndClientID implements op.OPStorage.
func (s *storage) GetKeyByIDAndClientID(context.Context, string, string) (*jose.JSONWebKey, error) {
	return nil, errClient
}

// ValidateJWTProfileScopes implements op.OPStorage.
func (s *storage) ValidateJWTProfileScopes(context.Context, string, []string) ([]string, error) {
	return nil, errElsewhere
}

// Health implements op.Storage.
func (s *storage) Health(context.Context) error { return nil }

// known returns those of the scopes that there are, each once.
func known(asked []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return !slices.Contains(asked, s) })
}
