package application

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

const maxURI = 2000

// checkURIs returns Invalid for URIs that the project may not use. Those in had stay: what
// was allowed once may be kept while something else changes.
func (s Settings) checkURIs(had Settings, domains []string) error {
	fields := []struct {
		name      string
		want, had []string
		loopback  bool
	}{
		{"redirectUris", s.RedirectURIs, had.RedirectURIs, true},
		{"postLogoutRedirectUris", s.PostLogoutRedirectURIs, had.PostLogoutRedirectURIs, true},
		{"backChannelLogoutUri", present(s.BackChannelLogoutURI), present(had.BackChannelLogoutURI), false},
	}
	for _, f := range fields {
		for _, uri := range f.want {
			if slices.Contains(f.had, uri) {
				continue
			}
			if err := checkURI(f.name, uri, domains, f.loopback); err != nil {
				return err
			}
		}
	}
	return nil
}

func present(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// checkURI returns Invalid for one that is not below a domain. What a browser and this
// package could read in two ways is refused.
func checkURI(field, uri string, domains []string, loopback bool) error {
	u, err := url.Parse(uri)
	switch {
	case err != nil || len(uri) > maxURI || !plain(uri) || u.Opaque != "" || u.Host == "":
		return invalid(field, "%.200q is not a URL of at most %d plain characters; write https://HOST/PATH", uri, maxURI)
	case u.User != nil:
		return invalid(field, "%.200q has a user; leave it out", u.Redacted())
	case strings.Contains(uri, "#"):
		return invalid(field, "%.200q has a fragment; leave it out", uri)
	case strings.Contains(uri, "*"):
		return invalid(field, "%.200q has a wildcard; each URI is compared as a whole", uri)
	case dotted(u):
		return invalid(field, "%.200q has . or .. in its path; write the path that they mean", uri)
	case isLoopback(u) && loopback:
		return nil
	case u.Scheme != "https" && !loopback:
		return invalid(field, "%.200q is not an https URL: the hub calls it, from its own machine", uri)
	case u.Scheme != "https":
		return invalid(field, "%.200q is not an https URL; http is for 127.0.0.1, [::1] and localhost", uri)
	case strings.HasSuffix(u.Hostname(), "."):
		return invalid(field, "%.200q has a host that ends with a dot", uri)
	}
	if slices.ContainsFunc(domains, func(domain string) bool { return below(strings.ToLower(u.Hostname()), domain) }) {
		return nil
	}
	if len(domains) == 0 {
		return invalid(field, "%.200q is not allowed: the project owns no domain; an administrator allows one with axle projects update PROJECT --allow-domain %s", uri, u.Hostname())
	}
	return invalid(field, "%.200q is not below a domain of the project (%s); an administrator allows another one with axle projects update PROJECT --allow-domain", uri, strings.Join(domains, ", "))
}

// plain reports whether a text has only characters that every program reads alike.
func plain(uri string) bool {
	return !strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`\"<>^{|}`+"`", r) })
}

// dotted reports whether a path has segments that mean others, also when they are escaped.
func dotted(u *url.URL) bool {
	return u.Path != "" && strings.TrimSuffix(path.Clean(u.Path), "/") != strings.TrimSuffix(u.Path, "/")
}

func below(host, domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }

// isLoopback reports whether a URL is of the machine that the person sits at.
func isLoopback(u *url.URL) bool {
	return u.Scheme == "http" && slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname())
}

// matches reports whether one of the registered URIs is the one of a request. The port of a
// public client's own machine is free (RFC 8252, 7.3).
func matches(registered []string, uri string, anyPort bool) bool {
	if slices.Contains(registered, uri) {
		return true
	}
	u, err := url.Parse(uri)
	if !anyPort || err != nil || !isLoopback(u) || !plain(uri) || u.User != nil || strings.Contains(uri, "#") {
		return false
	}
	return slices.ContainsFunc(registered, func(text string) bool {
		r, err := url.Parse(text)
		return err == nil && isLoopback(r) && r.Hostname() == u.Hostname() && withoutPort(r) == withoutPort(u)
	})
}

// withoutPort is a URL without its port, for a comparison.
func withoutPort(u *url.URL) string {
	copied := *u
	copied.Host = u.Hostname()
	return copied.String()
}
