package gitagent

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitref"
	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/gitobject"
)

// listed is what upstream showed, and what it is compared with.
type listed struct {
	git.Listing
	mirror *mirror.Mirror
	table  *mirror.Table // of the mirror
	diff   *mirror.Diff
	all    bool // not only the refs in use
}

// Read implements repoagent.Remote: it brings the mirror up to date.
func (a remote) Read(ctx context.Context, sources []record.Source) error {
	if err := a.connect(ctx); err != nil {
		return err
	}
	ask := a.question(sources)
	diff := ask.table.Compare()
	listing, err := a.list(ctx, ask.prefixes, diff.See)
	if err != nil {
		return err
	}
	if ask.headMoved(listing) {
		// The default branch changed to one that was not listed.
		ask.all = true
		ask.prefixes = everything(sources, ask.table)
		diff = ask.table.Compare()
		if listing, err = a.list(ctx, ask.prefixes, diff.See); err != nil {
			return err
		}
	}
	diff.End(ask.prefixes)
	m, table, err := a.mirrorFor(ctx, listing.Format)
	if err != nil {
		return err
	}
	if table != ask.table {
		// Everything that was listed is new to a new mirror; it is listed
		// completely the next time, which is at once.
		if !ask.all || ask.table.Len() > 0 {
			return a.readAnew(ctx, sources, m, table)
		}
		table = ask.table
	}
	if ask.all && listing.Count == 0 && table.Len() > 0 {
		// More likely a broken server than a repository that lost everything.
		return errcode.New(errcode.Unavailable, "%s lists no branches and no tags any more; what was fetched stays in use", a.server.Location())
	}
	return a.settle(ctx, sources, listed{listing, m, table, diff, ask.all})
}

// list lists upstream's refs, and remembers the result for the gate.
func (a *Agent) list(ctx context.Context, prefixes []string, see func(gitref.Ref) error) (git.Listing, error) {
	l, err := a.server.List(ctx, prefixes, see)
	return l, a.Said(err)
}

// readAnew lists everything for a mirror that was just created.
func (a *Agent) readAnew(ctx context.Context, sources []record.Source, m *mirror.Mirror, table *mirror.Table) error {
	prefixes := everything(sources, table)
	diff := table.Compare()
	listing, err := a.list(ctx, prefixes, diff.See)
	if err != nil {
		return err
	}
	if listing.Format != m.Format() {
		return errcode.New(errcode.Unavailable, "%s changed its object format while it was read; it is read again", a.server.Location())
	}
	diff.End(prefixes)
	return a.settle(ctx, sources, listed{listing, m, table, diff, true})
}

// settle fetches what a listing needs and makes it visible to sources.
func (a *Agent) settle(ctx context.Context, sources []record.Source, l listed) error {
	if err := a.update(ctx, sources, l); err != nil {
		return err
	}
	if l.all {
		a.lastAll, a.listed = a.Config.Clock.Now(), nil
	} else {
		a.listed = inUse(sources)
	}
	return a.replaced(ctx)
}

// question is what a listing requests.
type question struct {
	all      bool
	head     bool // some source follows the default branch
	prefixes []string
	table    *mirror.Table
}

// question decides whether to list the refs in use or all.
func (a *Agent) question(sources []record.Source) question {
	m, _, t := a.copy()
	q := question{table: t, head: slices.ContainsFunc(sources, func(s record.Source) bool { return s.Ref == "HEAD" })}
	if m == nil || a.anew {
		q.table = &mirror.Table{}
	}
	q.prefixes = gitref.Prefixes(refsOf(sources), q.table.Default())
	q.all = m == nil || a.anew || t.Len() == 0 || len(q.prefixes) == 0 || a.Config.Clock.Now().Sub(a.lastAll) >= fullEvery
	if q.all {
		q.prefixes = everything(sources, q.table)
	}
	return q
}

// headMoved reports whether the default branch that sources follow is not the
// one that was listed.
func (q question) headMoved(l git.Listing) bool {
	return q.head && !q.all && l.Default != "" && l.Default != q.table.Default()
}

// everything returns the prefixes of all branches and tags, and of other refs
// that sources name.
func everything(sources []record.Source, t *mirror.Table) []string {
	out := slices.Clone(gitref.AllPrefixes)
	for _, p := range gitref.Prefixes(refsOf(sources), t.Default()) {
		if !under(p, gitref.AllPrefixes) {
			out = append(out, p)
		}
	}
	return out
}

// update fetches what the listing has and the mirror lacks, and sets its refs.
// There is at most one fetch in a pass, so that the starts of two fetches are
// as far apart as the starts of passes.
func (a *Agent) update(ctx context.Context, sources []record.Source, l listed) error {
	m := l.mirror
	wants, err := a.wants(ctx, l)
	if err != nil {
		return err
	}
	ids, err := a.missingIDs(ctx, m, sources)
	if err != nil {
		return err
	}
	switch {
	case len(wants) > 0:
		if err := a.fetch(ctx, m, wants); err != nil {
			return err
		}
	case len(ids) > 0:
		if err := a.fetch(ctx, m, ids[:1]); err != nil && ctx.Err() == nil {
			a.idTried[ids[0]] = a.Config.Clock.Now() // the source reports the error
		}
		ids = ids[1:]
	}
	if len(ids) > 0 {
		a.Again()
	}
	if err := m.SetDefault(ctx, l.Default); err != nil {
		return err
	}
	if l.diff.Empty() && (l.Default == "" || l.Default == l.table.Default()) && !a.anew {
		return nil // an idle poll runs no git
	}
	if err := m.SetRefs(ctx, l.diff); err != nil {
		return err
	}
	now, err := m.Table(ctx)
	if err == nil {
		a.show(m, now)
	}
	return err
}

// show makes a mirror and its refs visible to readers.
func (a *Agent) show(m *mirror.Mirror, t *mirror.Table) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mirror != m || a.reader == nil {
		a.mirror, a.reader = m, mirror.NewReader(m)
	}
	a.table = t
}

// wants returns the ids of a listing that the mirror lacks, without duplicates.
func (a *Agent) wants(ctx context.Context, l listed) ([]string, error) {
	ids := make([]string, 0, l.diff.Changed.Len())
	for _, id := range l.diff.Changed.All() {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if l.table.Len() == 0 && len(l.table.Kept()) == 0 {
		return ids, nil
	}
	return l.mirror.Missing(ctx, ids)
}

// missingIDs returns the commits that sources name and the mirror lacks.
func (a *Agent) missingIDs(ctx context.Context, m *mirror.Mirror, sources []record.Source) ([]string, error) {
	var ids []string
	for _, s := range sources {
		if gitobject.IsID(s.Ref) && a.Config.Clock.Now().Sub(a.idTried[s.Ref]) >= retryIDs && len(s.Ref) == map[string]int{"sha1": 40, "sha256": 64}[m.Format()] {
			ids = append(ids, s.Ref)
		}
	}
	slices.Sort(ids)
	return m.Missing(ctx, slices.Compact(ids))
}

// fetch runs one guarded fetch, watching how much it brings.
func (a *Agent) fetch(ctx context.Context, m *mirror.Mirror, ids []string) error {
	limit, over, err := a.room(ctx, m)
	if err != nil {
		return err
	}
	// Record this start too: a slow listing must not bring two fetches, of two
	// owners or two passes, closer together.
	if err := a.Config.Results.StartFetch(ctx, a.Config.RepositoryID, a.Config.Epoch, 0); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if m.PackSpace() > limit {
					cancel(over)
				}
			}
		}
	}()
	if err := a.Said(a.server.Fetch(ctx, m, ids)); err != nil {
		return err
	}
	a.Fetched()
	return nil
}

// watchEvery is how often the bytes of a running fetch are counted.
const watchEvery = 250 * time.Millisecond

// covers reports whether the last listing included the refs under a prefix.
func (a *Agent) covers(prefix string) bool {
	if a.listed != nil {
		return slices.Contains(a.listed, prefix)
	}
	return prefix == "HEAD" || under(prefix, gitref.AllPrefixes)
}

func under(prefix string, all []string) bool {
	return slices.ContainsFunc(all, func(p string) bool { return strings.HasPrefix(prefix, p) })
}

func refsOf(sources []record.Source) []string {
	refs := make([]string, len(sources))
	for i, s := range sources {
		refs[i] = s.Ref
	}
	return refs
}

// inUse returns the prefixes of the refs that sources follow.
func inUse(sources []record.Source) []string { return gitref.Prefixes(refsOf(sources), "") }
