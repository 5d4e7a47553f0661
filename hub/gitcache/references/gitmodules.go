package references

import (
	"bufio"
	"bytes"
	"path"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/repourl"
)

// Gitmodules returns the URL of each submodule by its path. It supports the
// parts of git's configuration language that people use there.
func Gitmodules(raw []byte) map[string]string {
	urls := map[string]string{}
	if len(raw) > maxText {
		return urls
	}
	type module struct{ path, url string }
	var all []*module
	var now *module
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, maxText)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			now = nil
			if name := strings.ToLower(line); strings.HasPrefix(name, "[submodule ") || strings.HasPrefix(name, "[submodule\t") {
				now = &module{}
				all = append(all, now)
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || now == nil || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "path":
			now.path = path.Clean(configValue(value))
		case "url":
			now.url = configValue(value)
		}
	}
	for _, m := range all {
		if m.path != "" && m.url != "" {
			urls[m.path] = m.url
		}
	}
	return urls
}

// configValue parses a value: quotes, escapes, comments.
func configValue(s string) string {
	var out strings.Builder
	quoted := false
	s = strings.TrimSpace(s)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(s):
			i++
			switch s[i] {
			case 'n':
				out.WriteByte('\n')
			case 't':
				out.WriteByte('\t')
			default:
				out.WriteByte(s[i])
			}
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimSpace(out.String())
		default:
			out.WriteByte(c)
		}
	}
	if strings.HasSuffix(s, `"`) {
		return out.String()
	}
	return strings.TrimSpace(out.String())
}

// SubmoduleURL resolves the URL of a submodule as git does: one that begins
// with ./ or ../ is relative to the URL of the repository that holds it.
func SubmoduleURL(parent, url string) (string, error) {
	if strings.HasPrefix(url, "-") || strings.ContainsAny(url, "\n\x00") {
		return "", errcode.New(errcode.Unprocessable, "submodule URL %.200q is not valid", repourl.Shown(url))
	}
	if !strings.HasPrefix(url, "./") && !strings.HasPrefix(url, "../") {
		return url, nil
	}
	if strings.HasPrefix(parent, "-") || strings.ContainsAny(parent, "\n\x00") {
		return "", errcode.New(errcode.Unprocessable, "repository URL %.200q is not valid", repourl.Shown(parent))
	}
	scheme, rest, ok := strings.Cut(parent, "://")
	host, dir, found := strings.Cut(rest, "/")
	if !ok || !found {
		return "", errcode.New(errcode.Unprocessable, "submodule URL %.200q is relative to %s, which has no path", repourl.Shown(url), repourl.Shown(parent))
	}
	dir = strings.Trim(dir, "/")
	for {
		if next, ok := strings.CutPrefix(url, "./"); ok {
			url = next
		} else if next, ok := strings.CutPrefix(url, "../"); ok {
			if dir == "" || dir == "." {
				return "", errcode.New(errcode.Unprocessable, "submodule URL leaves the server of %s", repourl.Shown(parent))
			}
			if dir = path.Dir(dir); dir == "." {
				dir = ""
			}
			url = next
		} else {
			break
		}
	}
	full := strings.Trim(dir+"/"+url, "/")
	if full != path.Clean(full) || full == "." || full == "" || full == ".." || strings.HasPrefix(full, "../") {
		return "", errcode.New(errcode.Unprocessable, "submodule URL %.200q is not valid", repourl.Shown(url))
	}
	return scheme + "://" + host + "/" + full, nil
}
