package accounts

import (
	"context"
	"encoding/hex"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	sessionTable   = rows.Of("login_sessions", rows.Fields[account.StoredSession])
	selectSessions = sessionTable.Select()
	putSession     = sessionTable.All().Insert("ON CONFLICT (token_id) DO UPDATE SET proved_at = excluded.proved_at")

	deviceTable = rows.Of("login_devices", func(c *rows.Columns, d *account.Device) {
		rows.Hex(c, "hash", &d.Hash)
		rows.JSON(c, "scopes", &d.Scopes)
		rows.Col(c, "pause", &d.Interval)
		rows.Fields(c, d)
	})
	selectDevices = deviceTable.Select()
	insertDevice  = deviceTable.All().Insert("ON CONFLICT DO NOTHING")
	updateDevice  = deviceTable.Only("hash", "user_id", "user_token", "denied", "polled_at", "pause").Update("hash")
)

// PutSession implements account.SessionStore.
func (s *sessionRows) PutSession(ctx context.Context, x account.StoredSession) error {
	_, err := putSession.ExecOne(ctx, s.db, &x)
	return err
}

// Session implements account.SessionStore.
func (s *sessionRows) Session(ctx context.Context, tokenID string) (account.StoredSession, error) {
	return query.Need(ctx, s.db, errcode.New(errcode.NotFound, "session %s does not exist", tokenID), sessionTable.Reader(), selectSessions+"WHERE token_id = $1", tokenID)
}

// ProvedAt implements identity.ProofStore.
func (s *sessionRows) ProvedAt(ctx context.Context, tokenID string) (int64, error) {
	row, err := s.Session(ctx, tokenID)
	return row.ProvedAt, err
}

// SessionsOf implements account.SessionStore.
func (s *sessionRows) SessionsOf(ctx context.Context, userID, providerID string) ([]account.StoredSession, error) {
	if userID != "" {
		return query.All(ctx, s.db, sessionTable.Reader(), selectSessions+"WHERE user_id = $1 ORDER BY token_id", userID)
	}
	return query.All(ctx, s.db, sessionTable.Reader(), selectSessions+"WHERE provider_id = $1 AND provider_id <> '' ORDER BY token_id", providerID)
}

// LoginTokens implements account.SessionStore.
func (s *sessionRows) LoginTokens(ctx context.Context, userID string) ([]identity.Token, error) {
	return query.All(ctx, s.db, tokenTable.Reader(), selectTokens+"WHERE t.owner_id = $1 AND t.kind IN ('session', 'cli') ORDER BY t.created_at DESC, t.id", userID)
}

// Orphans delete the data of tokens that are gone. They read only logins and
// bound tokens, because a fleet has a token for each cluster.
var Orphans = []string{
	"DELETE FROM tokens WHERE ends_with <> '' AND kind <> 'federated' AND NOT EXISTS (SELECT 1 FROM tokens m WHERE m.id = tokens.ends_with)",
	"DELETE FROM login_sessions WHERE NOT EXISTS (SELECT 1 FROM tokens m WHERE m.id = login_sessions.token_id)",
}

// DropSessions implements identity.UseStore.
func (s *sessionRows) DropSessions(ctx context.Context, now int64) error {
	for _, sweep := range Orphans {
		if _, err := s.db.Exec(ctx, sweep); err != nil {
			return err
		}
	}
	for _, table := range []string{"login_devices", "login_used", "login_trials"} {
		if _, err := s.db.Exec(ctx, "DELETE FROM "+table+" WHERE expires_at < $1", now); err != nil {
			return err
		}
	}
	return nil
}

// UseOnce implements account.MarkStore.
func (s *sessionRows) UseOnce(ctx context.Context, name string, expires int64) error {
	return query.ExecElse(ctx, s.db, errcode.New(errcode.Conflict, "this was used before"), "INSERT INTO login_used (name, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING", name, expires)
}

// InsertDevice implements account.DeviceStore.
func (s *sessionRows) InsertDevice(ctx context.Context, d account.Device) error {
	return insertDevice.ExecElse(ctx, s.db, errcode.New(errcode.Conflict, "another login has this code; start again"), &d)
}

// Device implements account.DeviceStore.
func (s *sessionRows) Device(ctx context.Context, hash []byte) (account.Device, error) {
	return s.device(ctx, "WHERE hash = $1", hex.EncodeToString(hash))
}

// DeviceByUserCode implements account.DeviceStore.
func (s *sessionRows) DeviceByUserCode(ctx context.Context, code string) (account.Device, error) {
	return s.device(ctx, "WHERE user_code = $1", code)
}

func (s *sessionRows) device(ctx context.Context, where, key string) (account.Device, error) {
	return query.Need(ctx, s.db, errcode.New(errcode.NotFound, "no login is waiting for this code"), deviceTable.Reader(), selectDevices+where, key)
}

// UpdateDevice implements account.DeviceStore.
func (s *sessionRows) UpdateDevice(ctx context.Context, d account.Device) error {
	_, err := updateDevice.ExecOne(ctx, s.db, &d)
	return err
}

// DeleteDevice implements account.DeviceStore.
func (s *sessionRows) DeleteDevice(ctx context.Context, hash []byte) error {
	_, err := s.db.Exec(ctx, "DELETE FROM login_devices WHERE hash = $1", hex.EncodeToString(hash))
	return err
}

// CountDevices implements account.DeviceCounter.
func (s *sessionRows) CountDevices(ctx context.Context, source string, now int64) (all, ofSource int, err error) {
	counts, _, err := query.One(ctx, s.db, func(row query.Scan) (c [2]int, err error) {
		err = row(&c[0], &c[1])
		return c, err
	}, "SELECT count(*), COALESCE(sum(CASE WHEN source = $1 THEN 1 ELSE 0 END), 0) FROM login_devices WHERE expires_at > $2", source, now)
	return counts[0], counts[1], err
}

// DropBusiestDevice implements account.DeviceCounter.
func (s *sessionRows) DropBusiestDevice(ctx context.Context, now int64) error {
	if n, err := s.db.Exec(ctx, "DELETE FROM login_devices WHERE expires_at <= $1", now); err != nil || n > 0 {
		return err
	}
	_, err := s.db.Exec(ctx, `DELETE FROM login_devices WHERE hash = (
		SELECT hash FROM login_devices WHERE source = (
			SELECT source FROM login_devices GROUP BY source ORDER BY count(*) DESC, source LIMIT 1)
		ORDER BY created_at, hash LIMIT 1)`)
	return err
}
