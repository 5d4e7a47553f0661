// Package setuptoken keeps the file with which the first administrator sets a hub up. hub
// runs it; hub/identity/account makes and checks the token.
//
// Invariant: the file exists only while its token works: from the first start, at most
// 24 h, until there is a user.
package setuptoken

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/logkey"
)

// file is where the first administrator finds the setup token, in the data folder.
const file = "setup-token"

// look is how often an unused file is renewed, because its token expires.
const look = time.Hour

// Accounts creates and verifies setup tokens.
type Accounts interface {
	PrepareSetup(ctx context.Context, present string) (string, error)
}

// Keeper keeps the file of the setup token only while the token works. It is an
// event.Subscriber: using the token changes tokens, so the file is removed as
// soon as the hub is set up.
type Keeper struct {
	// Path of the file.
	Path     string
	accounts Accounts
	clock    clock.Clock
	log      *slog.Logger
	changed  chan struct{}
}

// New returns the keeper of the file in a data folder.
func New(dir string, accounts Accounts, c clock.Clock, log *slog.Logger) *Keeper {
	return &Keeper{filepath.Join(dir, file), accounts, c, log, make(chan struct{}, 1)}
}

// Prepare writes or removes the file and reports whether setup is still to be done.
func (s *Keeper) Prepare(ctx context.Context) (bool, error) {
	present, err := os.ReadFile(s.Path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("read the setup token: %w", err)
	}
	kept := strings.TrimSpace(string(present))
	token, err := s.accounts.PrepareSetup(ctx, kept)
	if err != nil {
		return false, fmt.Errorf("prepare the setup token: %w", err)
	}
	if token == "" {
		if err := os.Remove(s.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, fmt.Errorf("remove the setup token: %w", err)
		}
		return false, nil
	}
	if token != kept {
		if err := atomicfile.Write(s.Path, []byte(token+"\n"), 0o600); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Rebuild implements event.Subscriber.
func (s *Keeper) Rebuild(context.Context) error { return nil }

// Apply implements event.Subscriber.
func (s *Keeper) Apply(_ context.Context, rows []event.Row) error {
	for _, r := range rows {
		if r.Kind == event.KindToken {
			select {
			case s.changed <- struct{}{}:
			default:
			}
			return nil
		}
	}
	return nil
}

// Run removes the file once it is no longer needed. After that it has nothing to do.
func (s *Keeper) Run(ctx context.Context) error {
	for {
		if _, err := os.Stat(s.Path); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		select {
		case <-s.changed:
		case <-s.clock.After(look):
		case <-ctx.Done():
			return nil
		}
		if _, err := s.Prepare(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("the setup token's file could not be updated", logkey.Error, err)
		}
	}
}
