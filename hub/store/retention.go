package store

import (
	"context"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// feedKept is how long a replica may be down and still catch up.
	feedKept = 24 * time.Hour
	// eventsKept is how long events are kept.
	eventsKept = 30 * 24 * time.Hour
	// operationsKept is how long operations are kept after their end.
	operationsKept = 30 * 24 * time.Hour
	// retentionPause is the time between two runs, ± a fifth.
	retentionPause = 10 * time.Minute
	// retentionChunk is how many rows one transaction deletes.
	retentionChunk = 500
	// retentionPages is how many pages of a table one run covers.
	retentionPages = 5
)

// retain drops old rows until the context ends.
func (s *Store) retain(ctx context.Context) error {
	for {
		select {
		case <-s.clock.After(jitter.Around(retentionPause, retentionPause/5)):
		case <-ctx.Done():
			return nil
		}
		if err := s.Prune(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("old rows were not dropped; trying again later", logkey.Error, err)
		}
	}
}

// Prune drops feed rows, events, recipes, contents, tarballs of the hub's own and replicas that
// are too old, and completes repositories that an older hub wrote. The last row of each incarnation stays, so that sequences continue.
// Recipes and contents are checked in pages, a fixed number each time, so the
// cost does not grow with the fleet.
func (s *Store) Prune(ctx context.Context) error {
	now := s.clock.Now()
	for _, drop := range []func() (int64, error){
		func() (int64, error) { return s.pruneFeed(ctx, clock.Micros(now.Add(-feedKept))) },
		func() (int64, error) { return s.pruneEvents(ctx, clock.Micros(now.Add(-eventsKept))) },
		func() (int64, error) { return pruneOperations(ctx, s, clock.Micros(now.Add(-operationsKept))) },
		func() (int64, error) { return 0, s.pruneReplicas(ctx) },
		func() (int64, error) { return s.CompleteURLs(ctx, retentionChunk) },
		func() (int64, error) { return 0, s.prunePackages(ctx) },
		func() (int64, error) { return 0, s.prunePages(ctx, &s.pruned.artifact, s.DropArtifacts) },
		func() (int64, error) { return 0, s.prunePages(ctx, &s.pruned.content, s.DropContents) },
	} {
		for {
			n, err := drop()
			if err != nil {
				return err
			}
			if n < retentionChunk {
				break
			}
		}
	}
	return nil
}

// prunePages continues where it stopped the last time, and starts again at the end.
func (s *Store) prunePages(ctx context.Context, at *string, drop func(ctx context.Context, after string) (last string, err error)) error {
	for range retentionPages {
		var last string
		err := s.Write(ctx, func(ctx context.Context) (err error) {
			last, err = drop(ctx, *at)
			return err
		})
		if *at = last; err != nil || last == "" {
			return err
		}
	}
	return nil
}

func (s *Store) prunePackages(ctx context.Context) error {
	for range retentionPages {
		if n, err := s.DropPackages(ctx); err != nil || n < packagePage {
			return err
		}
	}
	return nil
}

func pruneOperations(ctx context.Context, s *Store, before int64) (n int64, err error) {
	return n, s.Write(ctx, func(ctx context.Context) error {
		n, err = s.DropOperation(ctx, before, retentionChunk)
		return err
	})
}

func (s *Store) pruneFeed(ctx context.Context, before int64) (n int64, err error) {
	err = s.Write(ctx, func(ctx context.Context) (err error) {
		// The oldest come first, so rows after a page of younger ones are not read.
		n, err = s.exec(ctx, `DELETE FROM outbox WHERE (incarnation, sequence) IN (
			SELECT incarnation, sequence FROM (SELECT o.incarnation, o.sequence, o.committed_at FROM outbox o
				WHERE o.sequence < (SELECT max(l.sequence) FROM outbox l WHERE l.incarnation = o.incarnation)
				ORDER BY o.incarnation, o.sequence LIMIT $2) page WHERE committed_at < $1)`, before, retentionChunk)
		return err
	})
	return n, err
}

func (s *Store) pruneEvents(ctx context.Context, before int64) (n int64, err error) {
	err = s.Write(ctx, func(ctx context.Context) (err error) {
		n, err = s.exec(ctx, `DELETE FROM events WHERE id IN (
			SELECT id FROM (SELECT id, at FROM events WHERE id < (SELECT max(id) FROM events)
				ORDER BY id LIMIT $2) page WHERE at < $1)`, before, retentionChunk)
		return err
	})
	return n, err
}
