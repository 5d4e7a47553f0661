package store

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/axle-cd/axle/hub/fleet/bundled"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// packagesKept is how long a tarball of the hub's own stays that nothing names: whoever stores
// one names it in a transaction of its own, after that.
const packagesKept = 24 * time.Hour

// packagePage is how many tarballs one transaction looks at.
const packagePage = 20

// PutPackage stores a tarball that the hub made itself. An existing one stays unchanged,
// because its name is the digest of its content, and counts as used now. DropPackages drops
// those that nothing names.
func (s *Store) PutPackage(ctx context.Context, digest string, data []byte) error {
	return s.Write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, "INSERT INTO packages (digest, data, created_at) VALUES ($1, $2, $3) ON CONFLICT (digest) DO UPDATE SET created_at = excluded.created_at",
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

// packageUses find those who name a tarball by its digest, $1, or by the source with it, $2:
// what services run or can go back to, what they follow, a rollout, a template, and a cluster
// that was made from an earlier state of one.
var packageUses = []struct {
	query    string
	bySource bool
}{
	{"SELECT 1 FROM contents WHERE digest = $1 LIMIT 1", false},
	{"SELECT 1 FROM content_parts WHERE digest = $1 LIMIT 1", false},
	{"SELECT 1 FROM services WHERE source_id = $1 LIMIT 1", true},
	{"SELECT 1 FROM service_sources WHERE source_id = $1 LIMIT 1", true},
	{"SELECT 1 FROM rollouts WHERE payload LIKE '%' || $1 || '%' OR previous_payload LIKE '%' || $1 || '%' LIMIT 1", false},
	{"SELECT 1 FROM objects WHERE pinned <> '' AND pinned LIKE '%' || $1 || '%' LIMIT 1", false},
	{"SELECT 1 FROM clusters WHERE management_id <> '' AND origin LIKE '%' || $1 || '%' LIMIT 1", false},
}

const pagesOfPackages = "SELECT digest FROM packages WHERE created_at < $1 ORDER BY created_at LIMIT $2"

// DropPackages looks at some tarballs of which nobody knew for a day whether they are used:
// one that is not named goes, another is looked at again in a day, so that a search of the
// clusters is rare. It returns how many it looked at.
func (s *Store) DropPackages(ctx context.Context) (n int64, err error) {
	now := s.clock.Now()
	err = s.Write(ctx, func(ctx context.Context) error {
		old, err := query.All(ctx, s.db, value[string], pagesOfPackages,
			clock.Micros(now.Add(-packagesKept)), packagePage)
		if err != nil {
			return err
		}
		for _, digest := range old {
			used, err := s.packageUsed(ctx, digest)
			if err != nil {
				return err
			}
			if used {
				_, err = s.exec(ctx, "UPDATE packages SET created_at = $1 WHERE digest = $2", clock.Micros(now), digest)
			} else {
				_, err = s.exec(ctx, "DELETE FROM packages WHERE digest = $1", digest)
			}
			if err != nil {
				return err
			}
		}
		n = int64(len(old))
		return nil
	})
	return n, err
}

func (s *Store) packageUsed(ctx context.Context, digest string) (bool, error) {
	for _, by := range packageUses {
		named := digest
		if by.bySource {
			named = bundled.Source(digest)
		}
		if _, found, err := rowOf(ctx, s, value[int64], by.query, named); found || err != nil {
			return found, err
		}
	}
	return false, nil
}
