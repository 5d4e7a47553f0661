package references

import (
	"path"
	"strings"
)

// LFSConfig is what the .lfsconfig of a repository says about fetching. Of the settings that
// git-lfs takes from that file, the others concern pushing or a command's behaviour.
type LFSConfig struct {
	// URL is the address of the LFS server; "" derives it from the repository's URL.
	URL string
	// include and exclude select files by their paths from the repository's root.
	include, exclude Attributes
	selects          bool // there is an include
}

// ParseLFSConfig parses a .lfsconfig. Invalid when its patterns are too large.
func ParseLFSConfig(raw []byte) (c LFSConfig, err error) {
	texts := map[string]string{"lfs.gitprotocol": "https"}
	for _, s := range settings(raw) {
		name := s.section + "." + s.key
		if s.part != "" {
			name = s.section + "." + s.part + "." + s.key
		}
		texts[name] = s.value
	}
	c.URL = texts["lfs.url"]
	if c.URL == "" {
		c.URL = texts["remote.origin.lfsurl"] // the name of the only remote after a clone
	}
	if rest, ok := strings.CutPrefix(c.URL, "git://"); ok {
		c.URL = texts["lfs.gitprotocol"] + "://" + rest
	}
	if c.include, err = selection(texts["lfs.fetchinclude"]); err != nil {
		return LFSConfig{}, err
	}
	c.selects = len(c.include) > 0
	c.exclude, err = selection(texts["lfs.fetchexclude"])
	return c, err
}

// selection parses patterns as .gitignore has them, with commas between.
func selection(text string) (out Attributes, err error) {
	size := 0
	for pattern := range strings.SplitSeq(text, ",") {
		pattern = strings.TrimSuffix(strings.TrimSpace(pattern), "/")
		if pattern == "" || len(out) == maxAttributes {
			continue
		}
		if out, err = out.with(pattern, true, &size); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Fetches reports whether a file goes through LFS as far as the .lfsconfig is asked, by its path
// from the repository's root, and what that took. An error says that it would take more than is left.
func (c LFSConfig) Fetches(file string, left int) (fetches bool, steps int, err error) {
	if c.selects {
		found, took, err := c.include.holds(file, left)
		if steps = took; err != nil || !found {
			return false, steps, err
		}
	}
	if len(c.exclude) == 0 {
		return true, steps, nil
	}
	found, took, err := c.exclude.holds(file, left-steps)
	return !found, steps + took, err
}

// holds reports whether a pattern matches a file or a folder that it is in.
func (a Attributes) holds(file string, left int) (found bool, steps int, err error) {
	for at := file; at != "." && at != "/"; at = path.Dir(at) {
		_, said, took, err := a.LFS(at, left-steps)
		if steps += took; err != nil || said {
			return said, steps, err
		}
	}
	return false, steps, nil
}
