package signins

import (
	"context"
	"encoding/hex"

	"github.com/axle-cd/axle/hub/oidc"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	deviceTable = rows.Of("oidc_devices", func(c *rows.Columns, d *oidc.Device) {
		rows.Hex(c, "hash", &d.Hash)
		rows.List(c, "scopes", &d.Scopes)
		rows.Fields(c, d)
	})
	selectDevices = deviceTable.Select()
	insertDevice  = deviceTable.All().Insert("ON CONFLICT DO NOTHING")
	answerDevice  = deviceTable.Only("hash", "grant_id", "denied").Statement("UPDATE oidc_devices SET grant_id = {grant_id}, denied = {denied} WHERE hash = {hash} AND grant_id = '' AND denied = 0")
)

// InsertWaiting implements oidc.DeviceStore.
func (t *Table) InsertWaiting(ctx context.Context, d oidc.Device, limit int) error {
	n, _, err := query.One(ctx, t.db, query.Value[int], "SELECT count(*) FROM (SELECT hash FROM oidc_devices WHERE client_id = $1 AND created_at > $2 LIMIT $3) waiting", d.ClientID, d.CreatedAt-(d.ExpiresAt-d.CreatedAt), limit)
	if err == nil && n >= limit {
		err = errcode.New(errcode.Exhausted, "%d devices of this application wait for a login already; try again in a few minutes", n)
	}
	if err != nil {
		return err
	}
	return insertDevice.ExecElse(ctx, t.db, errcode.New(errcode.Conflict, "another device has this code; start again"), &d)
}

// Waiting implements oidc.DeviceStore.
func (t *Table) Waiting(ctx context.Context, hash []byte) (oidc.Device, error) {
	return t.waiting(ctx, "WHERE hash = $1", hex.EncodeToString(hash))
}

// WaitingByCode implements oidc.DeviceStore.
func (t *Table) WaitingByCode(ctx context.Context, code string) (oidc.Device, error) {
	return t.waiting(ctx, "WHERE user_code = $1", code)
}

func (t *Table) waiting(ctx context.Context, where, key string) (oidc.Device, error) {
	return query.Need(ctx, t.db, errcode.New(errcode.NotFound, "no login is waiting for this code"), deviceTable.Reader(), selectDevices+where, key)
}

// AnswerWaiting implements oidc.DeviceStore.
func (t *Table) AnswerWaiting(ctx context.Context, d oidc.Device) (bool, error) {
	return answerDevice.ExecOne(ctx, t.db, &d)
}

// PollWaiting implements oidc.DeviceStore.
func (t *Table) PollWaiting(ctx context.Context, hash []byte, now, before int64) (bool, error) {
	return query.ExecOne(ctx, t.db, "UPDATE oidc_devices SET polled_at = $1 WHERE hash = $2 AND polled_at <= $3", now, hex.EncodeToString(hash), before)
}

// TakeWaiting implements oidc.DeviceStore.
func (t *Table) TakeWaiting(ctx context.Context, hash []byte) (bool, error) {
	return query.ExecOne(ctx, t.db, "DELETE FROM oidc_devices WHERE hash = $1", hex.EncodeToString(hash))
}
