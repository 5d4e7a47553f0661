// Package signins stores what the hub's OpenID provider keeps: its signing keys, the grants
// of people to applications with their codes and tokens, and consents. hub/store embeds its
// Table; hub/oidc decides what is stored, seals and hashes.
//
// Invariant: no statement reads or deletes all grants at once.
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
	_ oidc.KeyStore     = (*Table)(nil)
	_ oidc.GrantStore   = (*Table)(nil)
	_ oidc.ConsentStore = (*Table)(nil)
	_ oidc.EndStore     = (*Table)(nil)
	_ oidc.DeviceStore  = (*Table)(nil)
)

// Table holds all of it. Its methods are safe for concurrent use.
type Table struct{ db query.DB }

// New returns the sign-ins in a database.
func New(db query.DB) *Table { return &Table{db} }

// Queries are the queries that read each table, for tests.
var Queries = map[rows.Definition]string{keyTable: selectKeys, grantTable: selectGrants, secretTable: selectSecrets, consentTable: selectConsents, logoutTable: selectLogouts, deviceTable: selectDevices}

var (
	keyTable   = rows.Of("oidc_keys", rows.Fields[oidc.StoredKey])
	selectKeys = keyTable.Select()
	insertKey  = keyTable.All().Insert("")

	grantTable = rows.Of("oidc_grants", func(c *rows.Columns, g *oidc.Grant) {
		rows.List(c, "scopes", &g.Scopes)
		rows.List(c, "methods", &g.Methods)
		rows.Fields(c, g)
	})
	selectGrants = grantTable.Select()
	insertGrant  = grantTable.All().Insert("")

	secretTable = rows.Of("oidc_secrets", func(c *rows.Columns, s *oidc.Secret) {
		rows.Hex(c, "hash", &s.Hash)
		rows.List(c, "scopes", &s.Scopes)
		rows.Fields(c, s)
	})
	selectSecrets = secretTable.Select()
	insertSecret  = secretTable.All().Insert("ON CONFLICT DO NOTHING")

	consentTable = rows.Of("oidc_consents", func(c *rows.Columns, n *oidc.Consent) {
		rows.List(c, "scopes", &n.Scopes)
		rows.Fields(c, n)
	})
	selectConsents = consentTable.Select()
	putConsent     = consentTable.All().Insert("ON CONFLICT (user_id, client_id) DO UPDATE SET scopes = excluded.scopes, given_at = excluded.given_at")
	loggedIn       = consentTable.All().Insert("ON CONFLICT (user_id, client_id) DO UPDATE SET last_at = excluded.last_at")
)

// The queries of lists of consents, for a test of their plans.
var (
	ConsentsFor = selectConsents + "WHERE client_id = $1 ORDER BY last_at DESC LIMIT $2"
	ConsentsOf  = selectConsents + "WHERE user_id = $1 ORDER BY client_id LIMIT $2"
)

// SigninKeys implements oidc.KeyStore.
func (t *Table) SigninKeys(ctx context.Context) ([]oidc.StoredKey, error) {
	return query.All(ctx, t.db, keyTable.Reader(), selectKeys+"ORDER BY signs_from, id")
}

// InsertSigninKey implements oidc.KeyStore.
func (t *Table) InsertSigninKey(ctx context.Context, k oidc.StoredKey) error {
	_, err := insertKey.Exec(ctx, t.db, &k)
	return err
}

// EndSigninKey implements oidc.KeyStore.
func (t *Table) EndSigninKey(ctx context.Context, id string, at int64) error {
	_, err := t.db.Exec(ctx, "UPDATE oidc_keys SET ends_at = $1 WHERE id = $2", at, id)
	return err
}

// DeleteSigninKeys implements oidc.KeyStore.
func (t *Table) DeleteSigninKeys(ctx context.Context, now int64) error {
	_, err := t.db.Exec(ctx, "DELETE FROM oidc_keys WHERE ends_at > 0 AND ends_at < $1", now)
	return err
}

// InsertGrant implements oidc.GrantStore.
func (t *Table) InsertGrant(ctx context.Context, g oidc.Grant) error {
	_, err := insertGrant.Exec(ctx, t.db, &g)
	return err
}

// Grant implements oidc.GrantStore.
func (t *Table) Grant(ctx context.Context, id string) (oidc.Grant, error) {
	return query.Need(ctx, t.db, errcode.New(errcode.NotFound, "the login has ended"), grantTable.Reader(), selectGrants+"WHERE id = $1", id)
}

// ExtendGrant implements oidc.GrantStore.
func (t *Table) ExtendGrant(ctx context.Context, id string, endsAt int64) error {
	_, err := t.db.Exec(ctx, "UPDATE oidc_grants SET ends_at = $1 WHERE id = $2 AND ends_at < $1", endsAt, id)
	return err
}

// DeleteGrants implements oidc.GrantStore.
func (t *Table) DeleteGrants(ctx context.Context, ids []string) error {
	return query.Chunks(ids, func(args []any) error {
		in := query.Placeholders(1, len(args))
		if _, err := t.db.Exec(ctx, "DELETE FROM oidc_secrets WHERE grant_id IN ("+in+")", args...); err != nil {
			return err
		}
		_, err := t.db.Exec(ctx, "DELETE FROM oidc_grants WHERE id IN ("+in+")", args...)
		return err
	})
}

// InsertGrantSecret implements oidc.GrantStore.
func (t *Table) InsertGrantSecret(ctx context.Context, s oidc.Secret) error {
	_, err := insertSecret.Exec(ctx, t.db, &s)
	return err
}

// GrantSecret implements oidc.GrantStore.
func (t *Table) GrantSecret(ctx context.Context, hash []byte) (oidc.Secret, error) {
	return query.Need(ctx, t.db, errcode.New(errcode.NotFound, "the code or token is not known"), secretTable.Reader(), selectSecrets+"WHERE hash = $1", hex.EncodeToString(hash))
}

// UseGrantSecret implements oidc.GrantStore.
func (t *Table) UseGrantSecret(ctx context.Context, hash []byte, now int64) (bool, error) {
	return query.ExecOne(ctx, t.db, "UPDATE oidc_secrets SET used_at = $1 WHERE hash = $2 AND used_at = 0 AND expires_at > $1", now, hex.EncodeToString(hash))
}

// DeleteGrantSecret implements oidc.GrantStore.
func (t *Table) DeleteGrantSecret(ctx context.Context, hash []byte) error {
	_, err := t.db.Exec(ctx, "DELETE FROM oidc_secrets WHERE hash = $1", hex.EncodeToString(hash))
	return err
}

// DropGrants implements oidc.GrantStore.
func (t *Table) DropGrants(ctx context.Context, before int64, limit int) (int64, error) {
	secrets, err := t.db.Exec(ctx, "DELETE FROM oidc_secrets WHERE hash IN (SELECT hash FROM oidc_secrets WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)", before, limit)
	if err != nil {
		return 0, err
	}
	grants, err := t.db.Exec(ctx, "DELETE FROM oidc_grants WHERE id IN (SELECT id FROM oidc_grants WHERE ends_at < $1 ORDER BY ends_at LIMIT $2)", before, limit)
	if err != nil {
		return 0, err
	}
	devices, err := t.db.Exec(ctx, "DELETE FROM oidc_devices WHERE hash IN (SELECT hash FROM oidc_devices WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)", before, limit)
	return max(secrets, grants, devices), err
}

// Consent implements oidc.ConsentStore.
func (t *Table) Consent(ctx context.Context, userID, clientID string) (oidc.Consent, error) {
	c, _, err := query.One(ctx, t.db, consentTable.Reader(), selectConsents+"WHERE user_id = $1 AND client_id = $2", userID, clientID)
	return c, err
}

// PutConsent implements oidc.ConsentStore.
func (t *Table) PutConsent(ctx context.Context, c oidc.Consent) error {
	_, err := putConsent.ExecOne(ctx, t.db, &c)
	return err
}

// LoggedIn implements oidc.ConsentStore.
func (t *Table) LoggedIn(ctx context.Context, userID, clientID string, at int64) error {
	_, err := loggedIn.ExecOne(ctx, t.db, &oidc.Consent{UserID: userID, ClientID: clientID, LastAt: at})
	return err
}

// Consents implements oidc.ConsentStore.
func (t *Table) Consents(ctx context.Context, clientID string, limit int) ([]oidc.Consent, error) {
	return query.All(ctx, t.db, consentTable.Reader(), ConsentsFor, clientID, limit)
}

// ConsentsOf implements oidc.ConsentStore.
func (t *Table) ConsentsOf(ctx context.Context, userID string, limit int) ([]oidc.Consent, error) {
	return query.All(ctx, t.db, consentTable.Reader(), ConsentsOf, userID, limit)
}

// DeleteConsent implements oidc.ConsentStore.
func (t *Table) DeleteConsent(ctx context.Context, userID, clientID string) error {
	_, err := t.db.Exec(ctx, "DELETE FROM oidc_consents WHERE user_id = $1 AND client_id = $2", userID, clientID)
	return err
}

// LiveGrants implements oidc.ConsentStore.
func (t *Table) LiveGrants(ctx context.Context, userIDs []string, clientID string, now int64) (map[oidc.Pair]int64, error) {
	all := map[oidc.Pair]int64{}
	err := query.Chunks(userIDs, func(args []any) error {
		statement := "SELECT client_id, user_id, count(*) FROM oidc_grants WHERE user_id IN (" + query.Placeholders(3, len(args)) + ") AND ends_at > $1 AND ($2 = '' OR client_id = $2) GROUP BY client_id, user_id"
		return t.db.Each(ctx, statement, append([]any{now, clientID}, args...), func(row query.Scan) error {
			var p oidc.Pair
			var n int64
			err := row(&p.ClientID, &p.UserID, &n)
			all[p] = n
			return err
		})
	})
	return all, err
}
