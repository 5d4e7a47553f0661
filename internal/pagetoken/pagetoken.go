// Package pagetoken encodes the place of a page in a list that is in order of two names,
// of which the first one has no slash. Callers give the token back unread; parts of the
// hub with such lists use it.
package pagetoken

import (
	"encoding/base64"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// Of is the token of the page after an entry.
func Of(first, second string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(first + "/" + second))
}

// Parse returns the entry of a token, empty names for an empty one. Invalid if the hub
// did not make it.
func Parse(token string) (first, second string, err error) {
	if token == "" {
		return "", "", nil
	}
	plain, err := base64.RawURLEncoding.DecodeString(token)
	first, second, ok := strings.Cut(string(plain), "/")
	if err != nil || !ok {
		return "", "", errcode.New(errcode.Invalid, "the page token is not one that this hub gave")
	}
	return first, second, nil
}
