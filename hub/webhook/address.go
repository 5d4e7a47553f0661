package webhook

import (
	"net"
	"net/url"
	"strings"

	"github.com/axle-cd/axle/internal/repourl"
)

// address normalises a repository's URL: it drops scheme, user, port, case, a
// trailing .git or slash. When two repositories get the same address, both are
// fetched, which costs a listing of refs. Empty for an invalid URL.
func address(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if !strings.Contains(text, "://") {
		// This is host:path, as SSH accepts it.
		host, path, found := strings.Cut(text, ":")
		if !found || strings.ContainsAny(host, "/") {
			return ""
		}
		text = "ssh://" + host + "/" + path
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	if port := u.Port(); port != "" && !map[string]bool{"22": true, "80": true, "443": true}[port] && u.Scheme != "ssh" {
		host = net.JoinHostPort(host, port)
	}
	path := strings.TrimSuffix(strings.Trim(strings.ToLower(u.Path), "/"), ".git")
	return atKnownHost(host, path)
}

// alternatives are hosts that answer for others, where port 22 is closed.
var alternatives = map[string]string{"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com", "altssh.bitbucket.org": "bitbucket.org"}

// atKnownHost maps the addresses of a repository at a known host to one. Azure DevOps has two
// hosts for SSH too, whose paths have no _git.
func atKnownHost(host, path string) string {
	switch host {
	case "ssh.dev.azure.com", "vs-ssh.visualstudio.com":
		if parts := strings.Split(path, "/"); len(parts) == 4 && parts[0] == "v3" {
			return "dev.azure.com/" + strings.Join(parts[1:], "/")
		}
		return host + "/" + path
	}
	if other := alternatives[host]; other != "" {
		host = other
	}
	host, path = repourl.Azure(host, path)
	path = strings.TrimPrefix(path, "/")
	if parts := strings.Split(path, "/"); host == "dev.azure.com" && len(parts) == 4 && parts[2] == "_git" {
		path = parts[0] + "/" + parts[1] + "/" + parts[3]
	}
	return host + "/" + path
}
