package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/eventually"
)

// writeForever commits pairs of settings that must always be equal, and reports
// its progress after each commit.
func writeForever(url, dir string) {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Config{DatabaseURL: url, DataDir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for n := 1; ; n++ {
		err := s.Write(ctx, func(ctx context.Context) error {
			for _, name := range []string{"left", "right"} {
				if err := s.SetSetting(ctx, name, fmt.Sprint(n)); err != nil {
					return err
				}
			}
			return event.Append(ctx, event.Change{Kind: event.KindService, Key: fmt.Sprint(n)})
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(n)
	}
}

func TestKilledWriterLeavesWholeTransactions(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		for round := range 3 {
			committed := killWriter(t, d)
			eventually.For(t, 30*time.Second, "the store opens after a kill", func() error {
				s, err := store.Open(t.Context(), d.Config)
				if err != nil {
					return err
				}
				return errors.Join(wholeTransactions(t.Context(), s, committed), s.Close())
			})
			_ = round
		}
	})
}

// killWriter starts a writer, kills it after some commits and returns the last
// that it reported.
func killWriter(t *testing.T, d storetest.Database) (committed string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "AXLE_STORE_WRITER_URL="+d.Config.DatabaseURL, "AXLE_STORE_WRITER_DIR="+d.Config.DataDir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 20 {
		if !lines.Scan() {
			t.Fatal("the writer ended")
		}
		committed = lines.Text()
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		committed = lines.Text()
	}
	_ = cmd.Wait() // it was killed
	return committed
}

func wholeTransactions(ctx context.Context, s *store.Store, committed string) error {
	return s.Read(ctx, func(ctx context.Context) error {
		left, lerr := s.Setting(ctx, "left")
		right, rerr := s.Setting(ctx, "right")
		rows, err := s.ChangesAfter(ctx, 0, 1_000_000)
		if err := errors.Join(lerr, rerr, err); err != nil {
			return err
		}
		if left != right || rows[len(rows)-1].Key != left {
			return fmt.Errorf("half a transaction: %s, %s, feed %+v", left, right, rows[len(rows)-1])
		}
		var told, kept int
		fmt.Sscan(committed, &told)
		fmt.Sscan(left, &kept)
		if kept < told {
			return fmt.Errorf("transaction %d was told to be committed and is gone; the last is %d", told, kept)
		}
		return nil
	})
}
