package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/internal/gitobject"
)

// corrupt are phrases by which git reports that the data on this disk is not
// what was written. A server may use the same phrases, so they only raise a
// suspicion that Verify resolves.
var corrupt = []string{"is corrupt", "corrupted", "inflate", "bad object", "unable to read", "cannot be mapped", "cannot be read", "does not match index",
	"garbage at end", "bad packed object", "unable to unpack", "hash mismatch", "missing blob", "missing tree", "missing commit", "packfile", "index file", "unable to find", "failed to read object",
	"bad tree object", "unable to parse", "bad signature", "wrong index", "non-monotonic", "broken link", "invalid sha1 pointer", "git cat-file ended", "object is missing", "git cat-file is out of step"}

// noteDamage makes the mirror suspect when an error looks like a broken disk.
func (m *Mirror) noteDamage(err error) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	text := err.Error()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		text = "git cat-file ended" // in the middle of an object
	}
	for _, phrase := range corrupt {
		if strings.Contains(text, phrase) {
			m.Doubt(err)
			return
		}
	}
}

// Doubt makes the mirror suspect; nil ends a suspicion.
func (m *Mirror) Doubt(why error) {
	m.doubt.Lock()
	defer m.doubt.Unlock()
	m.suspect = why
}

// Suspect returns why the mirror may be damaged, nil when there is no suspicion.
func (m *Mirror) Suspect() error {
	m.doubt.Lock()
	defer m.doubt.Unlock()
	return m.suspect
}

// verifyTimeout limits one verification. A mirror that takes longer counts as
// intact: each object is checked again when it is read.
const verifyTimeout = 30 * time.Minute

// Verify reads every pack, checks every object's hash, and checks that refs
// need no missing object. The error says what is damaged; errors.Is ErrDamaged.
func (m *Mirror) Verify(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	packs, err := Packs(m.Dir())
	if err != nil {
		return err
	}
	for _, p := range packs {
		err := check(ctx, m, "", "verify-pack", "--", "objects/pack/"+strings.TrimSuffix(p, ".pack")+".idx")
		if err != nil {
			return err
		}
	}
	// Use ids: git leaves out refs that point to nothing.
	ids, err := m.local(ctx, "", "for-each-ref", "--format=%(objectname)")
	if err != nil || ids == "" {
		return err
	}
	return check(ctx, m, ids, "rev-list", "--objects", "--quiet", "--stdin")
}

// ErrDamaged means that a mirror lacks or has damaged objects.
var ErrDamaged = errors.New("the mirror is damaged")

// check runs a git command that checks objects.
func check(ctx context.Context, m *Mirror, in string, args ...string) error {
	_, err := m.local(ctx, in, args...)
	var failed *gitexec.Error
	if err == nil || ctx.Err() != nil || !errors.As(err, &failed) {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %s", ErrDamaged, clip(failed.Words, 300))
}

// AsideOf returns where the damaged mirror of dir is kept until a new one exists.
func AsideOf(dir string) string { return dir + ".damaged" }

// SetAside moves a mirror away to make room for a new one. It can still be
// read, as far as it is intact. A mirror that was set aside before is removed.
func (m *Mirror) SetAside() error {
	aside := AsideOf(m.Dir())
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	return m.MoveTo(aside)
}

// MoveTo moves the mirror's folder; the mirror stays readable.
func (m *Mirror) MoveTo(dir string) error {
	m.packs.Lock()
	defer m.packs.Unlock()
	m.objs.closeIdle(0)
	m.doubt.Lock()
	defer m.doubt.Unlock()
	if err := os.Rename(m.dir, dir); err != nil {
		return err
	}
	m.dir = dir
	return nil
}

// Rescue copies commits and what they need from another mirror on this disk, as
// far as they are intact there, and returns those that were not.
func (m *Mirror) Rescue(ctx context.Context, from string, commits []string) (lost []string) {
	from, err := filepath.Abs(from)
	if err != nil {
		return commits
	}
	for _, c := range commits {
		if ctx.Err() != nil || !gitobject.IsID(c) {
			lost = append(lost, c)
			continue
		}
		err := gitexec.Direct{}.Run(ctx, gitexec.Command{Dir: m.Dir(), Stdin: strings.NewReader(c + "\n"),
			Env:  []string{"GIT_ALLOW_PROTOCOL=file"},
			Args: []string{"--git-dir=.", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--stdin", "--", from}})
		if err != nil {
			lost = append(lost, c)
		}
	}
	return lost
}
