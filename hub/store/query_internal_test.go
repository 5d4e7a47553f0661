package store

import (
	"context"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

func TestTimeIsNeverStored(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		now := time.Now()
		for name, arg := range map[string]any{
			"time": now, "pointer": &now, "duration": time.Second, "bytes": []byte("x"), "nil": nil, "float": 1.5, "struct": struct{}{},
		} {
			err := s.Write(t.Context(), func(ctx context.Context) error {
				_, err := s.exec(ctx, "INSERT INTO settings (name, value) VALUES ('x', $1)", arg)
				return err
			})
			if !errcode.Is(err, errcode.Internal) {
				t.Errorf("%s was stored: %v", name, err)
			}
		}
	})
}

func TestTextLosesWhatADatabaseRefuses(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		err := s.Write(t.Context(), func(ctx context.Context) error { return s.SetSetting(ctx, "x", "a\x00b\xffc") })
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Setting(t.Context(), "x"); err != nil || got != "ab\uFFFDc" {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

func TestPoolCannotWrite(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		if _, err := s.db.Pools.Read.ExecContext(t.Context(), "DELETE FROM settings"); err == nil {
			t.Fatal("a reader deleted rows")
		}
		if _, err := s.exec(t.Context(), "DELETE FROM settings"); !errcode.Is(err, errcode.Internal) {
			t.Fatalf("a row was written outside a transaction: %v", err)
		}
	})
}

// A transaction that reads before it writes fails at once, whatever the busy
// time-out, when another wrote in between, unless it took the lock when it
// began. This is why the writer's transactions are immediate.
func TestReadThenWriteWaitsForAnotherProcess(t *testing.T) {
	config := Databases["sqlite"](t)
	s, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	other, err := openPlainSQLite(t, config.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	ctx := t.Context()
	if _, err := foreign.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if _, err := foreign.ExecContext(ctx, "INSERT INTO settings (name, value) VALUES ('foreign', '1')"); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error, 1)
	go func() {
		wrote <- s.Write(ctx, func(ctx context.Context) error {
			value, err := s.Setting(ctx, "foreign")
			if err != nil {
				return err
			}
			return s.SetSetting(ctx, "copy", value)
		})
	}()
	select {
	case err := <-wrote:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if _, err := foreign.ExecContext(ctx, "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if got, err := s.Setting(ctx, "copy"); err != nil || got != "1" {
		t.Fatalf("it read %q, %v", got, err)
	}
}
