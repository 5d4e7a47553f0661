// Package repourl decides whether two texts are the URL of the same repository. The hub
// keeps and shows a URL as it was written, and connects to a checked form of it; what is
// in this package is only compared and indexed. It connects to nothing and refuses
// nothing: a text that is not a URL has itself as its normal form.
//
// Invariant: URLs with one normal form are one upstream with the same way to log in, so
// that stored credentials may stay when one is replaced by the other. The scheme, the
// port and the user of ssh are therefore part of it; a password never is.
package repourl

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// scp is git's short form of an SSH URL: user@host:path.
var scp = regexp.MustCompile(`^([A-Za-z0-9._-]+)@([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):(.+)$`)

// Long returns git's short form of an SSH URL as a URL, and other texts unchanged.
func Long(text string) string {
	if m := scp.FindStringSubmatch(text); m != nil && !strings.Contains(text, "://") {
		return "ssh://" + m[1] + "@" + m[2] + "/" + strings.TrimLeft(m[3], "/")
	}
	return text
}

// Shown returns a text that should be a URL as an error may quote it: without a password, and
// for http and https without the user, which may be a token.
func Shown(text string) string {
	u, err := url.Parse(Long(text))
	scheme, _, isURL := strings.Cut(text, "://")
	switch {
	case err != nil && isURL:
		return scheme + "://…"
	case err != nil || u.User == nil || !isURL:
		return text
	case strings.HasPrefix(strings.ToLower(u.Scheme), "http"):
		u.User = nil
	default:
		u.User = url.User(u.User.Username())
	}
	return u.String()
}

// ports are the ports that a URL need not name. That of oci depends on an option.
var ports = map[string]string{"https": "443", "http": "80", "ssh": "22", "git": "9418"}

// Same reports whether two texts are the URL of the same repository of a kind.
func Same(kind, a, b string) bool { return a == b || Normal(kind, a) == Normal(kind, b) }

// Normal returns the normal form of the URL of a repository of a kind: git (also the
// empty kind), helm, oci or bucket. In it scheme and host are in lower case, a default
// port, the user of https and slashes at the end are absent, and an escape is used only
// where it is needed. Of a Git URL it has the long form, git as the default user of ssh,
// one of the addresses of Azure DevOps, and no .git at the end: servers answer with and
// without it, and where one does not, the other names no other repository. The case of
// a path counts.
func Normal(kind, text string) string {
	text = strings.TrimSpace(text)
	git := kind == "" || kind == "git"
	if git {
		text = Long(text)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text
	}
	host, path := lower(u.Hostname()), "/"+strings.Trim(unescaped(u.EscapedPath()), "/")
	if git {
		if base := strings.TrimSuffix(path, ".git"); !strings.HasSuffix(base, "/") {
			path = base
		}
		if u.Scheme == "https" {
			host, path = Azure(host, path)
		}
	}
	if u.Port() != ports[u.Scheme] {
		host = bracketed(host) + ":" + u.Port()
	} else {
		host = bracketed(host)
	}
	host = strings.TrimSuffix(host, ":")
	if u.Scheme == "ssh" {
		user := u.User.Username()
		if user == "" {
			user = "git"
		}
		host = url.User(user).String() + "@" + host
	}
	out := u.Scheme + "://" + host + strings.TrimSuffix(path, "/")
	if u.RawQuery != "" || u.Fragment != "" {
		out += "?" + u.RawQuery + "#" + u.EscapedFragment()
	}
	return out
}

// lower lowers the letters of ASCII: others that look like them are other hosts.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, text)
}

// bracketed returns a host as URLs have it. An address of IPv6 has many spellings.
func bracketed(host string) string {
	if !strings.Contains(host, ":") {
		return host
	}
	if a, err := netip.ParseAddr(host); err == nil {
		host = a.String()
	}
	return "[" + host + "]"
}

// unescaped removes the escapes that a path does not need, and writes the others, and
// bytes that need one, in one way.
func unescaped(path string) string {
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		c, escaped := path[i], false
		if c == '%' && i+2 < len(path) {
			c, escaped = hex(path[i+1])<<4|hex(path[i+2]), true
			i += 2
		}
		plain := c > ' ' && c < 0x7f && !escaped
		if plain || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			out.WriteByte(c)
			continue
		}
		out.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return out.String()
}

// hex returns the value of a digit.
func hex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}

// Azure returns one of the HTTPS addresses of a repository of Azure DevOps, whose organisation
// has two hosts, and whose project may be left out when it has the repository's name. Others
// are unchanged.
func Azure(host, path string) (string, string) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if organisation, found := strings.CutSuffix(host, ".visualstudio.com"); found && organisation != "" {
		if len(parts) > 1 && strings.EqualFold(parts[0], "DefaultCollection") {
			parts = parts[1:]
		}
		parts = append([]string{organisation}, parts...)
	} else if host != "dev.azure.com" {
		return host, path
	}
	if len(parts) == 3 && parts[1] == "_git" {
		parts = []string{parts[0], parts[2], "_git", parts[2]}
	}
	if len(parts) != 4 || parts[2] != "_git" {
		return host, path
	}
	parts[0] = lower(parts[0])
	return "dev.azure.com", "/" + strings.Join(parts, "/")
}
