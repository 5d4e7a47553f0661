package store

import (
	"context"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// Password implements identity.PasswordStore.
func (s *Store) Password(ctx context.Context, userID string) (identity.StoredPassword, error) {
	p, found, err := rowOf(ctx, s, func(row scan) (p identity.StoredPassword, err error) {
		err = row(&p.UserID, &p.Hash, &p.ChangedAt, &p.SealedTOTP, &p.TOTPStep)
		return p, err
	}, "SELECT user_id, hash, changed_at, sealed_totp, totp_step FROM login_passwords WHERE user_id = $1", userID)
	if err == nil && !found {
		return p, errcode.New(errcode.NotFound, "the user has no password here")
	}
	return p, err
}

// PutPassword implements identity.PasswordStore.
func (s *Store) PutPassword(ctx context.Context, p identity.StoredPassword) error {
	_, err := s.exec(ctx, `INSERT INTO login_passwords (user_id, hash, changed_at, sealed_totp, totp_step) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, changed_at = excluded.changed_at,
			sealed_totp = excluded.sealed_totp, totp_step = excluded.totp_step`,
		p.UserID, p.Hash, p.ChangedAt, p.SealedTOTP, p.TOTPStep)
	return err
}

// UseTOTPStep implements identity.PasswordStore.
func (s *Store) UseTOTPStep(ctx context.Context, userID string, step int64) (bool, error) {
	return s.execOne(ctx, "UPDATE login_passwords SET totp_step = $1 WHERE user_id = $2 AND totp_step < $1", step, userID)
}

// Passkeys implements identity.PasswordStore.
func (s *Store) Passkeys(ctx context.Context, userID string) ([]identity.Passkey, error) {
	return rowsOf(ctx, s, func(row scan) (k identity.Passkey, err error) {
		err = row(&k.ID, &k.UserID, &k.Name, &k.Credential, &k.CreatedAt, &k.LastUsedAt)
		return k, err
	}, "SELECT id, user_id, name, credential, created_at, last_used_at FROM login_passkeys WHERE user_id = $1 ORDER BY created_at, id", userID)
}

// InsertPasskey implements identity.PasswordStore.
func (s *Store) InsertPasskey(ctx context.Context, k identity.Passkey) error {
	inserted, err := s.execOne(ctx, `INSERT INTO login_passkeys (id, user_id, name, credential, created_at, last_used_at)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`, k.ID, k.UserID, k.Name, k.Credential, k.CreatedAt, k.LastUsedAt)
	if err == nil && !inserted {
		return errcode.New(errcode.Conflict, "this passkey is known already")
	}
	return err
}

// UpdatePasskey implements identity.PasswordStore.
func (s *Store) UpdatePasskey(ctx context.Context, k identity.Passkey) error {
	_, err := s.exec(ctx, "UPDATE login_passkeys SET credential = $1, last_used_at = $2 WHERE id = $3", k.Credential, k.LastUsedAt, k.ID)
	return err
}

// DeletePasskey implements identity.PasswordStore.
func (s *Store) DeletePasskey(ctx context.Context, userID, id string) (bool, error) {
	return s.execOne(ctx, "DELETE FROM login_passkeys WHERE user_id = $1 AND id = $2", userID, id)
}
