package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
)

// Backup writes the whole database to a file, even while a hub runs on it. An
// interrupted backup leaves no file.
func Backup(ctx context.Context, c Config, file string) error {
	c, err := c.forDatabase()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(file)); err != nil {
		return errcode.New(errcode.Invalid, "the folder of the backup cannot be used: %w", err)
	}
	return atomicfile.WriteFrom(file, 0o600, func(w io.Writer) error { return store.Backup(ctx, c.storeConfig(), w) })
}

// Restore replaces the database with a backup and begins a new incarnation,
// which it returns and which a person must confirm. The hub must be stopped.
func Restore(ctx context.Context, c Config, file string) (_ event.Incarnation, err error) {
	c, err = c.forDatabase()
	if err != nil {
		return event.Incarnation{}, err
	}
	from, err := os.Open(file)
	if err != nil {
		return event.Incarnation{}, errcode.New(errcode.Invalid, "the backup cannot be read: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if c.DataDir != "" {
		folder, err := lockFolder(c.DataDir)
		if err != nil {
			return event.Incarnation{}, err
		}
		defer folder.Close() //nolint:errcheck // the process holds the lock until it ends
	}
	next, err := store.Restore(ctx, c.storeConfig(), from)
	if err != nil {
		return next, fmt.Errorf("restore %s: %w", file, err)
	}
	return next, nil
}

// forDatabase is withDefaults for commands that need only the database.
func (c Config) forDatabase() (Config, error) {
	if c.DatabaseURL != "" && c.DataDir == "" && c.KeyFile != "" {
		return c, nil
	}
	return c.withDefaults()
}
