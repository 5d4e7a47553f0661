package mirror

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/gitobject"
)

// mode is the type of an entry in a tree.
type mode uint8

const (
	modeFile mode = iota
	modeExec
	modeLink
	modeTree
	modeSubmodule
)

// treeEntry is one name in a tree.
type treeEntry struct {
	name string
	id   string
	mode mode
}

// parseTree reads a tree object. idBytes is 20 or 32.
func parseTree(raw []byte, idBytes int) ([]treeEntry, error) {
	var out []treeEntry
	for len(raw) > 0 {
		space, nul := bytes.IndexByte(raw, ' '), bytes.IndexByte(raw, 0)
		if space < 0 || nul < space || len(raw) < nul+1+idBytes {
			return nil, errcode.New(errcode.Unprocessable, "a tree object is cut short")
		}
		e := treeEntry{name: string(raw[space+1 : nul]), id: hex.EncodeToString(raw[nul+1 : nul+1+idBytes])}
		switch m := strings.TrimLeft(string(raw[:space]), "0"); m {
		case "40000":
			e.mode = modeTree
		case "120000":
			e.mode = modeLink
		case "160000":
			e.mode = modeSubmodule
		default:
			if !strings.HasPrefix(m, "100") || len(m) != 6 {
				return nil, errcode.New(errcode.Unprocessable, "%.200q is of mode %.10q, which is neither a file, a folder, a link nor a submodule", e.name, m)
			}
			if (m[3]-'0')&1 != 0 {
				e.mode = modeExec
			}
		}
		out = append(out, e)
		raw = raw[nul+1+idBytes:]
	}
	return out, nil
}

// trees reads trees and caches them.
type trees struct {
	mirror  *Mirror
	mu      sync.Mutex
	entries map[string][]treeEntry
	size    int // of entries
	most    int // for size
	facts   map[string]*facts
	known   int // of facts
}

// maxTreeEntries and maxFacts limit the cache, in pieces of about 150 bytes
// each. It keeps entries of the folders on the way to what sources follow; of
// those below, only the facts. A listing has a cache of its own, of maxListedEntries.
const (
	maxTreeEntries   = 100_000
	maxListedEntries = 10_000
	maxFacts         = 100_000
)

func newTrees(m *Mirror, most int) *trees {
	return &trees{mirror: m, most: most, entries: map[string][]treeEntry{}, facts: map[string]*facts{}}
}

// read returns the entries of a tree, and caches them if the tree will be
// needed again.
func (t *trees) read(ctx context.Context, id string, keep bool) ([]treeEntry, error) {
	t.mu.Lock()
	got, ok := t.entries[id]
	t.mu.Unlock()
	if ok {
		return got, nil
	}
	raw, err := t.mirror.Object(ctx, id, "tree")
	if err != nil {
		return nil, err
	}
	got, err = parseTree(raw, len(id)/2)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", id, err)
	}
	if !keep {
		return got, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.size += len(got) + 1; t.size > t.most {
		// Trees of the current commit are cached again at the next read.
		t.entries, t.size = map[string][]treeEntry{}, len(got)+1
	}
	t.entries[id] = got
	return got, nil
}

// find returns the entry of a name in a tree.
func (t *trees) find(ctx context.Context, tree, name string) (treeEntry, bool, error) {
	entries, err := t.read(ctx, tree, true)
	if err != nil {
		return treeEntry{}, false, err
	}
	for _, e := range entries {
		if e.name == name {
			return e, true, nil
		}
	}
	return treeEntry{}, false, nil
}

// Commit holds the parsed fields of a commit object.
type Commit struct {
	ID      string
	Tree    string
	Author  string
	Message string // first line
	Time    time.Time
}

// Commit reads a commit. errcode.Unprocessable when the mirror does not have
// it, or it is another kind of object.
func (m *Mirror) Commit(ctx context.Context, id string) (Commit, error) {
	raw, err := m.Object(ctx, id, "commit")
	if errors.Is(err, errMissing) {
		return Commit{}, errcode.New(errcode.Unprocessable, "commit %s is not in the repository", id)
	}
	if err != nil {
		return Commit{}, err
	}
	return parseCommit(id, raw)
}

func parseCommit(id string, raw []byte) (Commit, error) {
	c := Commit{ID: id}
	head, message, _ := bytes.Cut(raw, []byte("\n\n"))
	for line := range bytes.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		switch key {
		case "tree":
			c.Tree = value
		case "author":
			c.Author, _ = person(value)
		case "committer":
			_, c.Time = person(value)
		}
	}
	if !gitobject.IsID(c.Tree) {
		return c, fmt.Errorf("commit %s names no tree", id)
	}
	first, _, _ := bytes.Cut(bytes.TrimLeft(message, "\n"), []byte("\n"))
	c.Message = clip(strings.ToValidUTF8(string(first), "?"), 500)
	c.Author = clip(strings.ToValidUTF8(c.Author, "?"), 200)
	return c, nil
}

func clip(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "..."
	}
	return s
}

// person splits "Name <address> seconds zone".
func person(s string) (who string, at time.Time) {
	i := strings.LastIndexByte(s, '>')
	if i < 0 {
		return s, at
	}
	var sec int64
	if _, err := fmt.Sscanf(s[i+1:], "%d", &sec); err == nil && sec > 0 && sec < 1<<40 {
		at = time.Unix(sec, 0).UTC()
	}
	return s[:i+1], at
}
