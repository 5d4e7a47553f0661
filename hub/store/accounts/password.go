package accounts

import (
	"context"

	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	passwordTable   = rows.Of("login_passwords", rows.Fields[account.StoredPassword])
	selectPasswords = passwordTable.Select()
	putPassword     = passwordTable.All().Upsert("user_id")

	passkeyTable   = rows.Of("login_passkeys", rows.Fields[account.Passkey])
	selectPasskeys = passkeyTable.Select()
	insertPasskey  = passkeyTable.All().Insert("ON CONFLICT DO NOTHING")
	updatePasskey  = passkeyTable.Only("id", "credential", "last_used_at").Update("id")
)

// Password implements account.PasswordStore.
func (s *passwordRows) Password(ctx context.Context, userID string) (account.StoredPassword, error) {
	return query.Need(ctx, s.db, errcode.New(errcode.NotFound, "the user has no password here"), passwordTable.Reader(), selectPasswords+"WHERE user_id = $1", userID)
}

// PutPassword implements account.PasswordStore.
func (s *passwordRows) PutPassword(ctx context.Context, p account.StoredPassword) error {
	_, err := putPassword.ExecOne(ctx, s.db, &p)
	return err
}

// UseTOTPStep implements account.PasswordStore.
func (s *passwordRows) UseTOTPStep(ctx context.Context, userID string, step int64) (bool, error) {
	return query.ExecOne(ctx, s.db, "UPDATE login_passwords SET totp_step = $1 WHERE user_id = $2 AND totp_step < $1", step, userID)
}

// Passkeys implements account.PasskeyStore.
func (s *passwordRows) Passkeys(ctx context.Context, userID string) ([]account.Passkey, error) {
	return query.All(ctx, s.db, passkeyTable.Reader(), selectPasskeys+"WHERE user_id = $1 ORDER BY created_at, id", userID)
}

// InsertPasskey implements account.PasskeyStore.
func (s *passwordRows) InsertPasskey(ctx context.Context, k account.Passkey) error {
	return insertPasskey.ExecElse(ctx, s.db, errcode.New(errcode.Conflict, "this passkey is known already"), &k)
}

// UpdatePasskey implements account.PasskeyStore.
func (s *passwordRows) UpdatePasskey(ctx context.Context, k account.Passkey) error {
	_, err := updatePasskey.ExecOne(ctx, s.db, &k)
	return err
}

// DeletePasskey implements account.PasskeyStore.
func (s *passwordRows) DeletePasskey(ctx context.Context, userID, id string) (bool, error) {
	return query.ExecOne(ctx, s.db, "DELETE FROM login_passkeys WHERE user_id = $1 AND id = $2", userID, id)
}
