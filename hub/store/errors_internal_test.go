package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/pg"
)

func TestFullDiskSaysSoAndHeals(t *testing.T) {
	s, err := Open(t.Context(), Databases["sqlite"](t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	limit := func(pages string) {
		t.Helper()
		if _, err := s.db.Pools.Write.ExecContext(t.Context(), "PRAGMA max_page_count = "+pages); err != nil {
			t.Fatal(err)
		}
	}
	big := func(ctx context.Context) error { return s.SetSetting(ctx, "big", strings.Repeat("x", 1<<20)) }
	limit("1")
	if err := s.Write(t.Context(), big); !errcode.Is(err, errcode.Exhausted) || strings.Contains(err.Error(), "SQL") {
		t.Fatalf("on a full disk: %v", err)
	}
	if _, err := s.Setting(t.Context(), "big"); err != nil {
		t.Fatalf("reading on a full disk: %v", err)
	}
	limit("1000000")
	if err := s.Write(t.Context(), big); err != nil {
		t.Fatal(err)
	}
}

func TestServerThatIsAwayMeansTryAgain(t *testing.T) {
	server, err := pg.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url, _, err := server.Clone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Config{DataDir: t.TempDir(), DatabaseURL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	calls := map[string]func() error{
		"write": func() error {
			return s.Write(t.Context(), func(ctx context.Context) error { return s.SetSetting(ctx, "a", "b") })
		},
		"batch": func() error {
			return s.WriteBatched(t.Context(), func(ctx context.Context) error { return s.SetSetting(ctx, "a", "b") })
		},
		"read": func() error { _, err := s.Setting(t.Context(), "a"); return err },
		"moment": func() error {
			return s.Read(t.Context(), func(ctx context.Context) error { _, err := s.Position(ctx); return err })
		},
		"ping": func() error { return s.Ping(t.Context()) },
		"feed": func() error { _, err := s.ChangesAfter(t.Context(), 0, 1); return err },
		"head": func() error { _, err := s.LastSequence(t.Context()); return err },
	}
	for name, call := range calls {
		if err := call(); !errcode.Is(err, errcode.Unavailable) {
			t.Errorf("%s: %v (%s)", name, err, errcode.Of(err))
		}
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, call := range calls {
		eventually.For(t, 30*time.Second, name, call)
	}
}

// A panicking function must not keep the only writing connection, nor fail the
// others in its batch.
func TestPanicGivesTheConnectionBack(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		var empty []error
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic of a write was swallowed")
				}
			}()
			_ = s.Write(t.Context(), func(context.Context) error { return empty[len(empty)] })
		}()
		bad := make(chan error, 1)
		go func() {
			bad <- s.WriteBatched(t.Context(), func(context.Context) error { return empty[len(empty)] })
		}()
		good := s.WriteBatched(t.Context(), func(ctx context.Context) error {
			return errors.Join(s.SetSetting(ctx, "a", "b"), event.Append(ctx, event.Change{Kind: event.KindReport, Key: "a"}))
		})
		if err := <-bad; !errcode.Is(err, errcode.Internal) || good != nil {
			t.Fatalf("the one that panicked: %v, the other: %v", err, good)
		}
	})
}

func TestClosedStoreSaysTryAgain(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{
			"write": s.Write(t.Context(), func(context.Context) error { return nil }),
			"batch": s.WriteBatched(t.Context(), func(context.Context) error { return nil }),
			"ping":  s.Ping(t.Context()),
			"close": s.Close(),
		} {
			if name == "close" && err == nil {
				continue
			}
			if !errcode.Is(err, errcode.Unavailable) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
