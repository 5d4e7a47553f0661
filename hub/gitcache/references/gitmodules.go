package references

import (
	"path"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/repourl"
)

// Gitmodules returns the URL of each submodule by its path.
func Gitmodules(raw []byte) map[string]string {
	places, urls := map[string]string{}, map[string]string{}
	for _, s := range settings(raw) {
		switch {
		case s.section != "submodule":
		case s.key == "path" && s.value != "":
			places[s.part] = path.Clean(s.value)
		case s.key == "url" && s.value != "":
			urls[s.part] = s.value
		}
	}
	out := map[string]string{}
	for name, place := range places {
		if urls[name] != "" {
			out[place] = urls[name]
		}
	}
	return out
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
