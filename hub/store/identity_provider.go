package store

import (
	"context"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

const providerColumns = `SELECT id, name, title, issuer, client_id, sealed, scopes, groups_claim, groups, email_domains,
	allow_unverified, ca_pem, created_at FROM login_providers `

func scanProvider(row scan) (p identity.StoredProvider, err error) {
	var scopes, groups, domains string
	err = row(&p.ID, &p.Name, &p.Title, &p.Issuer, &p.ClientID, &p.Sealed, &scopes, &p.GroupsClaim, &groups, &domains,
		&p.AllowUnverified, &p.CAPEM, &p.CreatedAt)
	if err != nil {
		return p, err
	}
	if err := fromJSON(scopes, &p.Scopes); err != nil {
		return p, err
	}
	if err := fromJSON(groups, &p.Groups); err != nil {
		return p, err
	}
	return p, fromJSON(domains, &p.EmailDomains)
}

// providerTexts encodes a provider's lists as columns.
func providerTexts(p identity.StoredProvider) (scopes, groups, domains string, err error) {
	if scopes, err = jsonText(p.Scopes); err != nil {
		return "", "", "", err
	}
	if groups, err = jsonText(p.Groups); err != nil {
		return "", "", "", err
	}
	domains, err = jsonText(p.EmailDomains)
	return scopes, groups, domains, err
}

// InsertProvider implements identity.ProviderStore.
func (s *Store) InsertProvider(ctx context.Context, p identity.StoredProvider) error {
	scopes, groups, domains, err := providerTexts(p)
	if err != nil {
		return err
	}
	inserted, err := s.execOne(ctx, `INSERT INTO login_providers (id, name, title, issuer, client_id, sealed, scopes, groups_claim,
		groups, email_domains, allow_unverified, ca_pem, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING`,
		p.ID, p.Name, p.Title, p.Issuer, p.ClientID, p.Sealed, scopes, p.GroupsClaim, groups, domains, p.AllowUnverified, p.CAPEM, p.CreatedAt)
	if err == nil && !inserted {
		return errcode.New(errcode.Conflict, "login provider %s exists", p.Name)
	}
	return err
}

// UpdateProvider implements identity.ProviderStore.
func (s *Store) UpdateProvider(ctx context.Context, p identity.StoredProvider) error {
	scopes, groups, domains, err := providerTexts(p)
	if err != nil {
		return err
	}
	changed, err := s.execOne(ctx, `UPDATE login_providers SET title = $1, issuer = $2, client_id = $3, sealed = $4, scopes = $5,
		groups_claim = $6, groups = $7, email_domains = $8, allow_unverified = $9, ca_pem = $10 WHERE id = $11`,
		p.Title, p.Issuer, p.ClientID, p.Sealed, scopes, p.GroupsClaim, groups, domains, p.AllowUnverified, p.CAPEM, p.ID)
	if err == nil && !changed {
		return noProvider(p.Name)
	}
	return err
}

func noProvider(name string) error {
	return errcode.New(errcode.NotFound, "login provider %s does not exist", name)
}

// DeleteProvider implements identity.ProviderStore.
func (s *Store) DeleteProvider(ctx context.Context, p identity.Provider) error {
	for _, drop := range []struct{ query, key string }{
		{"DELETE FROM login_subjects WHERE provider_id = $1", p.ID},
		{"DELETE FROM login_sessions WHERE provider_id = $1", p.ID},
		{"DELETE FROM group_members WHERE source = $1 AND source <> ''", p.Name},
		{"DELETE FROM login_providers WHERE id = $1", p.ID},
	} {
		if _, err := s.exec(ctx, drop.query, drop.key); err != nil {
			return err
		}
	}
	return nil
}

// ProviderByName implements identity.ProviderStore.
func (s *Store) ProviderByName(ctx context.Context, name string) (identity.StoredProvider, error) {
	p, found, err := rowOf(ctx, s, scanProvider, providerColumns+"WHERE name = $1", name)
	if err == nil && !found {
		return p, noProvider(name)
	}
	return p, err
}

// Providers implements identity.ProviderStore.
func (s *Store) Providers(ctx context.Context) ([]identity.StoredProvider, error) {
	return rowsOf(ctx, s, scanProvider, providerColumns+"ORDER BY name")
}

const subjectColumns = "SELECT provider_id, subject, user_id, email, last_login_at FROM login_subjects "

func scanSubject(row scan) (x identity.Subject, err error) {
	err = row(&x.ProviderID, &x.Subject, &x.UserID, &x.Email, &x.LastLoginAt)
	return x, err
}

// Subject implements identity.ProviderStore.
func (s *Store) Subject(ctx context.Context, providerID, subject string) (identity.Subject, error) {
	x, found, err := rowOf(ctx, s, scanSubject, subjectColumns+"WHERE provider_id = $1 AND subject = $2", providerID, subject)
	if err == nil && !found {
		return x, errcode.New(errcode.NotFound, "no user has logged in with this subject yet")
	}
	return x, err
}

// SubjectsOf implements identity.ProviderStore.
func (s *Store) SubjectsOf(ctx context.Context, userID string) ([]identity.Subject, error) {
	return rowsOf(ctx, s, scanSubject, subjectColumns+"WHERE user_id = $1 ORDER BY provider_id, subject", userID)
}

// UsersOf implements identity.ProviderStore.
func (s *Store) UsersOf(ctx context.Context, providerID string) ([]string, error) {
	return rowsOf(ctx, s, value[string], "SELECT DISTINCT user_id FROM login_subjects WHERE provider_id = $1 ORDER BY user_id", providerID)
}

// PutSubject implements identity.ProviderStore.
func (s *Store) PutSubject(ctx context.Context, x identity.Subject) error {
	_, err := s.exec(ctx, `INSERT INTO login_subjects (provider_id, subject, user_id, email, last_login_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (provider_id, subject) DO UPDATE SET user_id = excluded.user_id, email = excluded.email, last_login_at = excluded.last_login_at`,
		x.ProviderID, x.Subject, x.UserID, x.Email, x.LastLoginAt)
	return err
}

// DeleteSubjects implements identity.ProviderStore.
func (s *Store) DeleteSubjects(ctx context.Context, userID string) error {
	_, err := s.exec(ctx, "DELETE FROM login_subjects WHERE user_id = $1", userID)
	return err
}
