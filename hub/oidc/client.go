package oidc

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/axle-cd/axle/internal/email"
)

// defaultAccess, defaultID and defaultRefresh are the lifetimes of a client that names none.
const defaultAccess, defaultID, defaultRefresh = 15 * time.Minute, 10 * time.Minute, 30 * 24 * time.Hour

// Client is an application that people log in to.
type Client struct {
	// ID is what the application calls itself in the protocol; Name and Title are for people.
	ID          string
	Name, Title string
	// ProjectID is the project that a person must be able to read.
	ProjectID string
	// Public clients have no secret.
	Public bool
	// RedirectURIs are where answers may go, PostLogoutRedirectURIs where a logout may lead.
	RedirectURIs, PostLogoutRedirectURIs []string
	// BackChannelLogoutURI is notified of logouts; empty for none.
	BackChannelLogoutURI string
	// Users and Groups are the names of those who may log in.
	Users, Groups []string
	// GroupsPrefix and BoundGroupsOnly limit the claim groups.
	GroupsPrefix    string
	BoundGroupsOnly bool
	// Access, Identity and Refresh are the lifetimes of tokens; zero is the default.
	Access, Identity, Refresh time.Duration
	// SecondFactor lets in only those who gave one.
	SecondFactor bool
	// Algorithm signs ID tokens, RS256 or ES256; empty is RS256.
	Algorithm string
	// DeclaredBy is whom to ask for access.
	DeclaredBy string
}

// Clients finds clients.
type Clients interface {
	// Client returns the client of an id, or NotFound.
	Client(ctx context.Context, id string) (Client, error)
	// Authenticate returns the client of an id whose secret is valid, or Unauthorized.
	Authenticate(ctx context.Context, id, secret string) (Client, error)
}

// Admits reports whether a person is one of those who may log in.
func (c Client) Admits(name string, groups []string) bool {
	return slices.ContainsFunc(c.Users, func(user string) bool { return email.Lower(user) == email.Lower(name) }) ||
		slices.ContainsFunc(groups, func(group string) bool { return slices.Contains(c.Groups, group) })
}

// GroupsFor are those of a person's groups that tokens for the client have.
func (c Client) GroupsFor(groups []string) []string {
	some := []string{}
	for _, g := range groups {
		if strings.HasPrefix(g, c.GroupsPrefix) && (!c.BoundGroupsOnly || slices.Contains(c.Groups, g)) {
			some = append(some, g)
		}
	}
	return some
}

// ReturnsTo reports whether answers may go to a URI.
func (c Client) ReturnsTo(uri string) bool { return matches(c.RedirectURIs, uri, c.Public) }

// LeavesTo reports whether a logout may lead to a URI.
func (c Client) LeavesTo(uri string) bool { return matches(c.PostLogoutRedirectURIs, uri, c.Public) }

func matches(all []string, uri string, public bool) bool {
	return slices.Contains(all, uri) || public && slices.ContainsFunc(all, func(allowed string) bool { return sameLoopback(allowed, uri) })
}

// sameLoopback reports whether two URIs differ only in the port of a loopback address, which
// a program on a person's machine cannot choose beforehand.
func sameLoopback(allowed, uri string) bool {
	a, err := url.Parse(allowed)
	if err != nil || a.Scheme != "http" || !net.ParseIP(a.Hostname()).IsLoopback() {
		return false
	}
	u, err := url.Parse(uri)
	if err != nil || u.User != nil || u.Port() == "" || strings.Contains(uri, "\\") {
		return false
	}
	rest, ok := strings.CutPrefix(uri, "http://"+u.Host)
	return ok && u.Hostname() == a.Hostname() && rest == strings.TrimPrefix(allowed, "http://"+a.Host)
}

func orDefault(d, standard time.Duration) time.Duration {
	if d <= 0 {
		return standard
	}
	return d
}

// algorithm returns the one that signs the client's ID tokens.
func (c Client) algorithm() string {
	if c.Algorithm == es256 {
		return es256
	}
	return rs256
}

// opClient is a Client for the library.
type opClient struct{ Client }

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
	return []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken}
}

// LoginURL implements op.Client; the library's authorization endpoint is not used.
func (c opClient) LoginURL(string) string { return "" }

// AccessTokenType implements op.Client: access tokens are opaque, so that they can end.
func (c opClient) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeBearer }

// IDTokenLifetime implements op.Client.
func (c opClient) IDTokenLifetime() time.Duration { return orDefault(c.Identity, defaultID) }

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
