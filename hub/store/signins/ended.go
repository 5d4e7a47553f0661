package signins

import (
	"context"

	"github.com/axle-cd/axle/hub/oidc"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
)

var (
	logoutTable   = rows.Of("oidc_logouts", rows.Fields[oidc.Logout])
	selectLogouts = logoutTable.Select()
	insertLogout  = logoutTable.All().Insert("")
	delayLogout   = logoutTable.Only("id", "attempts", "due_at").Update("id")
)

// The queries of lists, for a test of their plans.
var (
	NextPairs = "SELECT client_id, user_id FROM oidc_grants WHERE (client_id, user_id) > ($1, $2) AND user_id <> '' GROUP BY client_id, user_id ORDER BY client_id, user_id LIMIT $3"
	Due       = selectLogouts + "WHERE due_at <= $1 ORDER BY due_at, id LIMIT $2"
)

func readPair(row query.Scan) (p oidc.Pair, err error) {
	err = row(&p.ClientID, &p.UserID)
	return p, err
}

// Pairs implements oidc.EndStore.
func (t *Table) Pairs(ctx context.Context, after oidc.Pair, limit int) ([]oidc.Pair, error) {
	return query.All(ctx, t.db, readPair, NextPairs, after.ClientID, after.UserID, limit)
}

// PairsOf implements oidc.EndStore.
func (t *Table) PairsOf(ctx context.Context, userIDs []string) (all []oidc.Pair, err error) {
	err = query.Chunks(userIDs, func(args []any) error {
		some, err := query.All(ctx, t.db, readPair, "SELECT DISTINCT client_id, user_id FROM oidc_grants WHERE user_id IN ("+query.Placeholders(1, len(args))+")", args...)
		all = append(all, some...)
		return err
	})
	return all, err
}

// GrantsOf implements oidc.EndStore.
func (t *Table) GrantsOf(ctx context.Context, p oidc.Pair) ([]oidc.Grant, error) {
	return query.All(ctx, t.db, grantTable.Reader(), selectGrants+"WHERE user_id = $1 AND client_id = $2", p.UserID, p.ClientID)
}

// GrantsIn implements oidc.EndStore.
func (t *Table) GrantsIn(ctx context.Context, tokenIDs []string) (all []oidc.Grant, err error) {
	err = query.Chunks(tokenIDs, func(args []any) error {
		some, err := query.All(ctx, t.db, grantTable.Reader(), selectGrants+"WHERE token_id IN ("+query.Placeholders(1, len(args))+")", args...)
		all = append(all, some...)
		return err
	})
	return all, err
}

// LeaveSession implements oidc.EndStore.
func (t *Table) LeaveSession(ctx context.Context, ids []string) error {
	return query.Chunks(ids, func(args []any) error {
		in := query.Placeholders(1, len(args))
		if _, err := t.db.Exec(ctx, "UPDATE oidc_grants SET token_id = '' WHERE id IN ("+in+")", args...); err != nil {
			return err
		}
		_, err := t.db.Exec(ctx, "DELETE FROM oidc_secrets WHERE kind <> 'refresh' AND grant_id IN ("+in+")", args...)
		return err
	})
}

// InsertLogout implements oidc.EndStore.
func (t *Table) InsertLogout(ctx context.Context, l oidc.Logout) error {
	_, err := insertLogout.Exec(ctx, t.db, &l)
	return err
}

// DueLogouts implements oidc.EndStore.
func (t *Table) DueLogouts(ctx context.Context, now int64, limit int) ([]oidc.Logout, error) {
	return query.All(ctx, t.db, logoutTable.Reader(), Due, now, limit)
}

// DelayLogout implements oidc.EndStore.
func (t *Table) DelayLogout(ctx context.Context, l oidc.Logout) error {
	_, err := delayLogout.Exec(ctx, t.db, &l)
	return err
}

// DeleteLogout implements oidc.EndStore.
func (t *Table) DeleteLogout(ctx context.Context, id string) error {
	_, err := t.db.Exec(ctx, "DELETE FROM oidc_logouts WHERE id = $1", id)
	return err
}
