package hub

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

// setupTokenFile is where the first administrator finds the setup token. It
// exists only while there is no user.
const setupTokenFile = "setup-token"

// setupLook is how often an unused file is renewed, because its token expires.
const setupLook = time.Hour

// setupAccounts creates and verifies setup tokens.
type setupAccounts interface {
	PrepareSetup(ctx context.Context, present string) (string, error)
}

// setup keeps the file of the setup token only while the token works. It is an
// event.Subscriber: using the token changes tokens, so the file is removed as
// soon as the hub is set up.
type setup struct {
	path     string
	accounts setupAccounts
	clock    clock.Clock
	log      *slog.Logger
	changed  chan struct{}
}

func newSetup(dir string, accounts setupAccounts, c clock.Clock, log *slog.Logger) *setup {
	return &setup{filepath.Join(dir, setupTokenFile), accounts, c, log, make(chan struct{}, 1)}
}

// prepare writes or removes the file and reports whether setup is still to be done.
func (s *setup) prepare(ctx context.Context) (bool, error) {
	present, err := os.ReadFile(s.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("read the setup token: %w", err)
	}
	kept := strings.TrimSpace(string(present))
	token, err := s.accounts.PrepareSetup(ctx, kept)
	if err != nil {
		return false, fmt.Errorf("prepare the setup token: %w", err)
	}
	if token == "" {
		if err := os.Remove(s.path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, fmt.Errorf("remove the setup token: %w", err)
		}
		return false, nil
	}
	if token != kept {
		if err := atomicfile.Write(s.path, []byte(token+"\n"), 0o600); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Rebuild implements event.Subscriber.
func (s *setup) Rebuild(context.Context) error { return nil }

// Apply implements event.Subscriber.
func (s *setup) Apply(_ context.Context, rows []event.Row) error {
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
func (s *setup) Run(ctx context.Context) error {
	for {
		if _, err := os.Stat(s.path); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		select {
		case <-s.changed:
		case <-s.clock.After(setupLook):
		case <-ctx.Done():
			return nil
		}
		if _, err := s.prepare(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("the setup token's file could not be updated", logkey.Error, err)
		}
	}
}
