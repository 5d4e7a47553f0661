package store

import (
	"context"
	"encoding/hex"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

const sessionColumns = "SELECT token_id, user_id, method, provider_id, source, agent, sealed, proved_at FROM login_sessions "

func scanSession(row scan) (x identity.StoredSession, err error) {
	err = row(&x.TokenID, &x.UserID, &x.Method, &x.ProviderID, &x.Source, &x.Agent, &x.Sealed, &x.ProvedAt)
	return x, err
}

// PutSession implements identity.SessionStore.
func (s *Store) PutSession(ctx context.Context, x identity.StoredSession) error {
	_, err := s.exec(ctx, `INSERT INTO login_sessions (token_id, user_id, method, provider_id, source, agent, sealed, proved_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (token_id) DO UPDATE SET proved_at = excluded.proved_at`,
		x.TokenID, x.UserID, x.Method, x.ProviderID, x.Source, x.Agent, x.Sealed, x.ProvedAt)
	return err
}

// Session implements identity.SessionStore.
func (s *Store) Session(ctx context.Context, tokenID string) (identity.StoredSession, error) {
	x, found, err := rowOf(ctx, s, scanSession, sessionColumns+"WHERE token_id = $1", tokenID)
	if err == nil && !found {
		return x, errcode.New(errcode.NotFound, "session %s does not exist", tokenID)
	}
	return x, err
}

// SessionsOf implements identity.SessionStore.
func (s *Store) SessionsOf(ctx context.Context, userID, providerID string) ([]identity.StoredSession, error) {
	if userID != "" {
		return rowsOf(ctx, s, scanSession, sessionColumns+"WHERE user_id = $1 ORDER BY token_id", userID)
	}
	return rowsOf(ctx, s, scanSession, sessionColumns+"WHERE provider_id = $1 AND provider_id <> '' ORDER BY token_id", providerID)
}

// LoginTokens implements identity.SessionStore.
func (s *Store) LoginTokens(ctx context.Context, userID string) ([]identity.Token, error) {
	return rowsOf(ctx, s, scanToken, tokenColumns+"WHERE t.owner_id = $1 AND t.kind IN ('session', 'cli') ORDER BY t.created_at DESC, t.id", userID)
}

// orphans delete the data of tokens that are gone. They read only logins and
// bound tokens, because a fleet has a token for each cluster.
var orphans = []string{
	"DELETE FROM tokens WHERE ends_with <> '' AND kind <> 'federated' AND NOT EXISTS (SELECT 1 FROM tokens m WHERE m.id = tokens.ends_with)",
	"DELETE FROM login_sessions WHERE NOT EXISTS (SELECT 1 FROM tokens m WHERE m.id = login_sessions.token_id)",
}

// DropSessions implements identity.SessionStore.
func (s *Store) DropSessions(ctx context.Context, now int64) error {
	for _, sweep := range orphans {
		if _, err := s.exec(ctx, sweep); err != nil {
			return err
		}
	}
	if _, err := s.exec(ctx, "DELETE FROM login_devices WHERE expires_at < $1", now); err != nil {
		return err
	}
	_, err := s.exec(ctx, "DELETE FROM login_used WHERE expires_at < $1", now)
	return err
}

// UseOnce implements identity.SessionStore.
func (s *Store) UseOnce(ctx context.Context, name string, expires int64) error {
	noted, err := s.execOne(ctx, "INSERT INTO login_used (name, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING", name, expires)
	if err == nil && !noted {
		return errcode.New(errcode.Conflict, "this was used before")
	}
	return err
}

const deviceColumns = `SELECT hash, user_code, client, source, scopes, lifetime, user_id, user_token, denied, polled_at, pause,
	created_at, expires_at FROM login_devices `

func scanDevice(row scan) (d identity.Device, err error) {
	var hash, scopes string
	err = row(&hash, &d.UserCode, &d.Client, &d.Source, &scopes, &d.Lifetime, &d.UserID, &d.UserToken, &d.Denied, &d.PolledAt, &d.Interval,
		&d.CreatedAt, &d.ExpiresAt)
	if err != nil {
		return d, err
	}
	if d.Hash, err = hex.DecodeString(hash); err != nil {
		return d, err
	}
	return d, fromJSON(scopes, &d.Scopes)
}

// InsertDevice implements identity.DeviceStore.
func (s *Store) InsertDevice(ctx context.Context, d identity.Device) error {
	scopes, err := jsonText(d.Scopes)
	if err != nil {
		return err
	}
	inserted, err := s.execOne(ctx, `INSERT INTO login_devices (hash, user_code, client, source, scopes, lifetime, user_id, user_token, denied,
		polled_at, pause, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING`,
		hex.EncodeToString(d.Hash), d.UserCode, d.Client, d.Source, scopes, d.Lifetime, d.UserID, d.UserToken, d.Denied,
		d.PolledAt, d.Interval, d.CreatedAt, d.ExpiresAt)
	if err == nil && !inserted {
		return errcode.New(errcode.Conflict, "another login has this code; start again")
	}
	return err
}

// Device implements identity.DeviceStore.
func (s *Store) Device(ctx context.Context, hash []byte) (identity.Device, error) {
	return s.device(ctx, "WHERE hash = $1", hex.EncodeToString(hash))
}

// DeviceByUserCode implements identity.DeviceStore.
func (s *Store) DeviceByUserCode(ctx context.Context, code string) (identity.Device, error) {
	return s.device(ctx, "WHERE user_code = $1", code)
}

func (s *Store) device(ctx context.Context, where, key string) (identity.Device, error) {
	d, found, err := rowOf(ctx, s, scanDevice, deviceColumns+where, key)
	if err == nil && !found {
		return d, errcode.New(errcode.NotFound, "no login is waiting for this code")
	}
	return d, err
}

// UpdateDevice implements identity.DeviceStore.
func (s *Store) UpdateDevice(ctx context.Context, d identity.Device) error {
	_, err := s.exec(ctx, "UPDATE login_devices SET user_id = $1, user_token = $2, denied = $3, polled_at = $4, pause = $5 WHERE hash = $6",
		d.UserID, d.UserToken, d.Denied, d.PolledAt, d.Interval, hex.EncodeToString(d.Hash))
	return err
}

// DeleteDevice implements identity.DeviceStore.
func (s *Store) DeleteDevice(ctx context.Context, hash []byte) error {
	_, err := s.exec(ctx, "DELETE FROM login_devices WHERE hash = $1", hex.EncodeToString(hash))
	return err
}

// CountDevices implements identity.DeviceStore.
func (s *Store) CountDevices(ctx context.Context, source string, now int64) (all, ofSource int, err error) {
	counts, _, err := rowOf(ctx, s, func(row scan) (c [2]int, err error) {
		err = row(&c[0], &c[1])
		return c, err
	}, "SELECT count(*), COALESCE(sum(CASE WHEN source = $1 THEN 1 ELSE 0 END), 0) FROM login_devices WHERE expires_at > $2", source, now)
	return counts[0], counts[1], err
}

// DropBusiestDevice implements identity.DeviceStore.
func (s *Store) DropBusiestDevice(ctx context.Context, now int64) error {
	if n, err := s.exec(ctx, "DELETE FROM login_devices WHERE expires_at <= $1", now); err != nil || n > 0 {
		return err
	}
	_, err := s.exec(ctx, `DELETE FROM login_devices WHERE hash = (
		SELECT hash FROM login_devices WHERE source = (
			SELECT source FROM login_devices GROUP BY source ORDER BY count(*) DESC, source LIMIT 1)
		ORDER BY created_at, hash LIMIT 1)`)
	return err
}
