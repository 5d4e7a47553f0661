package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/pg"
)

// runs starts the store's own work and ends it with the test.
func runs(t *testing.T, s *store.Store) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestOtherReplicaIsWoken(t *testing.T) {
	d := storetest.Postgres(t)
	var mu sync.Mutex
	woken := 0
	quiet := d
	quiet.Config.Wake = func() {
		mu.Lock()
		defer mu.Unlock()
		woken++
	}
	writer, other := d.Open(t), quiet.Open(t)
	runs(t, writer)
	runs(t, other)
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return woken
	}
	eventually.For(t, 30*time.Second, "the listener listens", func() error {
		if count() == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	before := count()
	write(t, writer, "a")
	eventually.For(t, 30*time.Second, "the other replica hears of a commit", func() error {
		if count() == before {
			return errors.New("not yet")
		}
		return nil
	})
}

// A transaction that is open in another database of the same server, for hours
// maybe, must not hold up the feed.
func TestForeignTransactionDoesNotStallTheFeed(t *testing.T) {
	d := storetest.Postgres(t)
	s := d.Open(t)
	foreign, err := pgx.Connect(t.Context(), pg.New(t))
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close(context.WithoutCancel(t.Context()))
	for _, statement := range []string{"BEGIN", "CREATE TABLE x (i int)"} {
		if _, err := foreign.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	write(t, s, "a")
	if rows, err := s.ChangesAfter(t.Context(), 0, 10); err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
}

// The server stops and starts again; nothing needs a restart, what was
// committed is there, and the order of the feed continues.
func TestPostgresRestartHeals(t *testing.T) {
	server, err := pg.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url, _, err := server.Clone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	woken := 0
	d := storetest.Database{Config: store.Config{DatabaseURL: url, DataDir: t.TempDir(), Wake: func() {
		mu.Lock()
		defer mu.Unlock()
		woken++
	}}}
	s := d.Open(t)
	runs(t, s)
	for round := range 2 {
		write(t, s, fmt.Sprint("before ", round))
		if err := server.Crash(); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), announce(s, "while it is away")); err == nil {
			t.Fatal("a write succeeded without a server")
		}
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually.For(t, 60*time.Second, "writes after the restart", func() error {
			return s.Write(t.Context(), announce(s, fmt.Sprint("after ", round)))
		})
	}
	rows, err := s.ChangesAfter(t.Context(), 0, 100)
	if err != nil || len(rows) != 4 || rows[3].Sequence != 4 {
		t.Fatalf("the feed is %v, %v", rows, err)
	}
}

// While the server does not answer, a write ends with its caller's patience.
func TestPausedPostgresEndsWithTheDeadline(t *testing.T) {
	server, err := pg.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url, _, err := server.Clone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := storetest.Database{Config: store.Config{DatabaseURL: url, DataDir: t.TempDir()}}.Open(t)
	resume, err := server.Pause()
	if err != nil {
		t.Fatal(err)
	}
	defer resume()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := s.Write(ctx, announce(s, "x")); err == nil {
		t.Fatal("a paused server wrote")
	}
	resume()
	eventually.For(t, 60*time.Second, "writes after the pause", func() error { return s.Write(t.Context(), announce(s, "y")) })
}
