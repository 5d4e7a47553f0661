package kubereq

import (
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// hop are the headers that end at the next hop, and those that a proxy reads.
var hop = map[string]bool{
	"connection": true, "keep-alive": true, "te": true, "trailer": true, "transfer-encoding": true, "upgrade": true,
	"http2-settings": true, "close": true, "expect": true, "content-length": true, "host": true,
}

// HopHeader reports whether a header belongs to one connection, or is set again for
// each. Case does not matter.
func HopHeader(name string) bool {
	name = plain(name)
	return hop[name] || strings.HasPrefix(name, "proxy-")
}

// IdentityHeader reports whether a header could tell an API server who the caller is,
// or whom they impersonate.
func IdentityHeader(name string) bool {
	name = plain(name)
	return Impersonation(name) || strings.HasPrefix(name, "x-remote-") || name == "authorization" || name == "cookie" || name == "cookie2"
}

// Impersonation reports whether a header requests another identity.
func Impersonation(name string) bool { return strings.HasPrefix(plain(name), "impersonate-") }

// plain lowers a name and treats an underscore as a dash, as some servers do.
func plain(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// bearerProtocol is the prefix of a WebSocket subprotocol that carries a token for
// the API server.
const bearerProtocol = "base64url.bearer.authorization.k8s.io."

// BearerProtocol reports whether a value of Sec-WebSocket-Protocol carries a
// token for the API server.
func BearerProtocol(value string) bool {
	return strings.Contains(strings.ToLower(value), bearerProtocol)
}

// The protocols that a request may upgrade to.
const (
	WebSocket = "websocket"
	SPDY      = "SPDY/3.1"
)

// Protocols are all of them.
var Protocols = []string{WebSocket, SPDY}

// CheckUpgrade returns the protocol in its canonical spelling, or Invalid.
func CheckUpgrade(protocol string) (string, error) {
	for _, known := range Protocols {
		if strings.EqualFold(protocol, known) {
			return known, nil
		}
	}
	return "", errcode.New(errcode.Invalid, "an upgrade to %.40q is not supported; use websocket or SPDY/3.1", protocol)
}

// maxName bounds the name of a user or a group, in bytes.
const maxName = 256

// owners begin, before a colon, the names of users and groups that clusters have from
// Kubernetes itself, from its installers, and from the clouds that run it: roles are bound
// to them without anybody asking who else has the name.
var owners = []string{"system", "kubeadm", "kubernetes", "k8s", "eks", "aws", "gke", "gcp", "aks", "azure"}

// Reserved reports whether a name of a user or a group is one that clusters have of their
// own, such as system:masters, kubeadm:cluster-admins and eks:node-manager.
func Reserved(name string) bool {
	owner, _, colon := strings.Cut(strings.ToLower(strings.TrimSpace(name)), ":")
	if !colon {
		return false
	}
	owner, _, _ = strings.Cut(owner, "-") // such as gke-security-groups:
	return slices.Contains(owners, strings.TrimSpace(owner))
}

// CheckIdentity returns Invalid unless user and groups may be impersonated: there is
// a user, and no name is one of the cluster's own.
func CheckIdentity(user string, groups []string) error {
	if user == "" {
		return errcode.New(errcode.Invalid, "the request does not name its user")
	}
	for _, name := range append([]string{user}, groups...) {
		if Reserved(name) {
			return errcode.New(errcode.Invalid, "%.80q is reserved for the cluster itself and cannot be used from outside", name)
		}
		if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return errcode.New(errcode.Invalid, "%.80q is not a valid name of a user or a group", name)
		}
	}
	return nil
}
