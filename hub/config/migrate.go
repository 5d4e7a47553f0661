package config

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// The phases of a migration.
const (
	PhaseNone     = "none"
	PhaseCopying  = "copying"
	PhaseDeleting = "deleting"
	PhaseDone     = "done"
)

// Migration is the progress of a move of all documents from one backend to
// another.
type Migration struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Phase is one of the constants above.
	Phase   string `json:"phase"`
	Copied  int64  `json:"copied"`
	Deleted int64  `json:"deleted"`
	// Left is how many are still to be copied, or to be deleted; filled by
	// reads.
	Left int64 `json:"-"`
	// Problem is why it makes no progress now.
	Problem    string `json:"problem,omitempty"`
	By         string `json:"by"`
	StartedAt  int64  `json:"startedAt"`
	FinishedAt int64  `json:"finishedAt,omitempty"`
}

func (m Migration) underway() bool { return m.Phase == PhaseCopying || m.Phase == PhaseDeleting }

const (
	migrationSetting = "config_migration"
	// moveBatch is how many documents one step copies or deletes.
	moveBatch = 50
	// writtenWithin is after when a document that is still being written is
	// abandoned: its process has died.
	writtenWithin = 2 * time.Minute
	// againAfter is when a migration without progress retries.
	againAfter = 5 * time.Second
	// never is the retry time without a running migration.
	never = 24 * time.Hour
)

// Migrate begins to move every document from one backend to another, and makes
// the latter the default. While the same move is running, it returns its
// progress. Conflict while another is running.
func (k *Keeper) Migrate(ctx context.Context, by, from, to string) (Migration, error) {
	target, err := k.movable(from, to)
	if err != nil {
		return Migration{}, err
	}
	check, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := target.Backend.Check(check); err != nil {
		return Migration{}, fmt.Errorf("backend %s: %w", to, err)
	}
	err = k.config.Writer.Write(ctx, func(ctx context.Context) error {
		m, err := k.migration(ctx)
		if err != nil {
			return err
		}
		if m.underway() {
			if m.From == from && m.To == to {
				return nil
			}
			return errcode.New(errcode.Conflict, "values are moving from %s to %s; wait until that is done", m.From, m.To)
		}
		if err := k.config.Settings.SetSetting(ctx, defaultSetting, to); err != nil {
			return err
		}
		if err := k.keepMigration(ctx, Migration{From: from, To: to, Phase: PhaseCopying, By: by, StartedAt: k.now()}); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "config.migration_started", Object: "backend " + from, By: by, Message: "to " + to})
	})
	if err != nil {
		return Migration{}, err
	}
	poke(k.moving)
	return k.Migration(ctx)
}

func (k *Keeper) movable(from, to string) (Place, error) {
	if _, ok := k.places[from]; !ok {
		return Place{}, errcode.New(errcode.NotFound, "backend %q does not exist; axle backends list lists all", from)
	}
	target, ok := k.places[to]
	switch {
	case !ok:
		return target, errcode.New(errcode.NotFound, "backend %q does not exist; axle backends list lists all", to)
	case from == to:
		return target, errcode.New(errcode.Invalid, "from and to are the same backend")
	case target.Backend.Limit() == 0:
		return target, errcode.New(errcode.Invalid, "backend %q is read-only", to)
	}
	return target, nil
}

// migration reads the last one.
func (k *Keeper) migration(ctx context.Context) (m Migration, err error) {
	text, err := k.config.Settings.Setting(ctx, migrationSetting)
	if err != nil || text == "" {
		return Migration{Phase: PhaseNone}, err
	}
	return m, json.Unmarshal([]byte(text), &m)
}

func (k *Keeper) keepMigration(ctx context.Context, m Migration) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return k.config.Settings.SetSetting(ctx, migrationSetting, string(text))
}

// Migration returns the progress of the last migration.
func (k *Keeper) Migration(ctx context.Context) (Migration, error) {
	m, err := k.migration(ctx)
	if err != nil || !m.underway() {
		return m, err
	}
	for after := ""; ; {
		rows, err := k.config.Inventory.DocumentsIn(ctx, m.From, m.Phase == PhaseDeleting, after, 500)
		if err != nil || len(rows) == 0 {
			return m, err
		}
		m.Left += int64(len(rows))
		after = rows[len(rows)-1].ID
	}
}

// carryOn does one step of a migration and returns when to do the next.
func (k *Keeper) carryOn(ctx context.Context) <-chan time.Time {
	m, err := k.migration(ctx)
	if err == nil && !m.underway() {
		return k.config.Clock.After(never)
	}
	waits := false
	if err == nil {
		waits, err = k.step(ctx, &m)
	}
	switch {
	case err != nil && ctx.Err() == nil:
		k.config.Log.Warn("the migration of values makes no progress; trying again", "from", m.From, "to", m.To, logkey.Error, err)
		m.Problem = errcode.Message(err)
		// The problem is shown if it can be stored; the next try stores it
		// again.
		_ = k.config.Writer.Write(ctx, func(ctx context.Context) error { return k.keepMigration(ctx, m) })
		return k.config.Clock.After(againAfter)
	case waits:
		return k.config.Clock.After(time.Second)
	}
	return k.config.Clock.After(0)
}

// step copies and switches, or deletes, one batch. It reports whether it can
// only wait for documents that are still being written.
func (k *Keeper) step(ctx context.Context, m *Migration) (waits bool, err error) {
	deleting := m.Phase == PhaseDeleting
	rows, err := k.config.Inventory.DocumentsIn(ctx, m.From, deleting, "", moveBatch)
	if err != nil {
		return false, err
	}
	if len(rows) == 0 {
		return false, k.nextPhase(ctx, m)
	}
	moved := 0
	for _, d := range rows {
		switch {
		case deleting:
			err = k.dropStale(ctx, d)
		case !d.Ready && k.now()-d.CreatedAt < writtenWithin.Microseconds():
			continue
		case !d.Ready:
			err = k.drop(ctx, d)
		default:
			err = k.move(ctx, d, m.To)
		}
		if err != nil {
			return false, err
		}
		moved++
	}
	if deleting {
		m.Deleted += int64(moved)
	} else {
		m.Copied += int64(moved)
	}
	m.Problem = ""
	return moved == 0, k.config.Writer.Write(ctx, func(ctx context.Context) error { return k.keepMigration(ctx, *m) })
}

// nextPhase continues when nothing is left in the current phase.
func (k *Keeper) nextPhase(ctx context.Context, m *Migration) error {
	return k.config.Writer.Write(ctx, func(ctx context.Context) error {
		// A process that read the old default just before it changed may have
		// added one.
		late, err := k.config.Inventory.DocumentsIn(ctx, m.From, false, "", 1)
		if err != nil {
			return err
		}
		m.Problem = ""
		switch {
		case len(late) > 0:
			m.Phase = PhaseCopying
		case m.Phase == PhaseCopying:
			m.Phase = PhaseDeleting
		default:
			m.Phase, m.FinishedAt = PhaseDone, k.now()
			if err := event.Record(ctx, event.Entry{Kind: "config.migration_done", Object: "backend " + m.From, By: m.By, Message: "to " + m.To}); err != nil {
				return err
			}
		}
		return k.keepMigration(ctx, *m)
	})
}

// move copies a document, reads the copy back, and switches to it when it is
// equal. The original stays until all documents were switched.
func (k *Keeper) move(ctx context.Context, d Document, to string) error {
	text, err := k.readRow(ctx, d)
	if err != nil {
		return err
	}
	target, err := k.place(to)
	if err != nil {
		return err
	}
	d.CopiedTo, d.CopiedParts = to, len(split(text, max(1, target.Backend.Limit())))
	if err := k.update(ctx, d); err != nil {
		return ignoreGone(err)
	}
	if _, err := target.write(ctx, d.ID, text); err != nil {
		return err
	}
	copied, err := target.read(ctx, d.ID, d.CopiedParts)
	if err != nil {
		return err
	}
	if copied != text {
		return errcode.New(errcode.Internal, "backend %s returned other data than was written; nothing was switched or deleted", to)
	}
	d.StaleIn, d.StaleParts = d.Backend, d.Parts
	d.Backend, d.Parts = d.CopiedTo, d.CopiedParts
	d.CopiedTo, d.CopiedParts = "", 0
	return ignoreGone(k.update(ctx, d))
}

func (k *Keeper) update(ctx context.Context, d Document) error {
	return k.config.Writer.Write(ctx, func(ctx context.Context) error { return k.config.Documents.UpdateDocument(ctx, d) })
}

// ignoreGone ignores a document that was swept meanwhile.
func ignoreGone(err error) error {
	if errcode.Is(err, errcode.NotFound) {
		return nil
	}
	return err
}

// dropStale deletes the original of a switched document.
func (k *Keeper) dropStale(ctx context.Context, d Document) error {
	p, err := k.place(d.StaleIn)
	if err != nil {
		return err
	}
	if err := p.remove(ctx, d.ID, d.StaleParts); err != nil {
		return err
	}
	d.StaleIn, d.StaleParts = "", 0
	return ignoreGone(k.update(ctx, d))
}
