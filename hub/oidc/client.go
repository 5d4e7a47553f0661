package oidc

import (
	"context"
	"slices"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/axle-cd/axle/hub/application"
)

// Clients finds clients; application.Applications implements it.
type Clients interface {
	// Client returns the client of an id, or NotFound.
	Client(ctx context.Context, id string) (application.Client, error)
	// Authenticate returns the client of an id whose secret is valid, or Unauthorized.
	Authenticate(ctx context.Context, id, secret string) (application.Client, error)
}

// opClient is a Client for the library.
type opClient struct{ application.Client }

var _ op.Client = opClient{}

// GetID implements op.Client.
func (c opClient) GetID() string { return c.ID }

// RedirectURIs implements op.Client.
func (c opClient) RedirectURIs() []string { return c.Client.RedirectURIs }

// PostLogoutRedirectURIs implements op.Client.
func (c opClient) PostLogoutRedirectURIs() []string { return c.Client.PostLogoutRedirectURIs }

// ApplicationType implements op.Client: the library takes web clients for confidential.
func (c opClient) ApplicationType() op.ApplicationType {
	if c.Public {
		return op.ApplicationTypeNative
	}
	return op.ApplicationTypeWeb
}

// AuthMethod implements op.Client.
func (c opClient) AuthMethod() oidc.AuthMethod {
	if c.Public {
		return oidc.AuthMethodNone
	}
	return oidc.AuthMethodBasic
}

// ResponseTypes implements op.Client.
func (c opClient) ResponseTypes() []oidc.ResponseType {
	return []oidc.ResponseType{oidc.ResponseTypeCode}
}

// GrantTypes implements op.Client.
func (c opClient) GrantTypes() []oidc.GrantType {
	if c.Public {
		return []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken, oidc.GrantTypeDeviceCode}
	}
	return grantTypes
}

// LoginURL implements op.Client; the library's authorization endpoint is not used.
func (c opClient) LoginURL(string) string { return "" }

// AccessTokenType implements op.Client: access tokens are opaque, so that they can end.
func (c opClient) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeBearer }

// IDTokenLifetime implements op.Client.
func (c opClient) IDTokenLifetime() time.Duration { return c.Identity }

// DevMode implements op.Client.
func (c opClient) DevMode() bool { return false }

func allScopes() func([]string) []string { return func(scopes []string) []string { return scopes } }

// RestrictAdditionalIdTokenScopes implements op.Client.
func (c opClient) RestrictAdditionalIdTokenScopes() func([]string) []string { return allScopes() }

// RestrictAdditionalAccessTokenScopes implements op.Client.
func (c opClient) RestrictAdditionalAccessTokenScopes() func([]string) []string { return allScopes() }

// IsScopeAllowed implements op.Client.
func (c opClient) IsScopeAllowed(scope string) bool { return slices.Contains(scopes, scope) }

// IDTokenUserinfoClaimsAssertion implements op.Client: API servers and proxies read the ID
// token only, so it has what the scopes allow.
func (c opClient) IDTokenUserinfoClaimsAssertion() bool { return true }

// ClockSkew implements op.Client. The library would add it to the end of tokens as well.
func (c opClient) ClockSkew() time.Duration { return 0 }
