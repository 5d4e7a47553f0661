package gitagent

import (
	"context"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/signature"
	"github.com/axle-cd/axle/internal/errcode"
)

// trusted holds the required signatures, and what was verified.
type trusted struct {
	mode string
	keys *signature.Keys
	good map[string]bool // ids of commits and tags
}

// trust reads the repository's verification settings.
func (a *Agent) trust(v record.Verify) error {
	a.mu.Lock()
	a.trusted = nil // trust nothing when the settings are invalid
	a.mu.Unlock()
	t := &trusted{mode: v.Mode, good: map[string]bool{}}
	if v.Mode != "" {
		if v.Mode != "head" && v.Mode != "tag" {
			return errcode.New(errcode.Invalid, "verification of the kind %q does not exist for Git; use head or tag", v.Mode)
		}
		keys, err := signature.ParseKeys(v.Keys...)
		if err != nil {
			return err
		}
		t.keys = keys
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trusted = t
	return nil
}

// CheckVerify returns an error when a repository's verification settings are
// invalid.
func CheckVerify(v record.Verify) error { return new(Agent).trust(v) }

// maxGood limits how many verified ids are remembered.
const maxGood = 10_000

// errUnread means that upstream was not read yet.
var errUnread = errcode.New(errcode.Unavailable, "the repository was not read yet; try again in a moment")

// resolve finds the commit of a source's ref and, where the repository requires
// it, verifies its signature. The code of a failed check is Unprocessable: the
// same commit gives the same result.
func (a *Agent) resolve(ctx context.Context, m *mirror.Mirror, table *mirror.Table, ref string) (string, error) {
	commit, err := table.Resolve(ref)
	a.mu.Lock()
	t := a.trusted
	a.mu.Unlock()
	switch {
	case err != nil:
		return "", err
	case t == nil:
		return "", errUnread // what to verify is not known
	case t.mode == "":
		return commit, nil
	}
	id, kind := commit, "commit"
	if t.mode == "tag" {
		full, err := table.Full(ref)
		if err != nil {
			return "", err
		}
		if id = table.Raw(full); !strings.HasPrefix(full, "refs/tags/") || id == commit {
			return "", errcode.New(errcode.Unprocessable, "the repository requires signed tags and ref %q is not an annotated tag; follow a signed tag, or verify head instead", ref)
		}
		kind = "tag"
	}
	a.mu.Lock()
	good := t.good[id]
	a.mu.Unlock()
	if good {
		return commit, nil
	}
	raw, err := m.Object(ctx, id, kind)
	if err != nil {
		return "", err
	}
	if err := t.keys.Verify(kind, raw, m.Format()); err != nil {
		return "", errcode.New(errcode.Unprocessable, "%s %s of ref %q is not trusted: %w; the last good content stays in use", kind, id, ref, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(t.good) >= maxGood {
		clear(t.good)
	}
	t.good[id] = true
	return commit, nil
}
