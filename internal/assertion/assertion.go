// Package assertion reads the claims of another issuer's token and compares them with
// patterns. It checks no signature; hub/identity/federation does. Until then the
// claims may only be used to choose which issuer's keys to check with. hub/identity
// calls it.
//
// Invariants: a token has at most 16 KiB; a pattern matches a whole claim or not at
// all; a set of patterns that would admit everybody is rejected, in whatever spelling.
package assertion

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/cost"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// maxToken bounds a token of another issuer, in bytes.
	maxToken = 16 << 10
	// maxClaims bounds the patterns of one trust; maxText bounds names and patterns,
	// in bytes.
	maxClaims = 20
	maxText   = 200
)

// Assertion is the content of a token before its signature was checked. It may only
// be used to choose the issuer to check with.
type Assertion struct {
	Issuer string
	// Signed is the signed part. The signature is left out, because some signatures
	// can be encoded in several ways.
	Signed string
	// Subject is empty if the token does not say it as a text.
	Subject string
	// Expires is zero if the token does not say it as a number.
	Expires time.Time
}

var errNone = errcode.New(errcode.Unauthorized, "subject_token is not a signed JSON web token")

// Parse reads a token's content. Errors are Unauthorized.
func Parse(token string) (Assertion, error) {
	parts := strings.Split(token, ".")
	if len(token) > maxToken || len(parts) != 3 || parts[2] == "" {
		return Assertion{}, errNone
	}
	var header struct {
		Algorithm string `json:"alg"`
	}
	var payload struct {
		Issuer  string `json:"iss"`
		Subject any    `json:"sub"`
		Expires any    `json:"exp"`
	}
	for i, into := range []any{&header, &payload} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(text, into) != nil {
			return Assertion{}, errNone
		}
	}
	if header.Algorithm == "" || strings.EqualFold(header.Algorithm, "none") || payload.Issuer == "" {
		return Assertion{}, errNone
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	out := Assertion{Issuer: payload.Issuer, Signed: hex.EncodeToString(digest[:])}
	out.Subject, _ = payload.Subject.(string)
	if seconds, ok := payload.Expires.(float64); ok {
		out.Expires = time.Unix(int64(seconds), 0)
	}
	return out, nil
}

// CheckPatterns rejects patterns that do not compile, and those that would admit
// strangers: a shared CI signs the jobs of all its users. A pattern is judged by what it
// matches and not by how it is written. Errors are Invalid.
func CheckPatterns(claims map[string]string) error {
	if len(claims) == 0 || len(claims) > maxClaims {
		return errcode.New(errcode.Invalid, "claims: give 1 to %d; an issuer signs tokens for many users, and without a claim such as repository or sub all of them would be accepted", maxClaims)
	}
	narrow := false
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		pattern := claims[name]
		if name == "" || len(name) > maxText || len(pattern) > maxText {
			return errcode.New(errcode.Invalid, "claims: names and patterns have 1 to %d bytes", maxText)
		}
		compiled, err := compile(pattern)
		if err != nil {
			return errcode.New(errcode.Invalid, "claims: %s: %.80q is neither a glob nor a regular expression between slashes", name, pattern)
		}
		switch name {
		case "iss", "aud", "exp", "nbf", "iat":
		default:
			narrow = narrow || !admitsStrangers(pattern, compiled.Regexp)
		}
	}
	if !narrow {
		return errcode.New(errcode.Invalid, "claims: every pattern also matches the jobs of others; give one that only your jobs match, such as repository=org/app")
	}
	return nil
}

// compile compiles a pattern so that it matches the whole of a claim.
func compile(pattern string) (*cost.Pattern, error) {
	if len(pattern) >= 2 && strings.HasPrefix(pattern, "/") && strings.HasSuffix(pattern, "/") {
		// Compile it alone first: otherwise "a)|(b" would break out of the group.
		inner := pattern[1 : len(pattern)-1]
		if _, err := cost.Compile(inner); err != nil {
			return nil, err
		}
		return cost.Compile(`\A(?:` + inner + `)\z`)
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for _, r := range pattern {
		switch r {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteString(`.`)
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	b.WriteString(`\z`)
	return cost.Compile(b.String())
}

// Match returns nil if every pattern matches. All together take at most cost.Budget on the
// claims, which a stranger chose: more is no match. Errors are Unauthorized.
func Match(patterns map[string]string, claims map[string]any) error {
	left := cost.Budget
	for _, name := range slices.Sorted(maps.Keys(patterns)) {
		pattern, err := compile(patterns[name])
		if err != nil {
			return fmt.Errorf("the pattern of claim %s: %w", name, err)
		}
		value, found := claimAt(claims, name)
		if !found || !claimMatches(pattern, value, &left) {
			return errcode.New(errcode.Unauthorized, "claim %s does not match the trust's pattern", name)
		}
	}
	return nil
}

// claimAt finds a claim by its name, or by a path of names separated by dots.
func claimAt(claims map[string]any, name string) (any, bool) {
	if v, ok := claims[name]; ok {
		return v, true
	}
	for i, r := range name {
		if r != '.' {
			continue
		}
		if inner, ok := claims[name[:i]].(map[string]any); ok {
			if v, found := claimAt(inner, name[i+1:]); found {
				return v, true
			}
		}
	}
	return nil, false
}

// claimMatches compares one value, or any item of a list, with the steps that are left.
func claimMatches(pattern *cost.Pattern, value any, left *int) bool {
	text := ""
	switch v := value.(type) {
	case string:
		text = v
	case bool:
		text = strconv.FormatBool(v)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		return slices.ContainsFunc(v, func(one any) bool {
			if _, nested := one.([]any); nested {
				return false
			}
			return claimMatches(pattern, one, left)
		})
	default:
		return false
	}
	matches, steps, err := pattern.Match(text, *left)
	if *left -= steps; err != nil {
		*left = 0
	}
	return matches
}
