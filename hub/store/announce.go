package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/axle-cd/axle/hub/store/sqldb"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// channel is the channel on which replicas notify each other.
	channel = "axle_feed"
	// announcePause is the minimum time between two announcements: a burst of
	// commits needs one.
	announcePause = 20 * time.Millisecond
	// reconnectMax limits the pause before a lost connection is opened again.
	reconnectMax = 10 * time.Second
)

// announceCommits notifies other replicas of commits, over its own connection
// and after the commit, so that no transaction waits for the server's queue of
// notifications.
func (s *Store) announceCommits(ctx context.Context) error {
	return s.keepConnected(ctx, "commits are not announced; other replicas see them a second later", func(ctx context.Context, conn *pgx.Conn) error {
		for {
			select {
			case <-s.announce:
			case <-ctx.Done():
				return nil
			}
			call, cancel := context.WithTimeout(ctx, 5*time.Second)
			_, err := conn.Exec(call, "NOTIFY "+channel)
			cancel()
			if err != nil {
				return err
			}
			if jitter.Wait(ctx, announcePause) != nil {
				return nil
			}
		}
	})
}

// Announced reports whether this replica is notified of every commit; on SQLite
// there are only its own.
func (s *Store) Announced() bool { return !s.db.Postgres() || s.heard.Load() }

// listen wakes this replica's feed when another one announced a commit.
func (s *Store) listen(ctx context.Context) error {
	return s.keepConnected(ctx, "announcements do not arrive; the feed is read once a second", func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
			return err
		}
		// The lock that Open took is gone when the server was restarted.
		if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock_shared($1)", sqldb.AliveLock); err != nil {
			return err
		}
		s.heard.Store(true)
		defer s.heard.Store(false)
		s.wake() // for earlier announcements
		for {
			if _, err := conn.WaitForNotification(ctx); err != nil {
				return err
			}
			s.wake()
		}
	})
}

// keepConnected gives use a separate connection, and a new one after each
// failure, until the context ends.
func (s *Store) keepConnected(ctx context.Context, consequence string, use func(context.Context, *pgx.Conn) error) error {
	backoff := jitter.Backoff{Min: 200 * time.Millisecond, Max: reconnectMax}
	for ctx.Err() == nil {
		started := s.clock.Now()
		err := s.connected(ctx, use)
		if ctx.Err() != nil {
			return nil
		}
		if s.clock.Now().Sub(started) > time.Minute {
			backoff.Reset()
		}
		s.log.Warn("a connection to Postgres was lost", logkey.Reason, consequence, logkey.Error, err)
		if jitter.Wait(ctx, backoff.Next()) != nil {
			return nil
		}
	}
	return nil
}

func (s *Store) connected(ctx context.Context, use func(context.Context, *pgx.Conn) error) error {
	call, cancel := context.WithTimeout(ctx, 10*time.Second)
	conn, err := pgx.Connect(call, s.url)
	cancel()
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(call) // it may already be broken
	}()
	return use(ctx, conn)
}
