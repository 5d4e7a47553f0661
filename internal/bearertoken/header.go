package bearertoken

import (
	"net/http"
	"strings"
)

// maxLength bounds what follows the scheme, in bytes: the longest token of the hub, a
// credential for one cluster, has some 300.
const maxLength = 1024

const scheme = "bearer"

// Of returns the token of a request. It is empty unless there is exactly one
// unambiguous token: one Authorization header, the scheme Bearer in any case, and one
// token of at most 1 KiB after it. If the header is present and Of returns "", the
// caller must refuse and not try other credentials.
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

// inToken reports whether a byte is allowed in a token (RFC 9110, token68).
func inToken(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("-._~+/=", c) >= 0
}
