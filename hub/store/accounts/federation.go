package accounts

import (
	"context"

	"github.com/axle-cd/axle/hub/identity/federation"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	trustTable = rows.Of("trusts t", func(c *rows.Columns, t *federation.Trust) {
		rows.Sparse(c, "claims", &t.Claims, "null")
		rows.Col(c, "COALESCE(u.name, '')", &t.Account)
		rows.Sparse(c, "scopes", &t.Scopes, "null")
		rows.Col(c, "ca_pem", &t.CAPEM)
		rows.Fields(c, t)
	})
	selectTrusts = trustTable.Select() + "LEFT JOIN users u ON u.id = t.account_id "
	insertTrust  = trustTable.All().Insert("ON CONFLICT DO NOTHING")
)

// InsertTrust implements federation.TrustStore.
func (s *trustRows) InsertTrust(ctx context.Context, t federation.Trust) error {
	return insertTrust.ExecElse(ctx, s.db, errcode.New(errcode.Conflict, "trust %s exists", t.Name), &t)
}

// DeleteTrust implements federation.TrustStore.
func (s *trustRows) DeleteTrust(ctx context.Context, id string) error {
	_, err := s.db.Exec(ctx, "DELETE FROM trusts WHERE id = $1", id)
	return err
}

// Trusts implements federation.TrustStore.
func (s *trustRows) Trusts(ctx context.Context, issuer string) ([]federation.Trust, error) {
	return query.All(ctx, s.db, trustTable.Reader(), selectTrusts+"WHERE $1 = '' OR t.issuer = $1 ORDER BY t.name", issuer)
}

// IsClient implements federation.TrustStore.
func (s *trustRows) IsClient(ctx context.Context, id string) (bool, error) {
	n, _, err := query.One(ctx, s.db, query.Value[int64], "SELECT count(*) FROM application_clients WHERE client_id = $1", id)
	return n > 0, err
}

// TouchTrust implements federation.TrustStore.
func (s *trustRows) TouchTrust(ctx context.Context, id string, at int64) error {
	return query.ExecElse(ctx, s.db, errcode.New(errcode.NotFound, "the trust was deleted"), "UPDATE trusts SET last_used_at = $2 WHERE id = $1", id, at)
}
