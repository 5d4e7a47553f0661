package store

import (
	"context"
	"encoding/hex"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// The owner's kind and rights are read from the user, so that a token never
// keeps rights that its owner lost.
const tokenColumns = `SELECT t.id, t.kind, t.hash, t.name, t.owner_id, t.owner_name, t.scopes, t.created_at, t.expires_at,
	t.last_used_at, t.cluster_id, t.cluster_name, t.bootstrap, t.ends_with, t.origin, COALESCE(u.kind, ''), COALESCE(u.admin, 0)
	FROM tokens t LEFT JOIN users u ON u.id = t.owner_id `

func scanToken(row scan) (t identity.Token, err error) {
	var hash string
	err = row(&t.ID, &t.Kind, &hash, &t.Name, &t.OwnerID, &t.OwnerName, asJSON{&t.Scopes}, &t.CreatedAt, &t.ExpiresAt,
		&t.LastUsedAt, &t.ClusterID, &t.ClusterName, asJSON{&t.Bootstrap}, &t.EndsWith, asJSON{&t.Origin}, &t.OwnerKind, &t.OwnerAdmin)
	if err != nil {
		return t, err
	}
	t.Hash, err = hex.DecodeString(hash)
	return t, err
}

// InsertToken implements identity.Store.
func (s *Store) InsertToken(ctx context.Context, t identity.Token) error {
	_, err := s.exec(ctx, `INSERT INTO tokens (id, kind, hash, name, owner_id, owner_name, scopes, created_at, expires_at,
		last_used_at, cluster_id, cluster_name, bootstrap, ends_with, origin) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		t.ID, t.Kind, hex.EncodeToString(t.Hash), t.Name, t.OwnerID, t.OwnerName, asJSON{t.Scopes}, t.CreatedAt, t.ExpiresAt,
		t.LastUsedAt, t.ClusterID, t.ClusterName, asJSON{t.Bootstrap}, t.EndsWith, asJSON{t.Origin})
	return err
}

// UpdateToken implements identity.Store.
func (s *Store) UpdateToken(ctx context.Context, t identity.Token) error {
	changed, err := s.execOne(ctx, "UPDATE tokens SET hash = $1, bootstrap = $2 WHERE id = $3", hex.EncodeToString(t.Hash), asJSON{t.Bootstrap}, t.ID)
	if err == nil && !changed {
		return noToken(t.ID)
	}
	return err
}

func noToken(id string) error { return errcode.New(errcode.NotFound, "token %s does not exist", id) }

// DeleteTokens implements identity.Store.
func (s *Store) DeleteTokens(ctx context.Context, ids []string) error {
	return chunks(ids, func(args []any) error {
		_, err := s.exec(ctx, "DELETE FROM tokens WHERE id IN ("+placeholders(1, len(args))+")", args...)
		return err
	})
}

// DeleteExpiredTokens implements identity.Store.
func (s *Store) DeleteExpiredTokens(ctx context.Context, before int64) error {
	_, err := s.exec(ctx, "DELETE FROM tokens WHERE expires_at > 0 AND expires_at < $1", before)
	return err
}

// Token implements identity.Store.
func (s *Store) Token(ctx context.Context, id string) (identity.Token, error) {
	t, found, err := rowOf(ctx, s, scanToken, tokenColumns+"WHERE t.id = $1", id)
	if err == nil && !found {
		return t, noToken(id)
	}
	return t, err
}

// TokenByHash implements identity.Store.
func (s *Store) TokenByHash(ctx context.Context, hash []byte) (identity.Token, error) {
	t, found, err := rowOf(ctx, s, scanToken, tokenColumns+"WHERE t.hash = $1", hex.EncodeToString(hash))
	if err == nil && !found {
		return t, errcode.New(errcode.NotFound, "the token does not exist")
	}
	return t, err
}

// TokensByID implements identity.Store.
func (s *Store) TokensByID(ctx context.Context, ids []string) (all []identity.Token, err error) {
	err = chunks(ids, func(args []any) error {
		part, err := rowsOf(ctx, s, scanToken, tokenColumns+"WHERE t.id IN ("+placeholders(1, len(args))+")", args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// Tokens implements identity.Store.
func (s *Store) Tokens(ctx context.Context, ownerID string) ([]identity.Token, error) {
	return rowsOf(ctx, s, scanToken, tokenColumns+`WHERE t.kind IN ('api', 'bootstrap', 'cli', 'federated') AND ($1 = '' OR t.owner_id = $1)
		ORDER BY t.created_at DESC, t.id LIMIT 10000`, ownerID)
}

// EachToken implements identity.Store.
func (s *Store) EachToken(ctx context.Context, now int64, fn func(identity.Token) error) error {
	return s.each(ctx, tokenColumns+"WHERE t.expires_at = 0 OR t.expires_at > $1", []any{now}, func(row scan) error {
		t, err := scanToken(row)
		if err != nil {
			return err
		}
		return fn(t)
	})
}

// ClusterTokens implements identity.Store.
func (s *Store) ClusterTokens(ctx context.Context, clusterID string) ([]identity.Token, error) {
	return rowsOf(ctx, s, scanToken, tokenColumns+"WHERE t.cluster_id = $1 AND t.cluster_id <> '' ORDER BY t.created_at DESC, t.id", clusterID)
}

// TouchTokens implements identity.Store.
func (s *Store) TouchTokens(ctx context.Context, at map[string]int64) error {
	for id, used := range at {
		if _, err := s.exec(ctx, "UPDATE tokens SET last_used_at = $1 WHERE id = $2 AND last_used_at < $1", used, id); err != nil {
			return err
		}
	}
	return nil
}
