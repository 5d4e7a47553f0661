// Package bootstrap is the format of a bootstrap token as people and manifests carry
// it: the secret that the hub knows, and the hub's public signing key, with which a
// registering agent checks that the answer comes from the hub and nobody in between.
//
//	axle_<43 digits>.<43 of base64url: an Ed25519 public key>
//
// The hub makes them and agents split them. A hub also accepts whole ones, which
// older agents send. A token of an older hub has no key.
package bootstrap

import (
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// separator does not occur in secrets.
const separator = "."

// Join builds a token from a secret and the hub's key.
func Join(secret string, key ed25519.PublicKey) string {
	return secret + separator + base64.RawURLEncoding.EncodeToString(key)
}

// Secret is the part of a token that the hub knows.
func Secret(token string) string {
	secret, _, _ := strings.Cut(token, separator)
	return secret
}

// Split splits a token. The key is nil if the token has none. Invalid if there is
// something else in its place: a truncated token must not pass for one without a key.
func Split(token string) (secret string, key ed25519.PublicKey, err error) {
	secret, text, found := strings.Cut(token, separator)
	if !found {
		return secret, nil, nil
	}
	key, err = base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return "", nil, errcode.New(errcode.Invalid, "the bootstrap token is damaged after its %q: it was truncated or changed; copy the whole token", separator)
	}
	return secret, key, nil
}

// Unnamed explains to people what a token without the hub's key means.
const Unnamed = "the bootstrap token does not name the hub's key, so the keys in the first answer are trusted: anybody who can answer in the hub's place could sign what this cluster runs; " +
	"to be sure, upgrade the hub, delete the agent's identity and register again with a new token"

// Read returns the token in a file, and whether it names the hub's key. Errors are
// Invalid.
func Read(file string) (token string, named bool, err error) {
	if file == "" {
		return "", false, errcode.New(errcode.Invalid, "this cluster is not registered; give --token-file with a bootstrap token, from `axle clusters create` or `axle clusters connect`")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", false, errcode.New(errcode.Invalid, "--token-file: %w", err)
	}
	if token = strings.TrimSpace(string(text)); token == "" {
		return "", false, errcode.New(errcode.Invalid, "--token-file %s is empty", file)
	}
	_, key, err := Split(token)
	if err != nil {
		return "", false, errcode.New(errcode.Invalid, "--token-file %s: %w", file, err)
	}
	return token, key != nil, nil
}
