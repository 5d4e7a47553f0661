package tree

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// maxHops is how many links one path may go through, as in Linux.
const maxHops = 40

// Seal resolves all links. After it nothing can be added.
func (t *Tree) Seal() error {
	t.files = make(map[string]entry, len(t.raw))
	t.broken = map[string]string{}
	t.paths = sortedKeys(t.raw)
	for _, name := range t.paths {
		if err := t.settle(name, name, []string{path.Dir(name)}); err != nil {
			return err
		}
	}
	for name := range t.broken {
		t.names = append(t.names, name)
	}
	for name := range t.files {
		t.names = append(t.names, name)
	}
	slices.Sort(t.names)
	return nil
}

// settle adds the content at real under name. The stack holds the real folders that
// are being copied, to detect a link to a folder that contains it.
func (t *Tree) settle(name, real string, stack []string) error {
	if t.settled++; t.settled > maxFiles {
		return &Error{name, fmt.Sprintf("more than %d files, links counted", maxFiles)}
	}
	e := t.raw[real]
	if e.link == "" {
		t.files[name] = e
		return nil
	}
	target, why := t.resolve(real)
	if why != "" {
		t.broken[name] = why
		return nil
	}
	if _, ok := t.raw[target]; ok {
		return t.settle(name, target, stack)
	}
	inside := below(t.paths, target)
	if len(inside) == 0 {
		t.broken[name] = fmt.Sprintf("the symbolic link points to %q, which does not exist", e.link)
		return nil
	}
	if slices.ContainsFunc(stack, func(dir string) bool { return holds(target, dir) }) {
		t.broken[name] = fmt.Sprintf("the symbolic link points to %q, a folder that contains the link itself", e.link)
		return nil
	}
	stack = append(slices.Clone(stack), target)
	for _, child := range inside {
		rel := strings.TrimPrefix(child, target+"/")
		if target == "." {
			rel = child
		}
		next := append(slices.Clone(stack), path.Dir(child))
		if err := t.settle(path.Join(name, rel), child, next); err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether folder a is b or above it.
func holds(a, b string) bool { return a == "." || a == b || strings.HasPrefix(b, a+"/") }

// resolve follows links until the path names a file or a folder, or says why it cannot.
func (t *Tree) resolve(name string) (target, why string) {
	start := t.raw[name].link
	for range maxHops {
		link, rest := t.firstLink(name)
		if link == "" {
			return name, ""
		}
		to := t.raw[link].link
		if name = path.Join(path.Dir(link), to, rest); path.IsAbs(to) || escapes(name) {
			return "", fmt.Sprintf("the symbolic link points to %q, outside the service's files; what is read must lie inside them", start)
		}
	}
	return "", fmt.Sprintf("more than %d symbolic links in a row", maxHops)
}

// firstLink finds the shortest leading part of name that is a link.
func (t *Tree) firstLink(name string) (link, rest string) {
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		if e, ok := t.raw[name[:i]]; ok && e.link != "" {
			return name[:i], strings.TrimPrefix(name[i:], "/")
		}
	}
	return "", ""
}

func sortedKeys(m map[string]entry) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
