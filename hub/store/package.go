package store

import (
	"context"
	"encoding/base64"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// PutPackage stores a tarball that the hub's own binary contains. An existing
// one stays unchanged, because its name is the digest of its content.
func (s *Store) PutPackage(ctx context.Context, digest string, data []byte) error {
	return s.Write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, "INSERT INTO packages (digest, data, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
			digest, base64.StdEncoding.EncodeToString(data), clock.Micros(s.clock.Now()))
		return err
	})
}

// Package returns the bytes of a tarball of PutPackage. NotFound.
func (s *Store) Package(ctx context.Context, digest string) ([]byte, error) {
	text, found, err := rowOf(ctx, s, value[string], "SELECT data FROM packages WHERE digest = $1", digest)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errcode.New(errcode.NotFound, "the hub has no package %s of its own", digest)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errcode.New(errcode.Internal, "package %s is damaged: %w", digest, err)
	}
	return data, nil
}
