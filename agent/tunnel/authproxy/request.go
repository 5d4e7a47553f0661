package authproxy

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
)

// auditHeader names the request in the API server's audit log.
const auditHeader = "Audit-Id"

// request makes a new request from the head; nothing of the head is copied without a
// check.
func (p *Proxy) request(ctx context.Context, head *agentv1.StreamHead, body io.Reader) (*http.Request, error) {
	u, err := url.ParseRequestURI(head.GetRequestUri())
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the request's path is not valid: %w", err)
	}
	u.Scheme, u.Host = p.base.Scheme, p.base.Host
	if prefix := strings.TrimSuffix(p.base.Path, "/"); prefix != "" {
		u = p.base.JoinPath(u.EscapedPath())
		u.RawQuery = queryOf(head.GetRequestUri())
	}
	if !token(head.GetMethod()) {
		return nil, errcode.New(errcode.Invalid, "%.40q is not a valid method", head.GetMethod())
	}
	request := (&http.Request{
		Method: head.GetMethod(), URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, len(head.GetHeaders())+4),
	}).WithContext(ctx)
	for _, h := range head.GetHeaders() {
		if !token(h.GetName()) || kubereq.HopHeader(h.GetName()) || kubereq.IdentityHeader(h.GetName()) {
			continue
		}
		name := http.CanonicalHeaderKey(h.GetName())
		for _, v := range h.GetValues() {
			if name == "Sec-Websocket-Protocol" && kubereq.BearerProtocol(v) {
				return nil, errcode.New(errcode.Invalid, "a token for the API server in the WebSocket's protocols is not allowed")
			}
			request.Header[name] = append(request.Header[name], v)
		}
	}
	if id := head.GetRequestId(); id != "" {
		request.Header.Set(auditHeader, id)
	}
	if head.GetUpgrade() != "" {
		protocol, err := kubereq.CheckUpgrade(head.GetUpgrade())
		if err != nil {
			return nil, err
		}
		request.Header["Connection"], request.Header["Upgrade"] = []string{"Upgrade"}, []string{protocol}
		return request, nil
	}
	if request.ContentLength = head.GetContentLength(); request.ContentLength != 0 {
		request.Body = io.NopCloser(body)
	}
	return request, nil
}

func queryOf(uri string) string {
	_, query, _ := strings.Cut(uri, "?")
	return query
}

// token reports whether text is an HTTP token, as methods and header names are.
func token(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return text != ""
}

// asUser sets the user of a request, as the last step before it leaves, overwriting
// anything that is there.
type asUser struct {
	user   string
	groups []string
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (a asUser) RoundTrip(request *http.Request) (*http.Response, error) {
	if a.user == "" {
		return nil, errcode.New(errcode.Internal, "a request without a user cannot be sent")
	}
	for name := range request.Header {
		if kubereq.IdentityHeader(name) {
			delete(request.Header, name)
		}
	}
	request.Header["Impersonate-User"] = []string{a.user}
	if len(a.groups) > 0 {
		request.Header["Impersonate-Group"] = a.groups
	}
	return a.next.RoundTrip(request)
}

// answer is the head of the API server's answer. Forbidden for a redirect that does not
// lead to the API server itself.
func (p *Proxy) answer(head *agentv1.StreamHead, response *http.Response) (*agentv1.StreamAnswer, error) {
	a := &agentv1.StreamAnswer{Status: int32(response.StatusCode), Headers: make([]*agentv1.StreamHeader, 0, len(response.Header))}
	for name, values := range response.Header {
		if kubereq.HopHeader(name) && name != "Content-Length" {
			continue
		}
		if name == "Location" {
			to, err := p.location(head, values)
			if err != nil && kubereq.Redirects(response.StatusCode) {
				return nil, err
			}
			if err != nil {
				continue
			}
			values = []string{to}
		}
		a.Headers = append(a.Headers, &agentv1.StreamHeader{Name: name, Values: values})
	}
	return a, nil
}

// location removes this API server's own address, which cannot be reached from outside,
// and the path that all its paths begin with.
func (p *Proxy) location(head *agentv1.StreamHead, values []string) (string, error) {
	if len(values) != 1 {
		return "", errcode.New(errcode.Forbidden, "the cluster answered with %d locations", len(values))
	}
	prefix := strings.TrimSuffix(p.base.Path, "/")
	to, err := kubereq.Location(p.base, prefix+head.GetRequestUri(), values[0])
	if err != nil || prefix == "" {
		return to, err
	}
	rest, inside := strings.CutPrefix(to, prefix)
	if !inside || kubereq.CheckPath(rest) != nil {
		return "", errcode.New(errcode.Forbidden, "the cluster answered with a redirect to a path outside of its API, which is not passed on")
	}
	return rest, nil
}
