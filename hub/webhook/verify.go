package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/errcode"
)

// signatureHeaders name the header that carries the HMAC-SHA-256 of a body, in
// hex, by provider.
var signatureHeaders = map[gitcache.Provider][]string{
	gitcache.GitHub:    {"X-Hub-Signature-256"},
	gitcache.Gitea:     {"X-Gitea-Signature", "X-Forgejo-Signature", "X-Hub-Signature-256"},
	gitcache.Bitbucket: {"X-Hub-Signature"},
	gitcache.Generic:   {"X-Axle-Signature"},
}

// proof looks at the caller's proof in the header. Whoever sends the secret itself, as GitLab and
// Azure DevOps do, or has no signature, is judged at once: the body of a stranger takes no memory.
// A signature is compared with the body by what is returned.
func proof(provider gitcache.Provider, secret string, header http.Header) (of func(body []byte) error, err error) {
	of = func([]byte) error { return nil }
	switch provider {
	case gitcache.GitLab:
		return of, same(header.Get("X-Gitlab-Token"), secret, "X-Gitlab-Token (GitLab's field Secret token)")
	case gitcache.Azure:
		_, password, _ := (&http.Request{Header: header}).BasicAuth()
		return of, same(password, secret, "the password of basic authentication")
	}
	names := signatureHeaders[provider]
	for _, name := range names {
		given := header.Get(name)
		if given == "" {
			continue
		}
		// An unsupported method has no "=", or another name before it.
		given, _ = strings.CutPrefix(given, "sha256=")
		sent, err := hex.DecodeString(given)
		if err != nil {
			return nil, errcode.New(errcode.Unauthorized, "%s is not sha256=<hex>", name)
		}
		return func(body []byte) error {
			mac := hmac.New(sha256.New, []byte(secret))
			mac.Write(body)
			if secret == "" || !hmac.Equal(mac.Sum(nil), sent) {
				return errcode.New(errcode.Unauthorized, "%s does not match the body; the secret at the sender differs from this webhook's", name)
			}
			return nil
		}, nil
	}
	if len(names) == 0 {
		return nil, errcode.New(errcode.Unauthorized, "webhooks of %q cannot be verified", provider)
	}
	return nil, errcode.New(errcode.Unauthorized, "%s is missing; set the webhook's secret at the sender", names[0])
}

// same compares hashes, so that the timing does not reveal the length either.
func same(given, secret, where string) error {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(secret))
	if secret == "" || subtle.ConstantTimeCompare(a[:], b[:]) != 1 {
		return errcode.New(errcode.Unauthorized, "%s is not this webhook's secret", where)
	}
	return nil
}
