package kubereq

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// Location returns where an answer to a request leads, as a path of the same API
// server. base is that server, whose own address may stand in the location; it is empty
// where nobody knows it. Forbidden for any other host: a client follows a redirect with
// its token. Forbidden as well for a path that can be read in two ways, such as one that
// climbs out of the cluster's.
func Location(base *url.URL, uri, location string) (string, error) {
	path, _, _ := strings.Cut(uri, "?")
	asked := url.URL{Scheme: "https", Host: "server.invalid"}
	if base != nil && base.Host != "" {
		asked.Scheme, asked.Host = base.Scheme, base.Host
	}
	at, err := url.Parse(location)
	if err != nil || strings.ContainsFunc(location, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return "", errcode.New(errcode.Forbidden, "the cluster answered with a redirect that cannot be read, which is not passed on")
	}
	if at.Opaque != "" || at.Host != "" && server(*at, asked.Scheme) != server(asked, asked.Scheme) || at.Host == "" && at.Scheme != "" {
		return "", errcode.New(errcode.Forbidden, "the cluster answered with a redirect to %.80q, which is not its API server; it is not passed on, because clients would send their token there", at.Scheme+"://"+at.Host)
	}
	to := at.EscapedPath()
	switch {
	case to == "":
		to = path
	case to[0] != '/':
		to = path[:strings.LastIndexByte(path, '/')+1] + to
	}
	if at.RawQuery != "" || at.ForceQuery {
		to += "?" + at.RawQuery
	}
	if err := CheckPath(to); err != nil {
		return "", errcode.New(errcode.Forbidden, "the cluster answered with a redirect that is not passed on: %w", err)
	}
	return to, nil
}

// server is the host and port of a URL in one spelling; scheme counts for one without.
func server(u url.URL, scheme string) string {
	if u.Scheme != "" {
		scheme = u.Scheme
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(scheme)]
	}
	return strings.ToLower(net.JoinHostPort(u.Hostname(), port))
}

// Redirects reports whether clients follow the location of an answer with this status.
func Redirects(status int) bool {
	return status >= http.StatusMultipleChoices && status < http.StatusBadRequest
}
