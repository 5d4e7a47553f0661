package gitagent

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// formerDir is the folder of the mirror from before upstream changed its object
// format: rollbacks still need its commits.
func (a *Agent) formerDir() string { return a.config.Dir + ".former" }

// openMirror opens what an earlier run left. A mirror that was set aside is read
// until a new one is complete; one that cannot be read at all is set aside.
func (a *Agent) openMirror(ctx context.Context, format string) error {
	dir := a.config.Dir
	if damaged := mirror.FormatOf(mirror.AsideOf(dir)); damaged != "" {
		a.anew, a.aside = true, mirror.AsideOf(dir)
		dir, format = a.aside, damaged
	}
	if former := mirror.FormatOf(a.formerDir()); former != "" {
		if m, err := a.config.Mirrors.Open(ctx, a.formerDir(), former); err == nil {
			a.setFormer(m)
		}
	}
	if format == "" {
		return nil
	}
	m, err := a.config.Mirrors.Open(ctx, dir, format)
	if err != nil {
		return err
	}
	t, err := m.Table(ctx)
	if err != nil {
		m.Close()
		if ctx.Err() == nil && !a.anew {
			err = errors.Join(err, m.SetAside())
			a.anew, a.aside = true, mirror.AsideOf(dir)
		}
		return err
	}
	a.show(m, t)
	return nil
}

func (a *Agent) setFormer(m *mirror.Mirror) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.former, a.formerReader = m, mirror.NewReader(m)
}

// copyOf returns the mirror that has, or should have, a commit: the former one
// for ids of another length.
func (a *Agent) copyOf(commit string) (*mirror.Mirror, *mirror.Reader) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.former != nil && a.mirror != nil && a.former.Format() != a.mirror.Format() && len(commit) == idLength[a.former.Format()] {
		return a.former, a.formerReader
	}
	return a.mirror, a.reader
}

var idLength = map[string]int{"sha1": 40, "sha256": 64}

// mirrorFor returns the mirror to fetch into, and its refs: the existing one,
// or a new one beside it.
func (a *Agent) mirrorFor(ctx context.Context, format string) (*mirror.Mirror, *mirror.Table, error) {
	m, _, t := a.copy()
	switch {
	case m != nil && !a.anew && m.Format() == format:
		return m, t, nil
	case m != nil && !a.anew:
		// The repository was created again with another object format.
		if err := a.retire(m); err != nil {
			return nil, nil, err
		}
	}
	fresh, err := a.config.Mirrors.Open(ctx, a.config.Dir, format)
	if err != nil {
		return nil, nil, err
	}
	if t, err = fresh.Table(ctx); err != nil {
		// It was left incomplete when it was created.
		return nil, nil, errors.Join(err, os.RemoveAll(a.config.Dir))
	}
	if m == nil || !a.anew {
		a.show(fresh, t)
	}
	if t.Len() == 0 && len(t.Kept()) == 0 {
		return fresh, &mirror.Table{}, nil
	}
	return fresh, t, nil
}

// retire moves the mirror of another object format to formerDir.
func (a *Agent) retire(m *mirror.Mirror) error {
	a.mu.Lock()
	old := a.former
	a.former, a.formerReader = nil, nil
	a.mu.Unlock()
	if old != nil {
		old.Close()
	}
	if err := os.RemoveAll(a.formerDir()); err != nil {
		return err
	}
	if err := m.MoveTo(a.formerDir()); err != nil {
		return err
	}
	a.setFormer(m)
	a.Config.Log.Info("upstream has another object format; the former mirror is kept for rollbacks", logkey.Repository, a.Config.RepositoryID)
	return nil
}

// verifyAgain is how long a mirror that was found intact is trusted.
const verifyAgain = time.Hour

// heal checks a suspected mirror. A damaged one is set aside and replaced at
// once by another replica's copy, or cloned again at the next pass; what is
// still readable of it is used until then.
func (a *Agent) heal(ctx context.Context) error {
	m, _, _ := a.copy()
	if m == nil || a.anew || m.Suspect() == nil || a.Config.Clock.Now().Sub(a.verified) < verifyAgain {
		return nil
	}
	why := m.Suspect()
	err := m.Verify(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case !errors.Is(err, mirror.ErrDamaged):
		m.Doubt(nil)
		a.whole.Store(m)
		a.verified = a.Config.Clock.Now()
		a.Config.Log.Info("mirror is intact", logkey.Repository, a.Config.RepositoryID, logkey.Reason, why, logkey.Error, err)
		return nil
	}
	a.Config.Log.Warn("mirror is damaged and is created again", logkey.Repository, a.Config.RepositoryID, logkey.Reason, why, logkey.Error, err)
	if late := m.SetAside(); late != nil {
		return late
	}
	a.anew, a.aside = true, m.Dir()
	if seed(ctx, a) {
		return nil
	}
	a.Again()
	return errcode.New(errcode.Unavailable, "this replica's copy of the repository is damaged (%w); it is cloned again, and what was delivered stays in use", err)
}

// seed replaces a mirror that was set aside with another replica's copy, and
// reports whether that is now in use.
func seed(ctx context.Context, a *Agent) bool {
	if !a.anew || !a.config.Seed(ctx) {
		return false
	}
	format := mirror.FormatOf(a.config.Dir)
	m, err := a.config.Mirrors.Open(ctx, a.config.Dir, format)
	if err == nil {
		var t *mirror.Table
		if t, err = m.Table(ctx); err == nil {
			a.show(m, t)
			err = a.replaced(ctx)
		}
	}
	if err != nil {
		a.Config.Log.Warn("the mirror of another replica cannot be used", logkey.Repository, a.Config.RepositoryID, logkey.Error, err)
		return false
	}
	a.Config.Log.Info("mirror was created again from another replica's copy", logkey.Repository, a.Config.RepositoryID)
	a.verified = time.Time{}
	a.listed, a.lastAll = nil, time.Time{} // everything is read from upstream again
	return true
}

// replaced ends a heal: the new mirror has what upstream has; what only the old
// one has is rescued, and everything is evaluated again.
func (a *Agent) replaced(ctx context.Context) error {
	if !a.anew {
		return nil
	}
	m, _, _ := a.copy()
	if m == nil || m.Dir() == a.aside {
		return nil
	}
	old, err := a.config.Mirrors.Open(ctx, a.aside, m.Format())
	if err == nil {
		if t, err := old.Table(ctx); err == nil {
			missing, err := m.Missing(ctx, t.Kept())
			if err != nil {
				return err
			}
			if lost := m.Rescue(ctx, a.aside, missing); len(lost) > 0 {
				a.Config.Log.Warn("kept commits are lost with the damaged mirror", logkey.Repository, a.Config.RepositoryID, logkey.Count, len(lost))
			}
			if missing, err = m.Missing(ctx, t.Kept()); err != nil {
				return err
			}
			if err := m.Keep(ctx, without(t.Kept(), missing)); err != nil {
				return err
			}
		}
		old.Close()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if t, err := m.Table(ctx); err == nil {
		a.show(m, t)
	}
	a.anew, a.aside = false, ""
	clear(a.evaluated)
	return os.RemoveAll(mirror.AsideOf(a.config.Dir))
}

func without(all, some []string) []string {
	gone := make(map[string]bool, len(some))
	for _, s := range some {
		gone[s] = true
	}
	var out []string
	for _, s := range all {
		if !gone[s] {
			out = append(out, s)
		}
	}
	return out
}
