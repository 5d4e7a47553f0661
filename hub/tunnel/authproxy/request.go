package authproxy

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
)

// parsedRequest is a request after its address and headers were read.
type parsedRequest struct {
	head    *agentv1.StreamHead
	info    kubereq.Info
	handle  string
	cluster Cluster
	caller  identity.Principal
	// until is when a short-lived credential expires, in microseconds; 0 means
	// with the caller's token.
	until int64
	// source is the client's address.
	source string
}

var errUpgradeOverHTTP2 = errcode.New(errcode.Invalid, "an upgrade is not possible on an HTTP/2 connection; ask for http/1.1 when you dial")

// read parses a request and refuses ambiguous ones, before the caller is
// authenticated.
func (p *Proxy) read(r *http.Request) (*parsedRequest, error) {
	if err := kubereq.CheckPath(r.RequestURI); err != nil {
		return nil, err
	}
	if !slices.Contains(kubereq.Methods, r.Method) {
		return nil, errcode.New(errcode.Invalid, "method %.20q is refused", r.Method)
	}
	a := &parsedRequest{source: address.Host(r.RemoteAddr)}
	if r.URL.Path != TicketPath {
		rest, ok := strings.CutPrefix(r.RequestURI, Prefix)
		if !ok {
			return nil, errcode.New(errcode.NotFound, "this path does not exist; a cluster's API is below %s<handle>", Prefix)
		}
		end := strings.IndexAny(rest, "/?")
		if end < 0 {
			end = len(rest)
		}
		a.handle, rest = rest[:end], rest[end:]
		if rest == "" || rest[0] == '?' {
			rest = "/" + rest
		}
		a.head = &agentv1.StreamHead{RequestUri: rest}
	} else {
		a.head = &agentv1.StreamHead{}
	}
	a.head.Method, a.head.ContentLength, a.head.RequestId = r.Method, r.ContentLength, requestID()
	if err := a.readUpgrade(r); err != nil {
		return nil, err
	}
	a.info = kubereq.Parse(r.Method, a.head.GetRequestUri(), a.head.GetUpgrade())
	a.head.ShortAnswer = a.info.Short() && r.ContentLength == 0
	return a, a.readHeaders(r)
}

// readUpgrade parses the requested protocol upgrade.
func (a *parsedRequest) readUpgrade(r *http.Request) error {
	upgrading := false
	for _, line := range r.Header["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "upgrade":
				upgrading = true
			case "keep-alive", "close", "":
			default:
				return errcode.New(errcode.Invalid, "Connection names %.40q; only upgrade, keep-alive and close are allowed", strings.TrimSpace(name))
			}
		}
	}
	wanted := r.Header["Upgrade"]
	switch {
	case r.ProtoMajor >= 2 && (upgrading || len(wanted) > 0 || r.Header["Sec-Websocket-Key"] != nil || r.Header["X-Stream-Protocol-Version"] != nil || r.Method == http.MethodConnect):
		return errUpgradeOverHTTP2
	case !upgrading && len(wanted) == 0:
		return nil
	case !upgrading || len(wanted) != 1:
		return errcode.New(errcode.Invalid, "an upgrade needs exactly one Upgrade header and one Connection: Upgrade")
	case r.ContentLength != 0 || len(r.TransferEncoding) > 0:
		return errcode.New(errcode.Invalid, "an upgrade must not have a body")
	}
	protocol, err := kubereq.CheckUpgrade(wanted[0])
	if err != nil {
		return err
	}
	if r.Method != http.MethodGet && (protocol != kubereq.SPDY || r.Method != http.MethodPost) {
		return errcode.New(errcode.Invalid, "an upgrade to %s by %s is refused", protocol, r.Method)
	}
	a.head.Upgrade = protocol
	return nil
}

// dropped are headers that are not meant for the API server, beside hop-by-hop
// and identity headers.
var dropped = map[string]bool{
	"Forwarded": true, "X-Forwarded-For": true, "X-Forwarded-Host": true, "X-Forwarded-Proto": true, "X-Forwarded-Port": true,
	"X-Forwarded-Uri": true, "X-Real-Ip": true, "X-Original-Url": true, "X-Rewrite-Url": true, "Audit-Id": true, "Origin": true, "Referer": true,
}

// readHeaders keeps the headers to forward. It refuses impersonation headers
// instead of dropping them: the call would run with the caller's own rights,
// which may be more than the caller meant to use.
func (a *parsedRequest) readHeaders(r *http.Request) error {
	for name, values := range r.Header {
		switch {
		case kubereq.Impersonation(name):
			return errcode.New(errcode.Invalid, "%s is refused: impersonation is not possible through the hub; remove --as, or use a token of the account that you mean", name)
		case name == "Sec-Websocket-Protocol" && slices.ContainsFunc(values, kubereq.BearerProtocol):
			return errcode.New(errcode.Invalid, "a token within the WebSocket's protocols is refused; send Authorization: Bearer, or use a ticket for %s", TicketPath)
		case dropped[name] || kubereq.HopHeader(name) || kubereq.IdentityHeader(name):
		default:
			a.head.Headers = append(a.head.Headers, &agentv1.StreamHeader{Name: name, Values: values})
		}
	}
	a.head.Headers = append(a.head.Headers, &agentv1.StreamHeader{Name: "X-Forwarded-For", Values: []string{a.source}})
	return nil
}

// requestID returns an id that connects the hub's record, the agent's log and
// the API server's own.
func requestID() string { return strings.ToLower(rand.Text()) }
