package login

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// skew is how far a provider's clock may differ from the hub's.
	skew = 5 * time.Minute
	// maxTokenAge limits the age of a login's ID token.
	maxTokenAge = 10 * time.Minute
	// maxTime is the last accepted second, about 1,900 years from now.
	maxTime = 60_000_000_000
	// maxIDToken limits an ID token, in bytes.
	maxIDToken = 128 << 10
)

// verify verifies an ID token and returns its claims, completed from the
// provider's user info where they are missing. Unauthorized says what is wrong.
func (p *provider) verify(ctx context.Context, found *discovery, raw, nonce string, tokens *oauth2.Token) (account.Claims, error) {
	if raw == "" || len(raw) > maxIDToken {
		return account.Claims{}, p.notAccepted("it gave no ID token")
	}
	// Times are checked below, both ways with the same skew.
	token, err := found.Verifier(&oidc.Config{ClientID: p.ClientID, SkipExpiryCheck: true}).Verify(ctx, raw)
	if err != nil {
		return account.Claims{}, errcode.Hide(errcode.Unauthorized, err, "%s", p.notAccepted(p.unverified(raw, err)).Error())
	}
	var more struct {
		NotBefore json.Number `json:"nbf"`
		Azp       string      `json:"azp"`
	}
	if err := token.Claims(&more); err != nil {
		return account.Claims{}, p.notAccepted("its claims cannot be read")
	}
	switch now := p.clock.Now(); {
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1:
		err = p.notAccepted("it belongs to another login")
	case token.Expiry.IsZero() || !now.Before(token.Expiry.Add(skew)):
		err = p.notAccepted("it has expired; are the clocks right?")
	case token.IssuedAt.IsZero() || token.IssuedAt.After(now.Add(skew)):
		err = p.notAccepted("it was made in the future; are the clocks right?")
	case now.Sub(token.IssuedAt) > maxTokenAge+skew:
		err = p.notAccepted("it was made too long ago; are the clocks right?")
	case notYet(more.NotBefore, now):
		err = p.notAccepted("it is not valid yet; are the clocks right?")
	case (len(token.Audience) > 1 || more.Azp != "") && more.Azp != p.ClientID:
		err = p.notAccepted("it was made for another client")
	case token.AccessTokenHash != "" && token.VerifyAccessToken(tokens.AccessToken) != nil:
		err = p.notAccepted("it does not match its access token")
	}
	if err != nil {
		return account.Claims{}, err
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return account.Claims{}, p.notAccepted("its claims cannot be read")
	}
	return p.complete(ctx, found, token.Subject, claims, tokens)
}

func (p *provider) notAccepted(why string) error {
	return errcode.New(errcode.Unauthorized, "the ID token of %s is not accepted: %s", p.Title, why)
}

// notYet reports whether a token's not-before time is in the future.
func notYet(nbf json.Number, now time.Time) bool {
	seconds, err := nbf.Float64()
	return nbf != "" && (err != nil || time.Unix(int64(seconds), 0).After(now.Add(skew)))
}

// complete reads the claims, and reads the provider's user info for an address
// or groups that the token lacks.
func (p *provider) complete(ctx context.Context, found *discovery, subject string, claims map[string]any, tokens *oauth2.Token) (account.Claims, error) {
	groups, hasGroups := p.groups(claims)
	known := hasGroups
	email, _ := claims["email"].(string)
	verified := account.AddressVerified(claims)
	all := claims // for people to see; what is decided below goes by claims
	if (email == "" || (p.GroupsClaim != "" && !hasGroups)) && found.UserInfoEndpoint() != "" {
		info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
		switch {
		case err != nil && email == "":
			return account.Claims{}, p.unreachable(err)
		case err != nil:
			// The groups stay those of the token: none.
		case info.Subject != subject:
			return account.Claims{}, p.notAccepted("its user info is about somebody else")
		default:
			var more map[string]any
			if err := info.Claims(&more); err != nil {
				return account.Claims{}, p.notAccepted("its user info cannot be read")
			}
			if email == "" {
				email, _ = more["email"].(string)
				verified, claims["email_verified"] = account.AddressVerified(more), more["email_verified"]
			}
			if !hasGroups {
				groups, known = p.groups(more)
			}
			all = maps.Clone(more)
			maps.Copy(all, claims)
		}
	}
	if !known && p.leftOut(claims) {
		return account.Claims{}, errcode.New(errcode.Unauthorized, "%s left your groups out of the login, because they are too many for a token; an administrator can let it send only the groups that are assigned to the application, or roles of the application", p.Title)
	}
	at, _ := claims["auth_time"].(float64)
	if at < 0 || at > maxTime {
		at = 0
	}
	return account.Claims{
		Subject: subject, Email: email, EmailVerified: verified, Groups: groups,
		AuthenticatedAt: min(int64(at)*time.Second.Microseconds(), clock.Micros(p.clock.Now())), All: all,
	}, nil
}

// leftOut reports whether a provider had groups and did not send them: Entra ID names
// another address for them where a person has more than 200. Without groups, all
// memberships that it gave would end.
func (p *provider) leftOut(claims map[string]any) bool {
	if p.GroupsClaim == "" {
		return false
	}
	elsewhere, _ := claims["_claim_names"].(map[string]any)
	_, named := elsewhere[p.GroupsClaim]
	has, _ := claims["hasgroups"].(bool)
	return named || has
}

// claimed returns the value of the groups claim. A name with dots is a path into objects,
// unless a claim has exactly that name.
func (p *provider) claimed(claims map[string]any) (v any, ok bool) {
	if p.GroupsClaim == "" {
		return nil, false
	}
	if v, ok = claims[p.GroupsClaim]; ok {
		return v, true
	}
	v = claims
	for part := range strings.SplitSeq(p.GroupsClaim, ".") {
		object, isObject := v.(map[string]any)
		if !isObject {
			return nil, false
		}
		if v, ok = object[part]; !ok {
			return nil, false
		}
	}
	return v, true
}

// groups reads the groups claim: a list of texts, one text, or an object with the names as
// its fields, as some providers send roles. All of them are read, since the answer's
// length is bounded, and any of them may be mapped.
func (p *provider) groups(claims map[string]any) ([]string, bool) {
	v, ok := p.claimed(claims)
	if !ok {
		return nil, false
	}
	switch v := v.(type) {
	case string:
		return []string{v}, true
	case map[string]any:
		return slices.Sorted(maps.Keys(v)), true
	case []any:
		all, seen := make([]string, 0, len(v)), map[string]bool{}
		for _, one := range v {
			if text, ok := one.(string); ok && !seen[text] {
				all, seen[text] = append(all, text), true
			}
		}
		return all, true
	}
	return nil, true
}

// unread says why a groups claim gives nothing, or less than it has; empty when all of it
// was read.
func (p *provider) unread(claims map[string]any) string {
	v, ok := p.claimed(claims)
	if !ok || v == nil {
		return ""
	}
	switch v := v.(type) {
	case string, map[string]any:
		return ""
	case []any:
		for _, one := range v {
			if _, ok := one.(string); !ok {
				return fmt.Sprintf("an element of the claim is %s and not a text, and is left out", kindOf(one))
			}
		}
		return ""
	}
	return fmt.Sprintf("the claim is %s; a list of texts, one text or an object with the names is needed", kindOf(v))
}

func kindOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case float64:
		return "a number"
	case bool:
		return "a boolean"
	}
	return "null"
}

// unverified says why an ID token was not verified, by what it says itself.
func (p *provider) unverified(raw string, err error) string {
	var head struct {
		Algorithm string `json:"alg"`
	}
	var body struct {
		Issuer   string `json:"iss"`
		Audience any    `json:"aud"`
	}
	parts := strings.Split(raw, ".")
	for i, into := range []any{&head, &body} {
		if i >= len(parts) {
			return "it is no JSON Web Token"
		}
		text, derr := base64.RawURLEncoding.DecodeString(parts[i])
		if derr != nil || bounded.JSON(text, into, bounded.Most(maxIDToken)) != nil {
			return "it is no JSON Web Token"
		}
	}
	one, _ := body.Audience.(string)
	many, _ := body.Audience.([]any)
	switch {
	case strings.HasPrefix(head.Algorithm, "HS"):
		return fmt.Sprintf("it is signed with %.10s, a secret that others know too; an administrator should choose RS256 or ES256 for the ID tokens of the client there", head.Algorithm)
	case head.Algorithm == "" || strings.EqualFold(head.Algorithm, "none"):
		return "it is not signed"
	case body.Issuer != p.Issuer:
		return fmt.Sprintf("its issuer is %.200q, and that of the provider is %q", body.Issuer, p.Issuer)
	case one != p.ClientID && !slices.Contains(many, any(p.ClientID)):
		return fmt.Sprintf("it is not for the client ID %q of the hub, which its audience lacks", p.ClientID)
	case strings.Contains(err.Error(), "fetching keys"):
		return "the provider's keys cannot be fetched"
	case strings.Contains(err.Error(), "source does not exist"):
		return "its _claim_names has a source that its _claim_sources lacks"
	}
	return fmt.Sprintf("none of the provider's keys made its signature (%.10s)", head.Algorithm)
}
