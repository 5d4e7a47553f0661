package assertion

import (
	"encoding/base64"
	"strconv"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/errcode"
)

// A text that is not signed is not an issuer's token, whoever would check its
// signature later.
func TestAssertionsThatAreNone(t *testing.T) {
	encode := base64.RawURLEncoding.EncodeToString
	token := func(header, payload, signature string) string {
		return encode([]byte(header)) + "." + encode([]byte(payload)) + "." + signature
	}
	const issuer = `{"iss":"https://ci.example.com"}`
	if a, err := Parse(token(`{"alg":"ES256"}`, issuer, "c2ln")); err != nil || a.Issuer != "https://ci.example.com" {
		t.Errorf("one as it should be: %+v, %v", a, err)
	}
	for name, text := range map[string]string{
		"alg none":       token(`{"alg":"none"}`, issuer, "c2ln"),
		"alg None":       token(`{"alg":"NoNe"}`, issuer, "c2ln"),
		"no alg":         token(`{}`, issuer, "c2ln"),
		"no signature":   token(`{"alg":"ES256"}`, issuer, ""),
		"no issuer":      token(`{"alg":"ES256"}`, `{}`, "c2ln"),
		"four parts":     token(`{"alg":"ES256"}`, issuer, "c2ln") + ".x",
		"too long":       token(`{"alg":"ES256"}`, issuer, encode(make([]byte, maxToken))),
		"no JSON":        token(`{`, issuer, "c2ln"),
		"issuer as list": token(`{"alg":"ES256"}`, `{"iss":["https://ci.example.com"]}`, "c2ln"),
	} {
		if a, err := Parse(text); !errcode.Is(err, errcode.Unauthorized) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

func TestClaimPatternsMatchTheWhole(t *testing.T) {
	claims := map[string]any{
		"sub": "repo:acme/web:ref:refs/heads/main", "n": float64(42), "yes": true, "list": []any{"a", "b", []any{"c"}},
		"a": map[string]any{"b": map[string]any{"c": "deep"}}, "a.b": map[string]any{"d": "dotted"}, "x.y": "flat", "none": nil,
	}
	tests := map[string]struct {
		name, pattern string
		want          bool
	}{
		"equal":                {"sub", "repo:acme/web:ref:refs/heads/main", true},
		"glob":                 {"sub", "repo:acme/*:ref:*", true},
		"one character":        {"sub", "repo:acme/we?:ref:refs/heads/main", true},
		"a beginning":          {"sub", "repo:acme/web", false},
		"an end":               {"sub", "main", false},
		"case":                 {"sub", "REPO:*", false},
		"regular expression":   {"sub", "/repo:acme/(web|api):.*/", true},
		"its alternatives":     {"sub", "/x|repo/", false},
		"a dot is a dot":       {"x.y", "fl.t", false},
		"number":               {"n", "42", true},
		"truth":                {"yes", "true", true},
		"any of a list":        {"list", "b", true},
		"not a list in a list": {"list", "c", false},
		"path":                 {"a.b.c", "deep", true},
		"path with a dot":      {"a.b.d", "dotted", true},
		"name with a dot":      {"x.y", "flat", true},
		"an object":            {"a", "*", false},
		"missing":              {"missing", "*", false},
		"null":                 {"none", "*", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if err := Match(map[string]string{tc.name: tc.pattern}, claims); (err == nil) != tc.want {
				t.Errorf("got %v, want a match: %t", err, tc.want)
			}
		})
	}
}

// A text that is accepted as a token has three parts, a signing algorithm and an
// issuer; anything else is rejected, and nothing panics.
func FuzzParse(f *testing.F) {
	f.Add("eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwczovL2EifQ.c2ln")
	f.Add("eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2EifQ.")
	f.Add("..")
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		a, err := Parse(token)
		if err == nil && (a.Issuer == "" || a.Signed == "" || strings.Count(token, ".") != 2 || strings.HasSuffix(token, ".")) {
			t.Errorf("%q is a token: %+v", token, a)
		}
	})
}

// A pattern that is taken never matches by a part.
func FuzzPattern(f *testing.F) {
	f.Add("a*b", "axxb")
	f.Add("/a|b/", "b")
	f.Add("/a)|(b/", "b")
	f.Fuzz(func(t *testing.T, pattern, value string) {
		re, err := compile(pattern)
		if err != nil || !re.MatchString(value) {
			return
		}
		if at := re.FindStringIndex(value); at[0] != 0 || at[1] != len(value) {
			t.Errorf("%q matches a part of %q", pattern, value)
		}
	})
}

// A pattern that strangers match is none, however it is written; one that names what is
// one's own is.
func TestPatternsAreJudgedByWhatTheyMatch(t *testing.T) {
	for _, pattern := range []string{
		"*", "**", "*?", "?*", "*?*", "??*", "?", "????????", "*:*", "*/*", "*-*", "*.*", "*:*:*", "*a*", "*e*", "repo:*", "repo:*/*:*", "repo:*:ref:refs/heads/main", "repo:*:pull_request",
		"project_path:*", "system:serviceaccount:*", "refs/heads/*", "https://*", "*@*", "*main", "*.com", "{*}", "true", "/true|false/",
		"/.*/", "/.+/", "/(.*)/", "/.*|x/", "/x|.*/", "/(?:.*)/", "/(?s).*/", "/(?s:.)*/", "/[^x]*/", "/[^x]+/", "/[^x].*/", "/[\\s\\S]*/", "/[\\w\\W]+/", "/\\S+/", "/\\w+/", "/\\d+/", "/[a-z]+/",
		"/[a-z0-9-]+/", "/[0-9a-f]{40}/", "/\\PZ*/", "/(a|[^a])*/", "/(acme)?.*/", "/.{0,1000}/", "/.*$/", "/^.*/", "/^^.*$$/", "/(?i)[A-Z]+/", "/.*acme|.*/", "/a*.*/", "/()*.*/", "/\\Q\\E.*/", "/.*?/", "/[[:print:]]*/",
		"/[^:]+:.*/", "/[a-z]{4}/", "/.{36}/", "//", "",
	} {
		if err := CheckPatterns(map[string]string{"sub": pattern}); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%q is taken: %v", pattern, err)
		}
		if err := CheckPatterns(map[string]string{"sub": pattern, "jti": "*", "aud": "https://hub.example.com"}); err == nil {
			t.Errorf("%q is taken beside others", pattern)
		}
		if err := CheckPatterns(map[string]string{"sub": pattern, "repository_owner": "acme"}); err != nil {
			t.Errorf("%q beside a claim of one's own: %v", pattern, err)
		}
	}
	for digit := range 10 {
		if err := CheckPatterns(map[string]string{"project_id": strconv.Itoa(digit)}); err != nil {
			t.Errorf("project %d: %v", digit, err)
		}
	}
	for _, pattern := range []string{
		"acme/fleet", "acme/*", "repo:acme/*", "repo:acme/web:*", "repo:platform/fleet:*", "repo:acme/we?:ref:refs/heads/main", "*acme*", "job", "job-1", "main", "a", "42", "7182818", "system:serviceaccount:ci:*",
		"ann@example.com", "*@example.com", "project_path:acme/*:ref_type:branch:ref:main", "[!x]*", "refs/heads/release-*", "acme-corp.example/*",
		"/repo:acme/(web|api):.*/", "/acme/.+/", "/(acme|umbrella)/.*/", "/(?i)acme/.*/", "/\\d{3}-acme/",
	} {
		if err := CheckPatterns(map[string]string{"sub": pattern}); err != nil {
			t.Errorf("%q is refused: %v", pattern, err)
		}
	}
}
