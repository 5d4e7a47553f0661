package login

import (
	"net/url"
	"path"
	"strings"
)

// MaxNext limits the length of ?next=.
const MaxNext = 2000

// safeNext returns a path of this hub to continue at, or the first page for
// anything else: the value of ?next= is untrusted.
func safeNext(next string) string {
	const home = "/"
	if next == "" || len(next) > MaxNext || next[0] != '/' || strings.HasPrefix(next, "//") {
		return home
	}
	for _, r := range next {
		// Browsers treat a backslash as a slash and drop tabs and newlines.
		if r == '\\' || r < ' ' || r == 0x7f {
			return home
		}
	}
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || strings.HasPrefix(u.Path, "//") || strings.Contains(u.Path, "\\") {
		return home
	}
	// A redirect cleans a path, so that what is checked here must be clean already.
	if u.Path != "/" && path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") {
		return home
	}
	// A POST target or a logout page must not be a redirect target.
	if u.Path == "/logout" || strings.HasPrefix(u.Path, "/login/callback/") {
		return home
	}
	return next
}

// withNext adds ?next= to a path of this package.
func withNext(to, next string) string {
	if next = safeNext(next); next == "/" {
		return to
	}
	return to + "?next=" + url.QueryEscape(next)
}
