package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// lossTolerated is the maximum age of the last remaining row. When it is older,
// hours of work may be lost, as after a restore of a database backup or of a
// disk, and a person must confirm. Agents use the same limit.
const lossTolerated = 10 * time.Minute

var (
	incarnationTable  = rows.Of("incarnations", rows.Fields[event.Incarnation])
	selectIncarnation = incarnationTable.Select() + "ORDER BY id DESC LIMIT 1"
	insertIncarnation = incarnationTable.All().Insert("")
)

// Incarnation returns the current incarnation of the database.
func (s *Store) Incarnation(ctx context.Context) (event.Incarnation, error) {
	i, found, err := rowOf(ctx, s, incarnationTable.Reader(), selectIncarnation)
	if err == nil && !found {
		err = errcode.New(errcode.Internal, "the database has no incarnation")
	}
	return i, err
}

// firstIncarnation creates the first incarnation. Two replicas that start on an
// empty database at the same time create one.
func (s *Store) firstIncarnation(ctx context.Context) error {
	return s.Write(ctx, func(ctx context.Context) error {
		if s.db.Postgres() {
			if _, err := s.exec(ctx, "LOCK TABLE incarnations IN SHARE ROW EXCLUSIVE MODE"); err != nil {
				return err
			}
		}
		n, _, err := rowOf(ctx, s, value[int64], "SELECT count(*) FROM incarnations")
		if err != nil || n > 0 {
			return err
		}
		now := s.clock.Now()
		return s.insertIncarnation(ctx, event.Incarnation{ID: incarnationID(now), StartedAt: now, Confirmed: true})
	})
}

func (s *Store) insertIncarnation(ctx context.Context, i event.Incarnation) error {
	_, err := wrote(ctx, s, insertIncarnation, &i)
	if err != nil {
		return fmt.Errorf("write the incarnation: %w", err)
	}
	return nil
}

func incarnationID(start time.Time) string {
	var random [2]byte
	rand.Read(random[:])
	return fmt.Sprintf("%014x-%s", clock.Micros(start), hex.EncodeToString(random[:]))
}

// incarnationStart returns the time in an id, zero when it is not an id.
func incarnationStart(id string) time.Time {
	micros, _, ok := strings.Cut(id, "-")
	n, err := strconv.ParseInt(micros, 16, 64)
	if !ok || err != nil {
		return time.Time{}
	}
	return clock.FromMicros(n)
}

// BeginIncarnation ends the incarnation named present and begins the next, as
// its child. When another replica was faster, it changes nothing and returns
// that replica's incarnation. after, when set, is an id that the new one must
// sort after although the database does not have it.
func (s *Store) BeginIncarnation(ctx context.Context, present, after string, confirmed bool) (next event.Incarnation, err error) {
	err = s.Write(ctx, func(ctx context.Context) error {
		h, err := s.lockHead(ctx)
		if err != nil {
			return err
		}
		if h.incarnation != present {
			// The other's row may be younger than this transaction's snapshot.
			next = event.Incarnation{}
			return nil
		}
		start := s.clock.Now().Truncate(time.Microsecond) // with the precision of an id
		for _, id := range []string{h.incarnation, after} {
			if t := incarnationStart(id); !t.Before(start) {
				start = t.Add(time.Microsecond)
			}
		}
		next = event.Incarnation{
			ID: incarnationID(start), StartedAt: start, ParentID: h.incarnation,
			ParentKeptSequence: h.sequence, ParentKeptAt: clock.FromMicros(h.at), Confirmed: confirmed,
		}
		if err := forgetReads(ctx, s); err != nil {
			return err
		}
		if !confirmed {
			// As after a restore, nothing here was learnt in this incarnation.
			if err := errors.Join(forgetReports(ctx, s), s.Restored(ctx)); err != nil {
				return err
			}
		}
		if err := s.insertIncarnation(ctx, next); err != nil {
			return err
		}
		first := []event.Change{{Kind: event.KindIncarnation, Key: next.ID}}
		return s.insertChanges(ctx, event.Position{Incarnation: next.ID, Sequence: 1}, clock.Micros(start), first)
	})
	if err != nil {
		return next, fmt.Errorf("begin an incarnation: %w", err)
	}
	if next.ID == "" {
		return s.Incarnation(ctx)
	}
	s.log.Warn("a new incarnation of the database begins", logkey.Incarnation, next.ID, "parent", next.ParentID, logkey.Position, next.ParentKeptSequence)
	s.committed()
	return next, nil
}

// ConfirmIncarnation accepts the current incarnation after a restore, which
// ends the agents' hold of deletes, and returns it.
func (s *Store) ConfirmIncarnation(ctx context.Context) (present event.Incarnation, err error) {
	err = s.Write(ctx, func(ctx context.Context) error {
		if present, err = s.Incarnation(ctx); err != nil || present.Confirmed {
			return err
		}
		present.Confirmed = true
		if _, err := s.exec(ctx, "UPDATE incarnations SET confirmed = 1 WHERE id = $1", present.ID); err != nil {
			return err
		}
		return event.Append(ctx, event.Change{Kind: event.KindIncarnation, Key: present.ID})
	})
	return present, err
}

// Repair begins a new incarnation when the database no longer has seen, a position
// that this hub issued: after a fail-over that lost its last seconds, or after a
// restore of a copy. Normally it does nothing. witness is the cluster that
// showed the proof of seen, empty when this replica knows it by itself.
func (s *Store) Repair(ctx context.Context, seen event.Position, witness string) error {
	h, err := s.readHead(ctx, s.db.Pools.Read)
	if err != nil || !(event.Position{Incarnation: h.incarnation, Sequence: h.sequence}).Before(seen) {
		return err
	}
	present, err := s.Incarnation(ctx)
	if err != nil || present.ID != h.incarnation {
		return err
	}
	// What waits for a person's confirmation continues to wait.
	confirmed := present.Confirmed && s.clock.Now().Sub(clock.FromMicros(h.at)) < lossTolerated
	s.log.Warn("the database lost committed rows", logkey.Position, seen.String(), "kept", h.sequence, logkey.Cluster, witness, "confirmed", confirmed)
	_, err = s.BeginIncarnation(ctx, h.incarnation, seen.Incarnation, confirmed)
	return err
}
