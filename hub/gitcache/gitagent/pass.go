package gitagent

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

// pass lists refs, fetches when one moved, evaluates sources and records how
// upstream is. An error with code Conflict means that the lease is gone.
func (a *Agent) pass(ctx context.Context) error {
	began := a.config.Clock.Now()
	if err := a.start(ctx); err != nil {
		if !lost(err) && !stopped(err) {
			a.config.Log.Warn("pass cannot start", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
			a.lastStart = began // not in a circle
		}
		return err
	}
	sources, fetched, err := a.read(ctx)
	// Counted from here, the gap holds where upstream measures it too: it saw
	// this pass begin before now.
	a.lastStart = a.config.Clock.Now()
	if err != nil && ctx.Err() != nil {
		return err
	}
	a.plan(err)
	if err == nil {
		err = a.evaluate(ctx, sources)
	} else if late := a.evaluateFromMirror(ctx, sources, err); lost(late) {
		err = late
	}
	if lost(err) || ctx.Err() != nil {
		return err
	}
	a.mu.Lock()
	a.last = err
	a.mu.Unlock()
	if late := a.recordHealth(ctx, err); lost(late) {
		return late
	}
	if err == nil {
		a.tidy(ctx)
	}
	a.config.OnPass(fetched, err, a.config.Clock.Now().Sub(began))
	return err
}

// start asks the store for the right to begin and waits as long as it says.
func (a *Agent) start(ctx context.Context) error {
	gap := a.config.Gap
	if !a.begun {
		// An earlier life was killed, perhaps: upstream saw its fetch begin a
		// little later than it was recorded.
		gap += gap * 2 / 5
	}
	for {
		err := a.config.Store.StartFetch(ctx, a.config.RepositoryID, a.config.Epoch, gap)
		a.lastStart = a.config.Clock.Now()
		if !errcode.Is(err, errcode.Exhausted) {
			a.begun = a.begun || err == nil
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.config.Clock.After(max(10*time.Millisecond, errcode.RetryAfter(err))):
		}
	}
}

// read brings the mirror up to date with upstream.
func (a *Agent) read(ctx context.Context) (sources []record.Source, fetched bool, err error) {
	if sources, err = a.config.Store.Sources(ctx, a.config.RepositoryID); err != nil {
		return nil, false, err
	}
	if err := a.connect(ctx); err != nil {
		return sources, false, err
	}
	prefixes := inUse(sources)
	now := a.config.Clock.Now()
	m, _, t := a.copy()
	if m == nil || t.Len() == 0 || len(prefixes) == 0 || now.Sub(a.lastAll) >= fullEvery {
		prefixes = nil
	}
	listing, err := a.server.List(ctx, prefixes)
	if err != nil {
		return sources, false, err
	}
	if m == nil || m.Format() != listing.Format {
		if err := a.openMirror(ctx, listing.Format); err != nil {
			return sources, false, err
		}
		m, _, t = a.copy()
	}
	if prefixes == nil && len(listing.Refs) == 0 && t.Len() > 0 {
		// More likely a broken server than a repository that lost everything.
		return sources, false, errcode.New(errcode.Unavailable, "%s shows no branches and no tags any more; what is known stays in use", a.server.Location())
	}
	if fetched, err = a.update(ctx, m, t, listing, prefixes, sources); err != nil {
		return sources, fetched, err
	}
	if prefixes == nil {
		a.lastAll = now
	}
	a.listed = prefixes
	a.fetchSeq++
	a.fetchedAt = now
	return sources, fetched, nil
}

// update fetches what the listing has and the mirror lacks, and sets its refs.
// There is at most one fetch in a pass, so that the starts of two are as far
// apart as the starts of passes.
func (a *Agent) update(ctx context.Context, m *upstream.Mirror, t *upstream.Table, l upstream.Listing, prefixes []string, sources []record.Source) (bool, error) {
	var wants []string
	for _, r := range l.Refs {
		if t.Raw(r.Name) != r.ID {
			wants = append(wants, r.ID)
		}
	}
	slices.Sort(wants)
	wants, err := m.Missing(ctx, slices.Compact(wants))
	if err != nil {
		return false, err
	}
	ids, err := a.missingIDs(ctx, m, sources)
	if err != nil {
		return false, err
	}
	fetched := false
	switch {
	case len(wants) > 0:
		fetched = true
		if err := a.fetch(ctx, m, wants); err != nil {
			return true, err
		}
		a.health.FetchedAt = a.config.Clock.Now()
		if len(ids) > 0 {
			a.request(func(p *pending) { p.again = true })
		}
	case len(ids) > 0:
		fetched = true
		if err := a.fetch(ctx, m, ids[:1]); err != nil && ctx.Err() == nil {
			a.idTried[ids[0]] = a.config.Clock.Now() // the source says so
		}
		if len(ids) > 1 {
			a.request(func(p *pending) { p.again = true })
		}
	}
	if err := m.SetRefs(ctx, t, l.Refs, prefixes); err != nil {
		return fetched, err
	}
	if t, err = m.Table(ctx); err != nil {
		return fetched, err
	}
	a.mu.Lock()
	a.table = t
	a.mu.Unlock()
	return fetched, nil
}

// missingIDs returns the commits that sources name and the mirror lacks.
func (a *Agent) missingIDs(ctx context.Context, m *upstream.Mirror, sources []record.Source) ([]string, error) {
	var ids []string
	for _, s := range sources {
		if upstream.IsID(s.Ref) && a.config.Clock.Now().Sub(a.idTried[s.Ref]) >= retryIDs && len(s.Ref) == map[string]int{"sha1": 40, "sha256": 64}[m.Format()] {
			ids = append(ids, s.Ref)
		}
	}
	slices.Sort(ids)
	return m.Missing(ctx, slices.Compact(ids))
}

// fetch runs one guarded fetch, watching how much it brings.
func (a *Agent) fetch(ctx context.Context, m *upstream.Mirror, ids []string) error {
	// The store learns of this start too: a slow listing must not bring two
	// fetches of two owners, or two passes, closer together.
	if err := a.config.Store.StartFetch(ctx, a.config.RepositoryID, a.config.Epoch, 0); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if m.PackSpace() > a.config.MaxPackBytes {
					cancel(errcode.New(errcode.Unprocessable, "%s sends more than %d bytes", a.server.Location(), a.config.MaxPackBytes))
				}
			}
		}
	}()
	return a.server.Fetch(ctx, m, ids)
}

// connect makes the server anew when the repository's row changed.
func (a *Agent) connect(ctx context.Context) error {
	r, err := a.config.Store.Repository(ctx, a.config.RepositoryID)
	if err != nil {
		return err
	}
	if a.server != nil && r.Generation == a.generation {
		return nil
	}
	c, err := a.config.Store.Credentials(ctx, r.ID)
	if err != nil {
		return err
	}
	if a.server != nil {
		a.server.Close()
		a.server = nil
	}
	access := upstream.Access{URL: r.URL, CA: c.CA}
	switch r.Auth {
	case record.AuthBasic, record.AuthToken:
		access.Username, access.Password = c.Username, c.Password
	case record.AuthSSH:
		access.PrivateKey, access.Passphrase, access.KnownHosts = c.PrivateKey, c.Passphrase, c.KnownHosts
	}
	s, err := a.config.Git.Server(access)
	if err != nil {
		return err
	}
	a.server, a.generation = s, r.Generation
	return nil
}

// recordHealth writes how upstream is, for people and for the repository's
// status.
func (a *Agent) recordHealth(ctx context.Context, err error) error {
	now := a.config.Clock.Now()
	h := a.health
	switch {
	case err == nil:
		h.State, h.Message, h.CheckedAt, h.FailedSince = record.Pullable, "", now, time.Time{}
	default:
		if h.State != record.Failed || h.FailedSince.IsZero() {
			h.FailedSince = now
		}
		h.State, h.Message = record.Failed, errcode.Message(err)
		a.config.Log.Warn("upstream cannot be read", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
	}
	if m, _, _ := a.copy(); m != nil {
		h.Bytes = m.Size()
	}
	if err := a.config.Store.WriteHealth(ctx, a.config.RepositoryID, a.config.Epoch, h); err != nil {
		return err
	}
	a.health = h
	return nil
}

// tidy keeps the mirror small and fast. What fails here fails nobody.
func (a *Agent) tidy(ctx context.Context) {
	m, _, _ := a.copy()
	now := a.config.Clock.Now()
	if a.lastRepack.IsZero() {
		// Not all mirrors on the day after an upgrade.
		a.lastRepack = now.Add(-jitter.Spread(a.config.RepositoryID, repackEvery))
	}
	all := now.Sub(a.lastRepack) >= repackEvery
	err := m.Tidy(ctx, all)
	if all {
		a.lastRepack = now
		err = errors.Join(err, a.dropKept(ctx, m))
	}
	if err != nil && ctx.Err() == nil {
		a.config.Log.Warn("mirror cannot be tidied", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
	}
}

// dropKept lets go the commits that no pin and no head needs.
func (a *Agent) dropKept(ctx context.Context, m *upstream.Mirror) error {
	pins, err := a.config.Store.Pins(ctx, a.config.RepositoryID)
	if err != nil {
		return err
	}
	need := map[string]bool{}
	for _, p := range pins {
		need[p.Commit] = true
	}
	for _, h := range a.heads {
		need[h.Revision] = true
	}
	_, _, t := a.copy()
	return m.Drop(ctx, slices.DeleteFunc(slices.Clone(t.Kept()), func(c string) bool { return need[c] }))
}

// inUse returns the prefixes of the refs that sources follow.
func inUse(sources []record.Source) []string {
	refs := make([]string, len(sources))
	for i, s := range sources {
		refs[i] = s.Ref
	}
	return upstream.Prefixes(refs)
}
