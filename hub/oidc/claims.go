package oidc

import (
	"context"
	"net/http"
	"slices"

	"github.com/zitadel/oidc/v3/pkg/oidc"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/email"
	"github.com/axle-cd/axle/internal/errcode"
)

// scopeGroups asks for the names of groups.
const scopeGroups = "groups"

// scopes are those that a client may ask for; others are left out.
var scopes = []string{oidc.ScopeOpenID, oidc.ScopeProfile, oidc.ScopeEmail, scopeGroups, oidc.ScopeOfflineAccess}

var claims = []string{"sub", "aud", "exp", "iat", "iss", "auth_time", "nonce", "acr", "amr", "at_hash", "azp", "sid", "name", "preferred_username", "email", "email_verified", "groups"}

// fill sets what a client may know of a person by the scopes of a token.
func (p *Provider) fill(info *oidc.UserInfo, c application.Client, person identity.Principal, scopes []string) error {
	info.Subject = person.ID
	if slices.Contains(scopes, oidc.ScopeProfile) {
		info.Name, info.PreferredUsername = person.Name, person.Name
	}
	// Only an address that was verified, or that an administrator gave, is a name by itself.
	if address, ok := email.Parse(person.Name); ok && slices.Contains(scopes, oidc.ScopeEmail) {
		info.Email, info.EmailVerified = address, true
	}
	if slices.Contains(scopes, scopeGroups) {
		names, err := p.gate.groups(c, person)
		if err != nil {
			return err
		}
		info.AppendClaims(scopeGroups, names)
	}
	return nil
}

// userinfo answers with the claims of an access token's person, as they are now.
func (p *Provider) userinfo(w http.ResponseWriter, r *http.Request, s Secret, g Grant) {
	info, err := p.informed(r.Context(), s, g)
	if err != nil {
		status := http.StatusForbidden
		if errcode.Is(err, errcode.Internal) {
			status = http.StatusInternalServerError
		}
		respond(w, &oidc.Error{ErrorType: "insufficient_scope", Description: errcode.Message(err)}, status)
		return
	}
	respond(w, info, http.StatusOK)
}

func (p *Provider) informed(ctx context.Context, s Secret, g Grant) (*oidc.UserInfo, error) {
	c, err := p.config.Clients.Client(ctx, g.ClientID)
	if err != nil {
		return nil, err
	}
	if g.UserID == "" || !slices.Contains(s.Scopes, oidc.ScopeOpenID) {
		return nil, errcode.New(errcode.Forbidden, "the access token is not a person's")
	}
	person, err := p.gate.person(ctx, c, g.UserID)
	if err != nil {
		return nil, err
	}
	info := new(oidc.UserInfo)
	return info, p.fill(info, c, person, s.Scopes)
}
