package backup_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/hub/backup"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bucketserver"
)

const limit = 30 * time.Second

// lives is the store with what begins and confirms incarnations.
type lives interface {
	backup.Store
	BeginIncarnation(ctx context.Context, present, after string, confirmed bool) (event.Incarnation, error)
	ConfirmIncarnation(ctx context.Context) (event.Incarnation, error)
}

// content is what the backups here hold.
var content = strings.Repeat("a row of the database\n", 100)

// bed is a keeper on a real database, whose clock a test moves.
type bed struct {
	*testing.T
	clock    *clock.Manual
	store    lives
	database storetest.Database
	schedule backup.Schedule
	keeper   *backup.Keeper
	registry *prometheus.Registry
	stop     func()
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newBed(t *testing.T, d storetest.Database, s backup.Schedule) *bed {
	t.Helper()
	b := &bed{T: t, clock: clock.NewManual(start), store: d.Open(t), database: d, schedule: s}
	b.run()
	return b
}

// run is a start of the hub; stop its end.
func (b *bed) run() {
	b.Helper()
	b.registry = prometheus.NewRegistry()
	var err error
	b.keeper, err = backup.New(backup.Config{
		Schedule: b.schedule, Store: b.store, Clock: b.clock, Log: slog.New(slog.NewTextHandler(b.Output(), nil)), Registerer: b.registry,
		Snapshot: func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, content)
			return err
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	keeper := b.keeper
	go func() { done <- keeper.Run(ctx) }()
	stopped := false
	b.stop = func() {
		if cancel(); !stopped {
			stopped = true
			if err := <-done; err != nil {
				b.Errorf("the keeper ended: %v", err)
			}
		}
	}
	b.Cleanup(b.stop)
}

// pass moves the clock in steps, as time does.
func (b *bed) pass(d time.Duration) {
	b.Helper()
	for end := b.clock.Now().Add(d); b.clock.Now().Before(end); {
		eventually.For(b, limit, "the keeper waits", func() error {
			if n, _ := b.clock.Waiting(); n == 0 {
				return errors.New("it works")
			}
			return nil
		})
		b.clock.Advance(min(10*time.Minute, end.Sub(b.clock.Now())))
	}
}

// status waits until the status is as wanted.
func (b *bed) status(what string, good func(s backup.Status) bool) backup.Status {
	b.Helper()
	var s backup.Status
	eventually.For(b, limit, what, func() (err error) {
		if s, err = b.keeper.Status(b.Context()); err == nil && !good(s) {
			err = fmt.Errorf("%+v", s)
		}
		return err
	})
	return s
}

// made waits for the backup of a time.
func (b *bed) made(at time.Time) backup.Status {
	b.Helper()
	return b.status("the backup of "+at.String(), func(s backup.Status) bool { return s.At == clock.Micros(at) && s.Running == 0 })
}

func (b *bed) names() (names []string) {
	b.Helper()
	p, err := backup.Open(b.Context(), b.schedule.To, b.schedule.Access)
	if err != nil {
		b.Fatal(err)
	}
	files, err := p.List(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.At.Format("0102-1504"))
	}
	return names
}

// keeps waits until these are left, newest first.
func (b *bed) keeps(want string) {
	b.Helper()
	eventually.For(b, limit, "retention", func() error {
		if got := strings.Join(b.names(), " "); got != want {
			return fmt.Errorf("%s, want %s", got, want)
		}
		return nil
	})
}

// events counts the events of a kind.
func (b *bed) events(kind string) (n int) {
	b.Helper()
	db := b.database.SQL(b)
	defer db.Close()
	if err := db.QueryRowContext(b.Context(), "SELECT count(*) FROM events WHERE kind = '"+kind+"' AND object = 'backup of the hub'").Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

func (b *bed) metrics() map[string]float64 {
	b.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got[strings.TrimPrefix(f.GetName(), "axle_hub_backup_")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return got
}

// A schedule makes its first backup at once, the others at their times, one after a
// restart if its time has passed, and keeps what it should.
func TestBackupsOfASchedule(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		_, access := at(t)
		b := newBed(t, d, backup.Schedule{To: "s3://" + bucketserver.Bucket + "/axle", Access: access, Cron: "0 3 * * *", Keep: 2, KeepFor: 60 * time.Hour})
		first := b.made(start)
		if first.Name == "" || first.Bytes != int64(len(content)) || !first.Due.Equal(time.Date(2026, 3, 2, 3, 0, 0, 0, time.UTC)) {
			t.Errorf("%+v", first)
		}
		if got, want := b.metrics(), map[string]float64{
			"last_success_timestamp_seconds": float64(start.Unix()), "due_timestamp_seconds": float64(first.Due.Unix()),
			"last_size_bytes": float64(first.Bytes), "failures_total": 0,
		}; !maps.Equal(got, want) {
			t.Errorf("metrics %v, want %v", got, want)
		}
		b.pass(first.Due.Sub(start) - time.Minute)
		b.keeps("0301-1200")
		b.pass(time.Minute)
		b.made(first.Due)
		b.stop()
		b.clock.Advance(30 * time.Hour) // 4 March 09:00, after the time of a third one
		b.run()
		late := b.clock.Now()
		third := b.made(late)
		b.keeps("0303-0900 0302-0300 0301-1200") // the oldest is not old enough
		b.pass(third.Due.Sub(late))
		b.made(third.Due)
		b.keeps("0304-0300 0303-0900 0302-0300") // young enough, though above the number
		if n := b.events("backup.written"); n != 4 {
			t.Errorf("%d events", n)
		}
	})
}

// What fails is tried again, is told once, and is forgotten by a success.
func TestABackupThatFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mount")
	b := newBed(t, storetest.SQLite(t), backup.Schedule{To: dir})
	failed := b.status("a failure", func(s backup.Status) bool { return s.Failure != "" })
	if !strings.Contains(failed.Failure, dir) || failed.At != 0 || !failed.Due.Equal(start) {
		t.Errorf("%+v", failed)
	}
	b.pass(20 * time.Minute) // again, and again
	if n := b.events("backup.failed"); n != 1 {
		t.Errorf("%d events of one failure", n)
	}
	if m := b.metrics(); m["failures_total"] < 2 || m["last_success_timestamp_seconds"] != 0 {
		t.Errorf("metrics %v", m)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Hour)
	good := b.status("a success", func(s backup.Status) bool { return s.At != 0 && s.Running == 0 })
	if good.Failure != "" || good.Failed != 0 {
		t.Errorf("%+v", good)
	}
}

// A database that began empty, or that was restored and is not confirmed, removes no
// backup of before.
func TestRetentionSparesWhatOthersNeed(t *testing.T) {
	dir := t.TempDir()
	schedule := backup.Schedule{To: dir, Cron: "0 * * * *", Keep: 1}
	b := newBed(t, storetest.SQLite(t), schedule)
	b.made(start)
	b.stop()
	empty := newBed(t, storetest.SQLite(t), schedule)
	empty.made(start)
	for range 3 {
		empty.pass(time.Hour)
	}
	empty.made(start.Add(3 * time.Hour))
	empty.keeps("0301-1500 0301-1200") // one of each database
	life, err := empty.store.Incarnation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := empty.store.BeginIncarnation(t.Context(), life.ID, "", false); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		empty.pass(time.Hour)
	}
	empty.made(start.Add(5 * time.Hour))
	if got := len(empty.names()); got != 4 {
		t.Errorf("%v after a restore that nobody confirmed", empty.names())
	}
	if _, err := empty.store.ConfirmIncarnation(t.Context()); err != nil {
		t.Fatal(err)
	}
	empty.pass(time.Hour)
	empty.keeps("0301-1800 0301-1200")
}

func TestSchedules(t *testing.T) {
	for name, s := range map[string]backup.Schedule{
		"no place":      {Cron: "0 4 * * *"},
		"a bad line":    {To: "/b", Cron: "0 4 * *"},
		"never":         {To: "/b", Cron: "0 4 30 2 *"},
		"less than one": {To: "/b", Keep: -1},
		"a wrong place": {To: "ftp://b/x"},
		"not a bucket":  {To: "/b", Access: backup.Access{Region: "eu"}},
	} {
		if err := s.Check(); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, s := range []backup.Schedule{{}, {To: "/b"}, {To: "s3://b/p", Cron: "@hourly", Keep: 3, KeepFor: time.Hour}} {
		if err := s.Check(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
