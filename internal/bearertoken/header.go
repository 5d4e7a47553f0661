package bearertoken

import (
	"net/http"
	"strings"
)

// maxLength bounds what follows the scheme, in bytes: the longest that the hub
// gives, a credential of one cluster, has some 300.
const maxLength = 1024

const scheme = "bearer"

// Of returns the token that a request comes with, empty when there is none
// that can be read in one way alone: one Authorization header, the scheme
// Bearer in any case, and one token of at most 1 KiB after it. Whoever gets ""
// refuses, and looks for no other sign of who calls when the header is there.
func Of(h http.Header) string {
	lines := h["Authorization"]
	if len(lines) != 1 {
		return ""
	}
	name, rest, found := strings.Cut(lines[0], " ")
	if !found || !strings.EqualFold(name, scheme) {
		return ""
	}
	token := strings.TrimLeft(rest, " ")
	if len(token) > maxLength {
		return ""
	}
	for i := range len(token) {
		if !inToken(token[i]) {
			return ""
		}
	}
	return token
}

// inToken reports whether a byte may stand in a token (RFC 9110, token68).
func inToken(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("-._~+/=", c) >= 0
}
