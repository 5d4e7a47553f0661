package desired

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
)

// Wait says what a service waits for after the database lost data. Its cluster
// keeps what it has. The zero value waits for nothing.
type Wait uint8

// The reasons to wait.
const (
	waitNothing Wait = iota
	// WaitReport: the cluster has not reported yet what it has.
	WaitReport
	// WaitFetch: the content was not read from its upstream since the restore,
	// and WaitFailover since a fail-over.
	WaitFetch
	WaitFailover
	// WaitMissing and WaitSettings: a person has to confirm the restore.
	WaitMissing
	WaitSettings
)

// String returns the reason for people; empty for no wait.
func (w Wait) String() string {
	const restored = "the hub was restored from a backup: "
	const confirm = "; run `axle hub confirm-restore` if it should"
	switch w {
	case WaitReport:
		return restored + "the cluster must first report what it has"
	case WaitFetch:
		return restored + "other content is delivered once its source was read again"
	case WaitFailover:
		return "the hub's database lost its last seconds: other content is delivered once its source was read again"
	case WaitMissing:
		return restored + "the service was perhaps deleted since; it is not put into the cluster again" + confirm
	case WaitSettings:
		return restored + "its settings are not those that the cluster has; they are not taken back to the backup's" + confirm
	}
	return ""
}

// Applied is what a cluster has of a service.
type Applied struct{ Digest, SpecDigest string }

// Learnt returns what the hub learnt in the current incarnation of its
// database.
type Learnt interface {
	// Fetched returns the digests of the sources' heads that were read from
	// their upstream after a given time, without those that cannot be made now.
	Fetched(ctx context.Context, since time.Time, sources []string) (map[string]string, error)
	// Reported returns what agents have reported since the restore.
	Reported(ctx context.Context, services []string) (map[string]Applied, error)
	// Declared returns the services that somebody changed after a given time;
	// true for those that were created.
	Declared(ctx context.Context, since time.Time, services []string) (map[string]bool, error)
	// Following returns the services that follow a repository or source.
	Following(ctx context.Context, id string) ([]string, error)
	// Former returns the ended registrations of the same Kubernetes cluster, of
	// one cluster or of all.
	Former(ctx context.Context, clusterID string) (map[string][]string, error)
}

// markBatch is how many services are judged with one query.
const markBatch = 500

// failoverLoss is the most that a fail-over may lose; a greater loss is a
// restore, which a person must confirm.
const failoverLoss = 10 * time.Minute

// lost reports whether the current incarnation knows less than the previous
// one: restored until a person confirms it, or resumed after a fail-over.
func lost(life event.Incarnation) (restored, resumed bool) {
	failover := life.ParentID != "" && !life.ParentKeptAt.IsZero() && life.StartedAt.Sub(life.ParentKeptAt) < failoverLoss
	return !life.Confirmed, life.Confirmed && failover
}

// waits returns what each of the rows waits for.
func (x *Index) waits(ctx context.Context, rows []fleet.Row) (map[string]Wait, error) {
	life := x.feed.Incarnation()
	restored, resumed := lost(life)
	if x.learnt == nil || len(rows) == 0 || !restored && !resumed {
		return nil, nil
	}
	since := life.StartedAt
	if restored {
		since = time.Time{} // the restore lost when sources were read
	}
	j := judge{restored: restored}
	var sources, ids []string
	for _, r := range rows {
		ids = append(ids, r.ID)
		for _, p := range contents(r) {
			sources = append(sources, p.SourceID)
		}
	}
	var err error
	if j.fetched, err = x.learnt.Fetched(ctx, since, sources); err != nil {
		return nil, fmt.Errorf("check which sources were read: %w", err)
	}
	if restored {
		if j.applied, err = x.learnt.Reported(ctx, ids); err != nil {
			return nil, fmt.Errorf("check what clusters have applied: %w", err)
		}
		if j.declared, err = x.learnt.Declared(ctx, life.StartedAt, ids); err != nil {
			return nil, fmt.Errorf("check which services are new: %w", err)
		}
	}
	all := make(map[string]Wait, len(rows))
	for _, r := range rows {
		all[r.ID] = j.wait(r)
	}
	return all, nil
}

// judge decides from what was learnt about some rows.
type judge struct {
	restored bool
	fetched  map[string]string
	applied  map[string]Applied
	declared map[string]bool
}

func (j judge) wait(r fleet.Row) Wait {
	if r.Deleting != "" || r.Digest == "" {
		return waitNothing
	}
	if !j.restored {
		if r.SourceID == "" || r.Pinned || j.fresh(r) {
			return waitNothing
		}
		return WaitFailover
	}
	created, declared := j.declared[r.ID]
	has, reported := j.applied[r.ID]
	switch {
	case created:
		return waitNothing
	case declared:
	case !reported:
		return WaitReport
	case has.Digest == "":
		return WaitMissing
	case has.SpecDigest != r.SpecDigest:
		return WaitSettings
	}
	switch {
	case len(r.Parts) == 0 && has.Digest == r.Digest, j.fresh(r):
		return waitNothing
	case r.Pinned && declared:
		return waitNothing
	case r.Pinned || r.SourceID == "":
		return WaitSettings // a fetch cannot resolve this
	}
	return WaitFetch
}

// fresh reports whether all content was read from its upstream in this
// incarnation.
func (j judge) fresh(r fleet.Row) bool {
	for _, p := range contents(r) {
		if digest, ok := j.fetched[p.SourceID]; !ok || digest != p.Digest {
			return false
		}
	}
	return true
}

func contents(r fleet.Row) []fleet.Part {
	if len(r.Parts) > 0 {
		return r.Parts
	}
	return []fleet.Part{{SourceID: r.SourceID, Content: fleet.Content{Digest: r.Digest}}}
}

// waiting adds the services whose wait may end with a row of the feed.
func (x *Index) waiting(ctx context.Context, r event.Row, services map[string]bool) error {
	restored, resumed := lost(x.feed.Incarnation())
	switch {
	case x.learnt == nil || !restored && !resumed:
	case r.Kind == event.KindReport && restored:
		x.mu.RLock()
		defer x.mu.RUnlock()
		if c := x.table.clusters[r.Key]; c != nil {
			for _, e := range c.entries {
				if e.wait != waitNothing {
					services[e.id] = true
				}
			}
		}
	case r.Kind == event.KindRepository, r.Kind == event.KindHead:
		ids, err := x.learnt.Following(ctx, r.Key)
		if err != nil {
			return fmt.Errorf("find the services that follow %s: %w", r.Key, err)
		}
		x.mu.RLock()
		defer x.mu.RUnlock()
		for _, id := range ids {
			if e := x.table.services[id]; e != nil && e.wait != waitNothing {
				services[id] = true
			}
		}
	}
	return nil
}

// loader puts the rows of a whole table, in batches.
type loader struct {
	x    *Index
	t    *table
	rows []fleet.Row
}

func (l *loader) add(ctx context.Context, r fleet.Row) error {
	if l.rows = append(l.rows, r); len(l.rows) < markBatch {
		return nil
	}
	return l.flush(ctx)
}

func (l *loader) flush(ctx context.Context) error {
	waits, err := l.x.waits(ctx, l.rows)
	if err != nil {
		return err
	}
	for _, r := range l.rows {
		l.x.put(l.t, l.x.gate(r), waits[r.ID])
	}
	l.rows = l.rows[:0]
	return nil
}

// former adds the ended registrations to one cluster, or to all.
func (x *Index) former(ctx context.Context, t *table, clusterID string) error {
	if x.learnt == nil {
		return nil
	}
	all, err := x.learnt.Former(ctx, clusterID)
	if err != nil {
		return fmt.Errorf("read ended registrations: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for id, former := range all {
		if c := t.clusters[id]; c != nil && !slices.Equal(c.former, former) {
			c.former, c.etag = former, ""
		}
	}
	return nil
}

// under returns the wait in an incarnation: a person's confirmation ends all
// waits of a restore at once.
func (w Wait) under(l life) Wait {
	if l.confirmed && w != WaitFailover {
		return waitNothing
	}
	return w
}
