package webhook

import (
	"net"
	"net/url"
	"strings"
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
	return azure(host, path)
}

// azure maps the three addresses of an Azure DevOps repository to one.
func azure(host, path string) string {
	parts := strings.Split(path, "/")
	organisation, found := strings.CutSuffix(host, ".visualstudio.com")
	switch {
	case host == "ssh.dev.azure.com" && len(parts) == 4 && parts[0] == "v3":
		return "dev.azure.com/" + strings.Join(parts[1:], "/")
	case found && len(parts) == 3 && parts[1] == "_git":
		return "dev.azure.com/" + organisation + "/" + parts[0] + "/" + parts[2]
	case host == "dev.azure.com" && len(parts) == 4 && parts[2] == "_git":
		return "dev.azure.com/" + parts[0] + "/" + parts[1] + "/" + parts[3]
	}
	return host + "/" + path
}
