package accounts

import (
	"context"

	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	providerTable = rows.Of("login_providers", func(c *rows.Columns, p *account.StoredProvider) {
		rows.JSON(c, "scopes", &p.Scopes)
		rows.JSON(c, "groups", &p.Groups)
		rows.JSON(c, "email_domains", &p.EmailDomains)
		rows.Col(c, "ca_pem", &p.CAPEM)
		rows.Fields(c, p)
	})
	selectProviders = providerTable.Select()
	insertProvider  = providerTable.All().Insert("ON CONFLICT DO NOTHING")
	updateProvider  = providerTable.Except("name", "created_at").Update("id")

	trialTable   = rows.Of("login_trials", rows.Fields[account.StoredTrial])
	selectTrials = trialTable.Select()
	putTrial     = trialTable.All().Upsert("user_id")

	subjectTable   = rows.Of("login_subjects", rows.Fields[account.Subject])
	selectSubjects = subjectTable.Select()
	putSubject     = subjectTable.All().Upsert("provider_id", "subject")
)

// InsertProvider implements account.ProviderStore.
func (s *providerRows) InsertProvider(ctx context.Context, p account.StoredProvider) error {
	return insertProvider.ExecElse(ctx, s.db, errcode.New(errcode.Conflict, "login provider %s exists", p.Name), &p)
}

// UpdateProvider implements account.ProviderStore.
func (s *providerRows) UpdateProvider(ctx context.Context, p account.StoredProvider) error {
	return updateProvider.ExecElse(ctx, s.db, noProvider(p.Name), &p)
}

func noProvider(name string) error {
	return errcode.New(errcode.NotFound, "login provider %s does not exist", name)
}

// DeleteProvider implements account.ProviderStore.
func (s *providerRows) DeleteProvider(ctx context.Context, p account.Provider) error {
	for _, drop := range []struct{ query, key string }{
		{"DELETE FROM login_subjects WHERE provider_id = $1", p.ID},
		{"DELETE FROM login_sessions WHERE provider_id = $1", p.ID},
		{"DELETE FROM group_members WHERE source = $1 AND source <> ''", p.Name},
		{"DELETE FROM login_providers WHERE id = $1", p.ID},
	} {
		if _, err := s.db.Exec(ctx, drop.query, drop.key); err != nil {
			return err
		}
	}
	return nil
}

// ProviderByName implements account.ProviderStore.
func (s *providerRows) ProviderByName(ctx context.Context, name string) (account.StoredProvider, error) {
	return query.Need(ctx, s.db, noProvider(name), providerTable.Reader(), selectProviders+"WHERE name = $1", name)
}

// Providers implements account.ProviderStore.
func (s *providerRows) Providers(ctx context.Context) ([]account.StoredProvider, error) {
	return query.All(ctx, s.db, providerTable.Reader(), selectProviders+"ORDER BY name")
}

// Subject implements account.SubjectStore.
func (s *providerRows) Subject(ctx context.Context, providerID, subject string) (account.Subject, error) {
	return query.Need(ctx, s.db, errcode.New(errcode.NotFound, "no user has logged in with this subject yet"), subjectTable.Reader(), selectSubjects+"WHERE provider_id = $1 AND subject = $2", providerID, subject)
}

// SubjectsOf implements account.SubjectStore.
func (s *providerRows) SubjectsOf(ctx context.Context, userID string) ([]account.Subject, error) {
	return query.All(ctx, s.db, subjectTable.Reader(), selectSubjects+"WHERE user_id = $1 ORDER BY provider_id, subject", userID)
}

// UsersOf implements account.SubjectStore.
func (s *providerRows) UsersOf(ctx context.Context, providerID string) ([]string, error) {
	return query.All(ctx, s.db, query.Value[string], "SELECT DISTINCT user_id FROM login_subjects WHERE provider_id = $1 ORDER BY user_id", providerID)
}

// PutSubject implements account.SubjectStore.
func (s *providerRows) PutSubject(ctx context.Context, x account.Subject) error {
	_, err := putSubject.ExecOne(ctx, s.db, &x)
	return err
}

// DeleteSubjects implements account.SubjectStore.
func (s *providerRows) DeleteSubjects(ctx context.Context, userID string) error {
	_, err := s.db.Exec(ctx, "DELETE FROM login_subjects WHERE user_id = $1", userID)
	return err
}

// PutTrial implements account.TrialStore.
func (s *providerRows) PutTrial(ctx context.Context, t account.StoredTrial) error {
	_, err := putTrial.ExecOne(ctx, s.db, &t)
	return err
}

// Trial implements account.TrialStore.
func (s *providerRows) Trial(ctx context.Context, userID string) (account.StoredTrial, error) {
	return query.Need(ctx, s.db, errcode.New(errcode.NotFound, "nobody tries a login provider here"), trialTable.Reader(), selectTrials+"WHERE user_id = $1", userID)
}
