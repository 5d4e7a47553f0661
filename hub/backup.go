package hub

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/axle-cd/axle/hub/backup"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store"
)

// newBackups creates what makes the scheduled backups.
func newBackups(h *Hub) (*backup.Keeper, error) {
	return backup.New(backup.Config{
		Schedule: h.config.Backup, Store: h.store, Clock: h.config.Clock, Log: h.log, Registerer: h.registry,
		Snapshot: func(ctx context.Context, w io.Writer) error { return store.Backup(ctx, h.config.storeConfig(), w) },
	})
}

// Backup writes the whole database to a file, or to an object s3://BUCKET/NAME, even
// while a hub runs on it, and returns its size. An interrupted backup leaves none.
func Backup(ctx context.Context, c Config, target string) (int64, error) {
	c, err := c.forDatabase()
	if err != nil {
		return 0, err
	}
	return backup.Put(ctx, target, c.Backup.Access, func(w io.Writer) error { return store.Backup(ctx, c.storeConfig(), w) })
}

// Backups lists the scheduled backups at a place, newest first.
func Backups(ctx context.Context, c Config, place string) ([]backup.File, error) {
	return backup.List(ctx, place, c.Backup.Access)
}

// Restore replaces the database with a backup, or with the newest scheduled one of a
// place, and returns its name. It begins a new incarnation, which a person must confirm.
// The hub must be stopped.
func Restore(ctx context.Context, c Config, target string) (name string, _ event.Incarnation, err error) {
	c, err = c.forDatabase()
	if err != nil {
		return "", event.Incarnation{}, err
	}
	name, from, err := backup.Get(ctx, target, c.Backup.Access)
	if err != nil {
		return "", event.Incarnation{}, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if c.DataDir != "" {
		folder, err := lockFolder(c.DataDir)
		if err != nil {
			return "", event.Incarnation{}, err
		}
		defer folder.Close() //nolint:errcheck // the process holds the lock until it ends
	}
	next, err := store.Restore(ctx, c.storeConfig(), from)
	if err != nil {
		return "", next, fmt.Errorf("restore %s: %w", name, err)
	}
	return name, next, nil
}

// Key returns the hub's key, for a copy elsewhere: a backup cannot be read without it.
func Key(c Config) ([]byte, error) { return c.storeConfig().Key() }

// forDatabase is withDefaults for commands that need only the database.
func (c Config) forDatabase() (Config, error) {
	if c.DatabaseURL != "" && c.DataDir == "" && c.KeyFile != "" {
		return c, nil
	}
	return c.withDefaults()
}
