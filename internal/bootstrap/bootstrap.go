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

// separator is in no secret.
const separator = "."

// Join returns the token of a secret and the hub's key.
func Join(secret string, key ed25519.PublicKey) string {
	return secret + separator + base64.RawURLEncoding.EncodeToString(key)
}

// Secret is the part of a token that the hub knows.
func Secret(token string) string {
	secret, _, _ := strings.Cut(token, separator)
	return secret
}

// Split takes a token apart. The key is nil when the token has none. Invalid
// when what stands in its place is none: a token that was cut short must not
// pass for one that names no key.
func Split(token string) (secret string, key ed25519.PublicKey, err error) {
	secret, text, found := strings.Cut(token, separator)
	if !found {
		return secret, nil, nil
	}
	key, err = base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return "", nil, errcode.New(errcode.Invalid, "the bootstrap token is damaged behind its %q: it was cut short or changed; copy it whole", separator)
	}
	return secret, key, nil
}

// Unnamed is what a token without the hub's key means, for people.
const Unnamed = "the bootstrap token names no key of the hub, so the keys of the first answer are believed: whoever answers on the way to the hub may sign what this cluster runs; " +
	"to be sure, upgrade the hub, delete the agent's identity and register again with a new token"

// Read returns the token of a file, and whether it names the hub's key.
// Invalid.
func Read(file string) (token string, named bool, err error) {
	if file == "" {
		return "", false, errcode.New(errcode.Invalid, "this cluster is not registered; give --token-file with a bootstrap token, `axle clusters create` or `axle clusters connect` makes one")
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
