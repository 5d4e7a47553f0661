package agentkey

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

// SignerConfig holds a Signer's dependencies, all required.
type SignerConfig struct {
	Store  SigningKeyStore
	Writer identity.Writer
	Sealer identity.Sealer
	Clock  clock.Clock
	Log    *slog.Logger
}

// Signer holds the hub's signing keys: it signs lists, specs and checkpoints of
// the audit log, and replaces keys that are old.
type Signer struct {
	store  SigningKeyStore
	writer identity.Writer
	sealer identity.Sealer
	clock  clock.Clock
	log    *slog.Logger
	keys   keyRing
}

// NewSigner returns an error when a required part is missing.
func NewSigner(c SignerConfig) (*Signer, error) {
	if c.Store == nil || c.Writer == nil || c.Sealer == nil {
		return nil, errors.New("agentkey: a signer needs a store, a writer and a sealer")
	}
	return &Signer{store: c.Store, writer: c.Writer, sealer: c.Sealer, clock: c.Clock, log: c.Log}, nil
}

func (s *Signer) now() int64 { return clock.Micros(s.clock.Now()) }

var _ event.Subscriber = (*Signer)(nil)

// Rebuild implements event.Subscriber.
func (s *Signer) Rebuild(context.Context) error {
	s.keys.forget()
	return nil
}

// Apply implements event.Subscriber.
func (s *Signer) Apply(_ context.Context, rows []event.Row) error {
	for _, row := range rows {
		if row.Kind == event.KindSigningKey {
			s.keys.forget()
		}
	}
	return nil
}

const (
	// lookEvery is how often Run looks at the age of the newest key.
	lookEvery = time.Hour
	// lookTimeout limits one look.
	lookTimeout = 20 * time.Second
)

// Run replaces keys that are old, until the context ends.
func (s *Signer) Run(ctx context.Context) error {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	for {
		err := s.rotateInTime(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			s.log.Warn("the signing keys cannot be looked at", logkey.Error, err)
			if jitter.Wait(ctx, backoff.Next()) != nil {
				return nil
			}
			continue
		}
		backoff.Reset()
		select {
		case <-ctx.Done():
			return nil
		case <-s.clock.After(lookEvery):
		}
	}
}

func (s *Signer) rotateInTime(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return s.rotateOld(ctx)
}
