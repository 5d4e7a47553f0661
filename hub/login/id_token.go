package login

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// skew is how far a provider's clock may differ from the hub's.
	skew = 5 * time.Minute
	// maxTokenAge limits the age of a login's ID token.
	maxTokenAge = 10 * time.Minute
	// maxGroups limits how many values of a groups claim are read.
	maxGroups = 2000
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
		return account.Claims{}, errcode.Hide(errcode.Unauthorized, err, "%s", p.notAccepted("its signature, issuer or audience is wrong").Error())
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
				groups, _ = p.groups(more)
			}
			all = maps.Clone(more)
			maps.Copy(all, claims)
		}
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

// groups reads the groups claim: a list of texts, or one text. A name with dots
// is a path into objects, unless a claim has exactly that name.
func (p *provider) groups(claims map[string]any) ([]string, bool) {
	if p.GroupsClaim == "" {
		return nil, false
	}
	v, ok := claims[p.GroupsClaim]
	if !ok {
		var at any = claims
		for part := range strings.SplitSeq(p.GroupsClaim, ".") {
			object, isObject := at.(map[string]any)
			if !isObject {
				return nil, false
			}
			if at, ok = object[part]; !ok {
				return nil, false
			}
		}
		v = at
	}
	switch v := v.(type) {
	case string:
		return []string{v}, true
	case []any:
		var all []string
		for _, one := range v[:min(len(v), maxGroups)] {
			if text, ok := one.(string); ok && !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
		return all, true
	}
	return nil, true
}
