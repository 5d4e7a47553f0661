package store

import (
	"context"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// InsertTrust implements identity.FederationStore.
func (s *Store) InsertTrust(ctx context.Context, t identity.Trust) error {
	inserted, err := s.execOne(ctx, `INSERT INTO trusts (id, name, issuer, audience, claims, account_id, scopes, lifetime, ca_pem,
		created_at, created_by, last_used_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING`,
		t.ID, t.Name, t.Issuer, t.Audience, asJSON{t.Claims}, t.AccountID, asJSON{t.Scopes}, t.Lifetime, t.CAPEM, t.CreatedAt, t.CreatedBy, t.LastUsedAt)
	if err == nil && !inserted {
		return errcode.New(errcode.Conflict, "trust %s exists", t.Name)
	}
	return err
}

// DeleteTrust implements identity.FederationStore.
func (s *Store) DeleteTrust(ctx context.Context, id string) error {
	_, err := s.exec(ctx, "DELETE FROM trusts WHERE id = $1", id)
	return err
}

// Trusts implements identity.FederationStore.
func (s *Store) Trusts(ctx context.Context, issuer string) ([]identity.Trust, error) {
	return rowsOf(ctx, s, func(row scan) (t identity.Trust, err error) {
		err = row(&t.ID, &t.Name, &t.Issuer, &t.Audience, asJSON{&t.Claims}, &t.AccountID, &t.Account, asJSON{&t.Scopes}, &t.Lifetime, &t.CAPEM, &t.CreatedAt, &t.CreatedBy, &t.LastUsedAt)
		return t, err
	}, `SELECT t.id, t.name, t.issuer, t.audience, t.claims, t.account_id, COALESCE(u.name, ''), t.scopes, t.lifetime, t.ca_pem,
		t.created_at, t.created_by, t.last_used_at FROM trusts t LEFT JOIN users u ON u.id = t.account_id
		WHERE $1 = '' OR t.issuer = $1 ORDER BY t.name`, issuer)
}

// TouchTrust implements identity.FederationStore.
func (s *Store) TouchTrust(ctx context.Context, id string, at int64) error {
	known, err := s.execOne(ctx, "UPDATE trusts SET last_used_at = $2 WHERE id = $1", id, at)
	if err == nil && !known {
		return errcode.New(errcode.NotFound, "the trust was deleted")
	}
	return err
}
