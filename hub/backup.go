package hub

import (
	"context"

	"github.com/axle-cd/axle/internal/errcode"
)

// Backup writes the whole database to a file, also while a hub runs on it.
func Backup(ctx context.Context, c Config, file string) error {
	return errcode.New(errcode.Unavailable, "backup is not there yet")
}

// Restore replaces the database by a backup and begins a new incarnation,
// which a person has to confirm.
func Restore(ctx context.Context, c Config, file string) error {
	return errcode.New(errcode.Unavailable, "restore is not there yet")
}
