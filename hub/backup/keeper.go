package backup

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/syncwindow"
)

// Schedule is what the administrator of a hub sets. The zero value makes no backups.
type Schedule struct {
	Access
	// To is a folder or s3://BUCKET/PREFIX; empty makes no backups.
	To string
	// Cron is when, as a cron line in UTC; empty is DefaultCron. What was missed while
	// the hub was off is made at its start.
	Cron string
	// Keep is how many backups of this database stay at least; zero is DefaultKeep.
	Keep int
	// KeepFor is how long each stays at least; zero leaves it to Keep.
	KeepFor time.Duration
}

const (
	// DefaultCron is 02:17 in the night: not the full hour, at which everybody begins.
	DefaultCron = "17 2 * * *"
	// DefaultKeep is a week of DefaultCron.
	DefaultKeep = 7
	// runTimeout limits one backup.
	runTimeout = 6 * time.Hour
	// retryMin and retryMax bound the wait after a failure.
	retryMin, retryMax = time.Minute, time.Hour
	// lookEvery bounds a wait, so that a clock that was set is noticed.
	lookEvery = 10 * time.Minute
	// setting is the name of the row with the state.
	setting = "backup"
)

// Check reports what is wrong with the settings. Errors are Invalid.
func (s Schedule) Check() error {
	if s.To == "" {
		if s.Cron != "" && s.Cron != DefaultCron || s.Access != (Access{}) || s.Keep != 0 && s.Keep != DefaultKeep || s.KeepFor != 0 {
			return errcode.New(errcode.Invalid, "settings of scheduled backups are given, and no place for them; set --backup-to to a folder or to a bucket such as s3://backups/axle")
		}
		return nil
	}
	if err := Check(s.To, s.Access); err != nil {
		return errcode.New(errcode.Invalid, "--backup-to: %w", err)
	}
	if !strings.Contains(s.To, "://") && s.Access != (Access{}) {
		return errcode.New(errcode.Invalid, "--backup-to is the folder %s, and --backup-endpoint, --backup-region and --backup-credentials-file are for a bucket; name one, such as s3://backups/axle, or leave them out", s.To)
	}
	if s.Keep < 0 || s.KeepFor < 0 {
		return errcode.New(errcode.Invalid, "--backup-keep and --backup-keep-for cannot be negative")
	}
	if _, err := s.cron(); err != nil {
		return errcode.New(errcode.Invalid, "--backup-schedule: %w", err)
	}
	return nil
}

func (s Schedule) cron() (syncwindow.Schedule, error) {
	line := s.Cron
	if line == "" {
		line = DefaultCron
	}
	parsed, err := syncwindow.ParseSchedule(line)
	if err == nil && parsed.Next(time.Unix(0, 0)).IsZero() {
		err = fmt.Errorf("%q names a day that never comes", line)
	}
	return parsed, err
}

// Store keeps the state and records events.
type Store interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
	Setting(ctx context.Context, name string) (string, error)
	SetSetting(ctx context.Context, name, value string) error
	Incarnation(ctx context.Context) (event.Incarnation, error)
}

// Config holds a Keeper's dependencies. All but Schedule are required.
type Config struct {
	Schedule
	// Snapshot writes one state of the whole database.
	Snapshot   func(ctx context.Context, w io.Writer) error
	Store      Store
	Clock      clock.Clock
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Status is what is known of the scheduled backups, on any replica.
type Status struct {
	Schedule
	State
	// Due is when the next one is made, or should have been; zero without a schedule.
	Due time.Time
}

// State is what is stored. Times are microseconds since 1970 UTC, 0 for never.
type State struct {
	// Series names this database in the names of its backups.
	Series string `json:"series"`
	// Since is when the first backup was to be made.
	Since int64 `json:"since"`
	// Running is when the one began that is being made.
	Running int64 `json:"running,omitempty"`
	// Place is where the last complete one is, Name, At, Bytes and Took (in
	// microseconds) are its own.
	Place string `json:"place,omitempty"`
	Name  string `json:"name,omitempty"`
	At    int64  `json:"at,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	Took  int64  `json:"took,omitempty"`
	// Failed is when the last attempt failed, with Failure, if none succeeded since.
	Failed  int64  `json:"failed,omitempty"`
	Failure string `json:"failure,omitempty"`
}

// Keeper makes the backups of a schedule.
type Keeper struct {
	Config
	cron syncwindow.Schedule

	mu       sync.Mutex
	leads    bool
	state    State
	failures float64
}

// New returns a Keeper, which does nothing before Run.
func New(c Config) (*Keeper, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if c.Keep == 0 {
		c.Keep = DefaultKeep
	}
	k := &Keeper{Config: c}
	var err error
	if k.cron, err = c.cron(); err != nil {
		return nil, err
	}
	if c.Cron == "" {
		k.Config.Cron = DefaultCron
	}
	return k, c.Registerer.Register(k)
}

// Run makes backups until the context ends. One replica at a time runs it.
func (k *Keeper) Run(ctx context.Context) error {
	if k.To == "" {
		<-ctx.Done()
		return nil
	}
	retry := jitter.Backoff{Min: retryMin, Max: retryMax}
	state, err := k.begin(ctx)
	for err != nil {
		k.Log.Warn("the state of backups cannot be read", logkey.Error, err)
		if !k.wait(ctx, retry.Next()) {
			return nil
		}
		state, err = k.begin(ctx)
	}
	k.know(state, true)
	defer func() { k.know(state, false) }()
	retry.Reset()
	notBefore := k.Clock.Now()
	for {
		due := k.due(state)
		if due.Before(notBefore) {
			due = notBefore
		}
		if left := due.Sub(k.Clock.Now()); left > 0 {
			if !k.wait(ctx, min(left, lookEvery)) {
				return nil
			}
			continue
		}
		if state, err = k.once(ctx, state); ctx.Err() != nil {
			return nil
		}
		if err != nil {
			notBefore = k.Clock.Now().Add(retry.Next())
		} else {
			retry.Reset()
		}
	}
}

// wait reports whether the context goes on.
func (k *Keeper) wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-k.Clock.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// know is what the metrics show.
func (k *Keeper) know(s State, leads bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state, k.leads = s, leads
}

func (k *Keeper) read(ctx context.Context) (s State, err error) {
	text, err := k.Store.Setting(ctx, setting)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &s)
	}
	return s, err
}

// begin reads the state, and makes it once for a database.
func (k *Keeper) begin(ctx context.Context) (State, error) {
	s, err := k.read(ctx)
	if err != nil || s.Series != "" {
		return s, err
	}
	s = State{Series: strings.ToLower(rand.Text()[:8]), Since: clock.Micros(k.Clock.Now())}
	return s, k.save(ctx, s)
}

// save stores the state, with an event if there is something to tell.
func (k *Keeper) save(ctx context.Context, s State, entries ...event.Entry) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return k.Store.Write(ctx, func(ctx context.Context) error {
		for _, e := range entries {
			if err := event.Record(ctx, e); err != nil {
				return err
			}
		}
		return k.Store.SetSetting(ctx, setting, string(text))
	})
}

// due is when the backup after the last one is made. The first at a place is made at
// once.
func (k *Keeper) due(s State) time.Time {
	if s.At == 0 || s.Place != k.To {
		return clock.FromMicros(s.Since)
	}
	return k.cron.Next(clock.FromMicros(s.At))
}

// once makes a backup and returns the new state.
func (k *Keeper) once(ctx context.Context, s State) (State, error) {
	began := k.Clock.Now()
	s.Running = clock.Micros(began)
	k.Log.Info("a backup begins", "to", k.To)
	err := k.save(ctx, s)
	k.know(s, true)
	var name string
	var size int64
	if err == nil {
		name, size, err = k.make(ctx, s.Series, began)
	}
	if ctx.Err() != nil {
		return s, ctx.Err() // whoever leads next makes it
	}
	s.Running = 0
	var told []event.Entry
	if err != nil {
		err = fmt.Errorf("back up to %s: %w", k.To, err)
		if s.Failed == 0 { // once for a failure that goes on
			told = []event.Entry{{Kind: "backup.failed", Object: "backup of the hub", By: "hub", Message: errcode.Message(err)}}
		}
		s.Failed, s.Failure = clock.Micros(k.Clock.Now()), errcode.Message(err)
		k.Log.Error("a backup failed; it is made again later", "to", k.To, logkey.Error, err)
		k.failed()
	} else {
		took := k.Clock.Now().Sub(began)
		s.Place, s.Name, s.At, s.Bytes, s.Took, s.Failed, s.Failure = k.To, name, clock.Micros(began), size, took.Microseconds(), 0, ""
		told = []event.Entry{{Kind: "backup.written", Object: "backup of the hub", By: "hub", Message: fmt.Sprintf("%s, %d bytes, to %s", name, size, k.To)}}
		k.Log.Info("a backup is complete", "name", name, "bytes", size, "took", took)
	}
	k.know(s, true)
	// Without the row it is only made again after a restart.
	if serr := k.save(ctx, s, told...); serr != nil && ctx.Err() == nil {
		k.Log.Warn("the result of a backup was not stored", logkey.Error, serr)
	}
	if err == nil {
		k.retain(ctx, s.Series)
	}
	return s, err
}

func (k *Keeper) failed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failures++
}

func (k *Keeper) make(ctx context.Context, series string, began time.Time) (string, int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, runTimeout, fmt.Errorf("it took more than %v", runTimeout))
	defer cancel()
	place, err := Open(ctx, k.To, k.Access)
	if err != nil {
		return "", 0, err
	}
	name := nameOf(series, began)
	size, err := place.Put(ctx, name, func(w io.Writer) error { return k.Snapshot(ctx, w) })
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = errors.Join(context.Cause(ctx), err)
	}
	return name, size, err
}

// retain removes what is older than retention keeps. What it cannot remove is there
// for the next time.
func (k *Keeper) retain(ctx context.Context, series string) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	err := func() error {
		life, err := k.Store.Incarnation(ctx)
		if err != nil || !life.Confirmed {
			return err // the backups from before the restore may still be wanted
		}
		place, err := Open(ctx, k.To, k.Access)
		if err != nil {
			return err
		}
		files, err := place.List(ctx)
		if err != nil {
			return err
		}
		for _, f := range old(files, series, k.Schedule, k.Clock.Now()) {
			if err := place.Remove(ctx, f.Name); err != nil {
				return err
			}
			k.Log.Info("an old backup was removed", "name", f.Name)
		}
		return nil
	}()
	if err != nil && ctx.Err() == nil {
		k.Log.Warn("old backups were not removed; the next backup tries again", "to", k.To, logkey.Error, err)
	}
}

// old returns the files of a series that retention does not keep. Files are newest
// first.
func old(files []File, series string, s Schedule, now time.Time) (gone []File) {
	kept := 0
	for _, f := range files {
		if f.Series != series {
			continue
		}
		if kept++; kept > s.Keep && now.Sub(f.At) > s.KeepFor {
			gone = append(gone, f)
		}
	}
	return gone
}

// Status returns what is known, on any replica.
func (k *Keeper) Status(ctx context.Context) (Status, error) {
	if k.To == "" {
		return Status{}, nil
	}
	s, err := k.read(ctx)
	if err != nil || s.Series == "" {
		return Status{Schedule: k.Schedule}, err
	}
	return Status{Schedule: k.Schedule, State: s, Due: k.due(s)}, nil
}
