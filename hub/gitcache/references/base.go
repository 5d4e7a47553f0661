package references

import (
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
)

var (
	scpForm    = regexp.MustCompile(`^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^/].*$`)
	githubForm = regexp.MustCompile(`(?i)^(?:git@)?github\.com[:/]`)
	hostForm   = regexp.MustCompile(`^[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::\d+)?/`)
	schemeForm = regexp.MustCompile(`(?i)^(https?|ssh|file|[a-z][a-z0-9+.-]*)://`)
)

// Remote reports whether a kustomization's reference is to another server.
func Remote(text string) bool {
	t := strings.TrimPrefix(text, "git::")
	if schemeForm.MatchString(t) || scpForm.MatchString(t) || githubForm.MatchString(t) {
		return true
	}
	_, query, _ := strings.Cut(t, "?")
	return hostForm.MatchString(t) && (strings.Contains(query, "ref=") || strings.Contains(query, "version="))
}

// ParseBase parses a kustomization's reference to another Git repository, in
// all forms that Kustomize accepts: https://host/org/repo//folder?ref=v1,
// git@host:org/repo.git//folder?ref=v1, host/org/repo//folder?ref=v1, and those
// of hosts that mark their repositories with _git or .git.
func ParseBase(text string) External {
	n := External{Kind: Base, Text: text, Submodules: true}
	bad := func(problem string) External {
		n.Problem = problem
		return n
	}
	rest, query, _ := strings.Cut(strings.TrimPrefix(text, "git::"), "?")
	if values, err := url.ParseQuery(query); err == nil {
		n.Ref = values.Get("ref")
		if n.Ref == "" {
			n.Ref = values.Get("version")
		}
		if on, err := strconv.ParseBool(values.Get("submodules")); err == nil {
			n.Submodules = on
		}
	}
	prefix, rest := splitHost(rest)
	if prefix == "" {
		return bad("is not an https or ssh URL of a Git repository")
	}
	repo, folder, ok := splitRepo(rest)
	if !ok {
		return bad("names no repository; write https://host/group/repository//folder?ref=TAG")
	}
	n.URL = prefix + repo
	n.Folder = strings.Trim(path.Clean("/"+folder), "/")
	switch {
	case strings.Contains("/"+folder+"/", "/../"):
		return bad("leaves its repository")
	case n.Ref == "":
		return bad("is not pinned; add ?ref= with a tag or a full commit id, or copy it into the repository")
	case strings.HasPrefix(n.Ref, "-"), strings.ContainsAny(n.Ref, " \n\x00"):
		return bad("has a ref that is not valid")
	}
	return n
}

// splitHost separates scheme, user and host from the path.
func splitHost(s string) (prefix, rest string) {
	if m := schemeForm.FindStringSubmatch(s); m != nil {
		switch strings.ToLower(m[1]) {
		case "https", "http", "ssh":
		default:
			return "", ""
		}
		host, rest, ok := strings.Cut(s[len(m[0]):], "/")
		if !ok || host == "" {
			return "", ""
		}
		return strings.ToLower(m[0]) + host + "/", rest
	}
	if scpForm.MatchString(s) {
		host, rest, _ := strings.Cut(s, ":")
		return "ssh://" + host + "/", rest
	}
	if m := githubForm.FindString(s); m != "" {
		return "https://github.com/", s[len(m):]
	}
	if host, rest, ok := strings.Cut(s, "/"); ok && hostForm.MatchString(s) {
		return "https://" + host + "/", rest
	}
	return "", ""
}

// splitRepo finds where the repository ends and the folder inside it begins.
func splitRepo(s string) (repo, folder string, ok bool) {
	s = strings.TrimLeft(s, "/")
	if before, after, found := strings.Cut(s, "_git/"); found {
		name, folder, _ := strings.Cut(after, "/")
		return before + "_git/" + name, folder, name != ""
	}
	if repo, folder, found := strings.Cut(s, "//"); found {
		return repo, folder, repo != ""
	}
	if i := strings.Index(s+"/", ".git/"); i > 0 {
		return s[:i+4], strings.TrimPrefix(s[i+4:], "/"), true
	}
	parts := strings.SplitN(strings.TrimRight(s, "/"), "/", 3)
	if len(parts) < 2 || parts[0] == "" || parts[1] == "" {
		return "", "", false
	}
	if len(parts) == 3 {
		folder = parts[2]
	}
	return parts[0] + "/" + parts[1], folder, true
}
