package store

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

var _ identity.Store = (*Store)(nil)

// InsertUser implements identity.Store.
func (s *Store) InsertUser(ctx context.Context, u identity.User) error {
	inserted, err := s.execOne(ctx, `INSERT INTO users (id, kind, name, admin, created_at)
		VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`, u.ID, u.Kind, u.Name, u.Admin, u.CreatedAt)
	if err == nil && !inserted {
		return errcode.New(errcode.Conflict, "%s %s exists", strings.ReplaceAll(string(u.Kind), "_", " "), u.Name)
	}
	return err
}

const userColumns = "SELECT id, kind, name, admin, created_at FROM users "

func scanUser(row scan) (u identity.User, err error) {
	err = row(&u.ID, &u.Kind, &u.Name, &u.Admin, &u.CreatedAt)
	return u, err
}

// UserByName implements identity.Store.
func (s *Store) UserByName(ctx context.Context, name string) (identity.User, error) {
	return s.user(ctx, "WHERE name = $1", name)
}

// User implements identity.Store.
func (s *Store) User(ctx context.Context, id string) (identity.User, error) {
	return s.user(ctx, "WHERE id = $1", id)
}

func (s *Store) user(ctx context.Context, where, key string) (identity.User, error) {
	u, found, err := rowOf(ctx, s, scanUser, userColumns+where, key)
	if err == nil && !found {
		return u, errcode.New(errcode.NotFound, "user %s does not exist", key)
	}
	return u, err
}

// CountUsers implements identity.Store.
func (s *Store) CountUsers(ctx context.Context) (int, error) {
	n, _, err := rowOf(ctx, s, value[int], "SELECT count(*) FROM users")
	return n, err
}

// SigningKeys implements identity.Store.
func (s *Store) SigningKeys(ctx context.Context) ([]identity.StoredSigningKey, error) {
	return rowsOf(ctx, s, signingKey, `SELECT id, public_key, sealed, created_at, signs_from, retired_at FROM signing_keys
		WHERE retired_at = 0 ORDER BY signs_from, id`)
}

// RetiredSigningKeys implements identity.Store.
func (s *Store) RetiredSigningKeys(ctx context.Context, since int64) ([]identity.StoredSigningKey, error) {
	return rowsOf(ctx, s, signingKey, `SELECT id, public_key, sealed, created_at, signs_from, retired_at FROM signing_keys
		WHERE retired_at > $1 AND retired_at > 0 ORDER BY signs_from, id`, since)
}

func signingKey(row scan) (k identity.StoredSigningKey, err error) {
	var public string
	if err := row(&k.ID, &public, &k.Sealed, &k.CreatedAt, &k.SignsFrom, &k.RetiredAt); err != nil {
		return k, err
	}
	k.PublicKey, err = hex.DecodeString(public)
	return k, err
}

// settingLatestKey is the setting with the newest signing key.
const settingLatestKey = "latest_signing_key"

// InsertSigningKey implements identity.Store.
func (s *Store) InsertSigningKey(ctx context.Context, k identity.StoredSigningKey) error {
	_, err := s.exec(ctx, `INSERT INTO signing_keys (id, public_key, sealed, created_at, signs_from, retired_at)
		VALUES ($1, $2, $3, $4, $5, $6)`, k.ID, hex.EncodeToString(k.PublicKey), k.Sealed, k.CreatedAt, k.SignsFrom, k.RetiredAt)
	if err != nil {
		return err
	}
	// Of two replicas that each saw no key, one must see the other's: agents
	// that registered at one would never trust the other. Both write this row,
	// so the later transaction is retried.
	return s.SetSetting(ctx, settingLatestKey, k.ID)
}

// RetireSigningKey implements identity.Store.
func (s *Store) RetireSigningKey(ctx context.Context, id string, at int64) error {
	_, err := s.exec(ctx, "UPDATE signing_keys SET retired_at = $1 WHERE id = $2", at, id)
	return err
}
