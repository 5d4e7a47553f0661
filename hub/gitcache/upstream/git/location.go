package git

import (
	"net"
	"net/url"
	"strings"
	"unicode"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/repourl"
)

// Location is the checked URL of a repository, without user or password.
type Location struct {
	Scheme string // https, http or ssh
	Host   string // name or address, without port
	Port   string
	User   string // of an ssh URL
	Path   string // escaped, begins with a slash
	// Home says that the path is relative to the user's home directory: host:path as scp has
	// it. Servers of Git hosts have one place for both.
	Home bool
}

// ParseURL checks a user's URL of a repository. It returns user and password
// inside an https URL separately.
func ParseURL(raw string, allowHTTP bool) (loc Location, user, password string, err error) {
	raw = strings.TrimSpace(raw)
	bad := func(format string, args ...any) (Location, string, string, error) {
		return Location{}, "", "", errcode.New(errcode.Invalid, "repository URL "+format, args...)
	}
	if raw == "" {
		return bad("is empty; give one like https://git.example.com/team/repo.git")
	}
	if strings.HasPrefix(raw, "-") || strings.ContainsFunc(raw, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return bad("starts with a dash or holds spaces or control characters")
	}
	long := repourl.Long(raw)
	u, err := url.Parse(long)
	if err != nil {
		// url.Parse's error quotes the URL, which may hold a password.
		return bad("cannot be read; give one like https://git.example.com/team/repo.git")
	}
	if u.User != nil {
		user = u.User.Username()
		password, _ = u.User.Password()
	}
	loc = Location{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Hostname()), Port: u.Port(), Path: u.EscapedPath()}
	switch loc.Scheme {
	case "https":
		loc.Port = or(loc.Port, "443")
	case "http":
		if !allowHTTP {
			return bad("uses plain http; use https, or start the hub with plain http allowed")
		}
		loc.Port = or(loc.Port, "80")
	case "ssh":
		loc.Port, loc.User = or(loc.Port, "22"), or(user, "git")
		user = ""
		_, path, _ := strings.Cut(raw, ":")
		loc.Home = long != raw && !strings.HasPrefix(path, "/") && !strings.HasSuffix(path, "]")
		if strings.HasPrefix(loc.User, "-") {
			return bad("has a user that starts with a dash")
		}
	default:
		return bad("has scheme %.20q; use https or ssh", u.Scheme)
	}
	switch {
	case loc.Host == "" || strings.HasPrefix(loc.Host, "-"):
		return bad("has no usable host name")
	case strings.Trim(loc.Path, "/") == "":
		return bad("names no repository on %s", loc.Host)
	case u.RawQuery != "" || u.Fragment != "":
		return bad("has a query or fragment; give the plain URL that git clone takes")
	}
	loc.Path = "/" + strings.Trim(loc.Path, "/")
	return loc, user, password, nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Address is host and port, for dialing.
func (l Location) Address() string { return net.JoinHostPort(l.Host, l.Port) }

// String returns the URL in git's form, for git and for people.
func (l Location) String() string {
	host := l.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if def := map[string]string{"https": "443", "http": "80", "ssh": "22"}; def[l.Scheme] != l.Port {
		host += ":" + l.Port
	}
	if l.User != "" {
		host = l.User + "@" + host
	}
	return l.Scheme + "://" + host + l.Path
}

// origin returns scheme, host and port, for settings bound to a server.
func (l Location) origin() string { return strings.TrimSuffix(l.String(), l.Path) }
