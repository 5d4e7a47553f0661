package gitagent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

// Tidy implements repoagent.Remote: it keeps the mirror small and fast.
func (a remote) Tidy(ctx context.Context, well bool) {
	m, _, _ := a.copy()
	if !well || m == nil {
		return
	}
	now := a.Config.Clock.Now()
	if a.lastRepack.IsZero() {
		// Spread the repacks, so that not all mirrors are repacked on the day
		// after an upgrade.
		a.lastRepack = now.Add(-jitter.Spread(a.Config.RepositoryID, repackEvery))
	}
	err := a.repack.Tidy(ctx, m)
	if now.Sub(a.lastRepack) >= repackEvery {
		a.lastRepack = now
		err = errors.Join(err, a.dropKept(ctx, m), a.repack.Begin(a.Life, m))
	}
	if err != nil && ctx.Err() == nil {
		a.Config.Log.Warn("mirror cannot be tidied", logkey.Repository, a.Config.RepositoryID, logkey.Error, err)
	}
}

// dropKept releases the commits that no pin and no head needs, and removes the
// mirror of a former object format once none of its commits is needed.
func (a *Agent) dropKept(ctx context.Context, m *mirror.Mirror) error {
	pins, err := a.Config.Rows.Pins(ctx, a.Config.RepositoryID)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, p := range pins {
		wanted[p.Commit] = true
	}
	for _, h := range a.Heads {
		wanted[h.Revision] = true
	}
	a.mu.Lock()
	former := a.former
	a.mu.Unlock()
	if former != nil {
		needed := false
		for c := range wanted {
			needed = needed || len(c) == idLength[former.Format()]
		}
		if !needed {
			a.mu.Lock()
			a.former, a.formerReader = nil, nil
			a.mu.Unlock()
			former.Close()
			err = os.RemoveAll(a.formerDir())
		}
	}
	t, late := m.Table(ctx) // commits may have been kept since the last read
	if late != nil {
		return errors.Join(err, late)
	}
	return errors.Join(err, m.Drop(ctx, slices.DeleteFunc(slices.Clone(t.Kept()), func(c string) bool { return wanted[c] })))
}

// room returns how many bytes the next fetch may bring, and the error of a
// fetch that brings more. A mirror that is full is repacked first.
func (a *Agent) room(ctx context.Context, m *mirror.Mirror) (limit int64, over, err error) {
	where := a.server.Location()
	size := m.Size()
	room, allowed := a.config.Budget.Room(a.Config.RepositoryID, size, a.maxBytes)
	if room <= 0 && a.Config.Clock.Now().Sub(a.lastRepack) > fullEvery {
		a.lastRepack = a.Config.Clock.Now()
		if err := errors.Join(a.dropKept(ctx, m), a.repack.Whole(ctx, m)); err != nil {
			return 0, nil, err
		}
		size = m.Size()
		room, allowed = a.config.Budget.Room(a.Config.RepositoryID, size, a.maxBytes)
	}
	full := errcode.New(errcode.Exhausted, "the mirror of %s takes %s and has no room for more (%s); what was fetched stays in use; "+
		"raise the repository's maxBytes or the hub's disk budget for mirrors, or make the repository smaller", where, sizeOf(size), allowed)
	if room <= 0 {
		return 0, nil, full
	}
	if room < a.config.MaxPackBytes {
		return room, full, nil
	}
	return a.config.MaxPackBytes, errcode.New(errcode.Unprocessable, "%s sends more than %d bytes in one fetch, which is the limit", where, a.config.MaxPackBytes), nil
}

// sizeOf writes a size for people.
func sizeOf(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}
