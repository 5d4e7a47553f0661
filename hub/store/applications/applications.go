// Package applications stores the clients of applications and their secrets in the hub's
// database. hub/store embeds its Table; hub/application decides what is written. The
// applications themselves are rows of hub/store/objects.
package applications

import (
	"context"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

// Table holds all of it. Its methods are safe for concurrent use.
type Table struct{ db query.DB }

// New returns the clients in a database.
func New(db query.DB) *Table { return &Table{db} }

// Queries are the queries that read each table, for tests.
var Queries = map[rows.Definition]string{clientTable: selectClients, secretTable: selectSecrets}

var (
	clientTable   = rows.Of("application_clients", rows.Fields[application.Record])
	selectClients = clientTable.Select()
	insertClient  = clientTable.All().Insert("ON CONFLICT DO NOTHING")
	updateClient  = clientTable.Except("client_id").Update("application_id")

	secretTable = rows.Of("application_secrets", func(c *rows.Columns, s *application.Secret) {
		rows.Duration(c, "overlap", &s.Overlap)
		rows.Fields(c, s)
	})
	selectSecrets = secretTable.Select()
	putSecret     = secretTable.All().Upsert("id")
)

// The queries, for a test of their plans.
var (
	OfID          = selectClients + "WHERE client_id = $1"
	OfApplication = selectClients + "WHERE application_id = $1"
	Undelivered   = selectClients + "WHERE wanted <> delivered AND application_id > $1 ORDER BY application_id LIMIT $2"
	SecretsOf     = selectSecrets + "WHERE application_id = $1 ORDER BY former_at, created_at DESC"
	Former        = selectSecrets + "WHERE former_at <> 0 AND id > $1 ORDER BY id LIMIT $2"
)

// Client implements application.Store.
func (t *Table) Client(ctx context.Context, clientID string) (application.Record, bool, error) {
	return query.One(ctx, t.db, clientTable.Reader(), OfID, clientID)
}

// ClientOf implements application.Store.
func (t *Table) ClientOf(ctx context.Context, applicationID string) (application.Record, bool, error) {
	return query.One(ctx, t.db, clientTable.Reader(), OfApplication, applicationID)
}

// UndeliveredClients implements application.Store.
func (t *Table) UndeliveredClients(ctx context.Context, after string, limit int) ([]application.Record, error) {
	return query.All(ctx, t.db, clientTable.Reader(), Undelivered, after, limit)
}

// PutClient implements application.Store. The id of a client does not change.
func (t *Table) PutClient(ctx context.Context, r application.Record) error {
	if changed, err := updateClient.ExecOne(ctx, t.db, &r); err != nil || changed {
		return err
	}
	return insertClient.ExecElse(ctx, t.db, errcode.New(errcode.Conflict, "clientId: %s is the id of another client; use another one", r.ClientID), &r)
}

// DeleteClient implements application.Store. What people agreed to goes with it: another
// client may have the id later.
func (t *Table) DeleteClient(ctx context.Context, applicationID string) error {
	for _, statement := range []string{"DELETE FROM oidc_consents WHERE client_id IN (SELECT client_id FROM application_clients WHERE application_id = $1)", "DELETE FROM application_secrets WHERE application_id = $1", "DELETE FROM application_clients WHERE application_id = $1"} {
		if _, err := t.db.Exec(ctx, statement, applicationID); err != nil {
			return err
		}
	}
	return nil
}

// Secrets implements application.Store.
func (t *Table) Secrets(ctx context.Context, applicationID string) ([]application.Secret, error) {
	return query.All(ctx, t.db, secretTable.Reader(), SecretsOf, applicationID)
}

// PutSecret implements application.Store.
func (t *Table) PutSecret(ctx context.Context, s application.Secret) error {
	_, err := putSecret.Exec(ctx, t.db, &s)
	return err
}

// DeleteClientSecret implements application.Store.
func (t *Table) DeleteClientSecret(ctx context.Context, id string) error {
	_, err := t.db.Exec(ctx, "DELETE FROM application_secrets WHERE id = $1", id)
	return err
}

// FormerSecrets implements application.Store.
func (t *Table) FormerSecrets(ctx context.Context, after string, limit int) ([]application.Secret, error) {
	return query.All(ctx, t.db, secretTable.Reader(), Former, after, limit)
}
