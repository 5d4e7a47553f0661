package sources

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/hub/store/sqldb"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/repourl"
)

var (
	repositoryTable = rows.Of("repositories", func(c *rows.Columns, r *gitcache.Repository) {
		rows.Col(c, "CASE WHEN normal_of = url THEN written_url ELSE '' END", &r.Written)
		rows.Sparse(c, "options", &r.Options, "{}")
		rows.Col(c, "health", &r.Health.State)
		rows.Col(c, "health_message", &r.Health.Message)
		rows.Micros(c, "next_check_at", &r.Health.NextAt)
		rows.Fields(c, &r.Health)
		rows.Fields(c, r)
	})
	selectRepositories = repositoryTable.Select()
	// insertRepository also gets the result of spellings and the sealed credentials.
	insertRepository = repositoryTable.Only("id", "name", "project_id", "kind", "url", "auth", "options", "health", "managed_by_tool", "managed_by_id").
				Set("written_url", "{1}").Set("normal_url", "{2}").Set("normal_of", "{3}").Set("credentials", "{4}").Set("generation", "1").Set("created_at", "{now}").Set("updated_at", "{now}").Insert("ON CONFLICT DO NOTHING")
	// updateRepository also gets the result of spellings, and 1 when the generation
	// changes, else 0.
	updateRepository = repositoryTable.Only("id", "name", "project_id", "url", "auth", "options", "managed_by_tool", "managed_by_id").
				Set("written_url", "{1}").Set("normal_url", "{2}").Set("normal_of", "{3}").Set("generation", "generation + {4}").Set("updated_at", "{now}").Update("id")
	updateHealth = repositoryTable.Only("id", "health", "health_message", "checked_at", "fetched_at", "failed_since", "next_check_at", "bytes").Update("id")
)

// Repositories returns all repositories, sorted by name.
func (s *Table) Repositories(ctx context.Context) ([]gitcache.Repository, error) {
	return query.All(ctx, s.db, repositoryTable.Reader(), selectRepositories+"ORDER BY name")
}

// RepositoriesByID returns those of the ids that exist.
func (s *Table) RepositoriesByID(ctx context.Context, ids []string) (all []gitcache.Repository, err error) {
	err = query.Chunks(ids, func(args []any) error {
		part, err := query.All(ctx, s.db, repositoryTable.Reader(), selectRepositories+"WHERE id IN ("+query.Placeholders(1, len(args))+")", args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// spellings are the columns of a repository's URL beside it.
func spellings(r gitcache.Repository, more any) []any {
	return []any{r.Written, repourl.Normal(string(r.Kind), r.URL), r.URL, more}
}

// CompleteURLs adds the normal form of URLs that another version of the hub wrote, of at
// most a number of repositories. It returns how many.
func (s *Table) CompleteURLs(ctx context.Context, limit int) (n int64, err error) {
	return n, s.db.Write(ctx, func(ctx context.Context) error {
		stale, err := query.All(ctx, s.db, repositoryTable.Reader(), selectRepositories+"WHERE normal_of <> url ORDER BY id LIMIT $1", limit)
		for i := 0; err == nil && i < len(stale); i++ {
			r := stale[i]
			_, err = s.db.Exec(ctx, "UPDATE repositories SET written_url = $2, normal_url = $3, normal_of = $4 WHERE id = $1 AND url = $4", append([]any{r.ID}, spellings(r, nil)[:3]...)...)
		}
		n = int64(len(stale))
		return err
	})
}

// RepositoriesNamed returns those with one of the names, or one of the URLs in any
// spelling, in order of name.
func (s *Table) RepositoriesNamed(ctx context.Context, names, urls []string) (all []gitcache.Repository, err error) {
	read := func(where string, args []any) error {
		part, err := query.All(ctx, s.db, repositoryTable.Reader(), selectRepositories+"WHERE "+where, args...)
		for _, r := range part {
			if slices.Contains(names, r.Name) || slices.ContainsFunc(urls, r.IsAt) {
				all = append(all, r)
			}
		}
		return err
	}
	if len(urls) > 0 {
		err = read("normal_of <> url", nil)
	}
	var normal []string
	for _, url := range urls {
		normal = append(normal, repourl.Normal(string(record.Git), url), repourl.Normal(string(record.Helm), url))
	}
	for column, values := range map[string][]string{"name": names, "normal_url": normal} {
		err = cmp.Or(err, query.Chunks(values, func(args []any) error {
			return read(column+" IN ("+query.Placeholders(1, len(args))+")", args)
		}))
	}
	slices.SortFunc(all, func(a, b gitcache.Repository) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b gitcache.Repository) bool { return a.ID == b.ID }), err
}

// Repository returns one repository. errcode.NotFound.
func (s *Table) Repository(ctx context.Context, id string) (gitcache.Repository, error) {
	return query.Need(ctx, s.db, noRepository(id), repositoryTable.Reader(), selectRepositories+"WHERE id = $1", id)
}

func noRepository(id string) error {
	return errcode.New(errcode.NotFound, "repository %s does not exist", id)
}

func nameTaken(name string) error {
	return errcode.New(errcode.Conflict, "a repository named %q exists already; choose another name", name)
}

// Credentials returns a repository's decrypted secrets. errcode.NotFound.
func (s *Table) Credentials(ctx context.Context, repositoryID string) (c gitcache.Credentials, err error) {
	sealed, found, err := query.One(ctx, s.db, query.Value[string], "SELECT credentials FROM repositories WHERE id = $1", repositoryID)
	if err != nil {
		return c, err
	}
	if !found {
		return c, noRepository(repositoryID)
	}
	text, err := s.sealer().Open(sealed, credentialsOf(repositoryID))
	if err != nil || len(text) == 0 {
		return c, err
	}
	return c, json.Unmarshal(text, &c)
}

// credentialsOf returns the purpose under which credentials are sealed.
func credentialsOf(repositoryID string) string { return "repository " + repositoryID }

func (s *Table) sealCredentials(repositoryID string, c gitcache.Credentials) (string, error) {
	if c == (gitcache.Credentials{}) {
		return "", nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode credentials: %w", err)
	}
	return s.sealer().Seal(text, credentialsOf(repositoryID)), nil
}

// CreateRepository stores a new repository. errcode.Conflict when the ID or
// the name is taken.
func (s *Table) CreateRepository(ctx context.Context, r gitcache.Repository, c gitcache.Credentials) (gitcache.Repository, error) {
	sealed, err := s.sealCredentials(r.ID, c)
	if err != nil {
		return r, err
	}
	err = s.db.Write(ctx, func(ctx context.Context) error {
		r.Health.State = record.Unknown
		created, err := insertRepository.ExecOne(ctx, s.db, &r, spellings(r, sealed)...)
		if err != nil {
			return err
		}
		if !created {
			return nameTaken(r.Name)
		}
		if _, err := s.db.Exec(ctx, "INSERT INTO repository_leases (repository_id) VALUES ($1)", r.ID); err != nil {
			return err
		}
		if r, err = s.Repository(ctx, r.ID); err != nil {
			return err
		}
		return event.Append(ctx, event.Change{Kind: event.KindRepository, Key: r.ID})
	})
	return r, err
}

// UpdateRepository replaces name, project, URL, auth and options, and the
// credentials unless c is nil. With another URL the repository starts over.
// errcode.NotFound, errcode.Conflict when the name is taken, errcode.Invalid
// when stored credentials would be sent elsewhere.
func (s *Table) UpdateRepository(ctx context.Context, r gitcache.Repository, c *gitcache.Credentials) (updated gitcache.Repository, err error) {
	err = s.db.Write(ctx, func(ctx context.Context) error {
		old, err := s.Repository(ctx, r.ID)
		if err != nil {
			return err
		}
		if _, taken, err := query.One(ctx, s.db, query.Value[string], "SELECT id FROM repositories WHERE name = $1 AND id <> $2", r.Name, r.ID); err != nil || taken {
			if taken {
				err = nameTaken(r.Name)
			}
			return err
		}
		if err := s.mayChange(ctx, old, r, c); err != nil {
			return err
		}
		r = r.Moved(old)
		news := c != nil || old.URL != r.URL || old.Auth != r.Auth || !reflect.DeepEqual(old.Options, r.Options)
		changes := news || old.Written != r.Written || old.Name != r.Name || old.ProjectID != r.ProjectID
		if r.ManagedBy, err = managed.Write(ctx, old.Noun(), old.ManagedBy, changes); err != nil {
			return err
		}
		if !changes && r.ManagedBy == old.ManagedBy {
			updated = old
			return nil
		}
		if c != nil {
			sealed, err := s.sealCredentials(r.ID, *c)
			if err != nil {
				return err
			}
			if _, err := s.db.Exec(ctx, "UPDATE repositories SET credentials = $2 WHERE id = $1", r.ID, sealed); err != nil {
				return err
			}
		}
		_, err = updateRepository.ExecOne(ctx, s.db, &r, spellings(r, news)...)
		if sqldb.Duplicate(err) {
			return nameTaken(r.Name)
		}
		if err != nil {
			return err
		}
		if !old.IsAt(r.URL) {
			if err := forgetUpstream(ctx, s, r.ID); err != nil {
				return err
			}
		}
		if updated, err = s.Repository(ctx, r.ID); err != nil {
			return err
		}
		return event.Append(ctx, event.Change{Kind: event.KindRepository, Key: r.ID})
	})
	return updated, err
}

// mayChange refuses a change that sends stored credentials elsewhere, and lets the guard
// of the context decide about a change of the address. Who binds a service to the
// repository meanwhile is seen.
func (s *Table) mayChange(ctx context.Context, old, r gitcache.Repository, c *gitcache.Credentials) error {
	if c == nil {
		kept, err := s.Credentials(ctx, r.ID)
		if err == nil {
			err = record.KeepsSecret(old, r, kept)
		}
		if err != nil {
			return err
		}
	}
	guard, field := record.GuardOf(ctx), record.Redirected(old, r)
	if guard == nil || field == "" {
		return nil
	}
	if err := event.DependsOn(ctx, event.Change{Kind: event.KindService}, event.Change{Kind: event.KindGlobal}); err != nil {
		return err
	}
	return guard(ctx, field)
}

// forgetUpstream resets a repository to its state before the first fetch, so
// that nothing from the previous upstream is attributed to the new one. It
// starts the next epoch, so that a running pass for the previous upstream can
// write nothing more. Services keep their revisions, whose tarballs are kept
// like superseded ones.
func forgetUpstream(ctx context.Context, s *Table, id string) error {
	heads, err := s.Heads(ctx, id)
	if err != nil {
		return err
	}
	for _, h := range heads {
		if err := event.Append(ctx, event.Change{Kind: event.KindHead, Key: h.SourceID}); err != nil {
			return err
		}
	}
	for _, statement := range []string{
		`INSERT INTO superseded (digest, at) SELECT DISTINCT digest, {now} FROM heads WHERE repository_id = $1 AND digest <> ''
			ON CONFLICT (digest) DO UPDATE SET at = excluded.at`,
		"DELETE FROM heads WHERE repository_id = $1",
		"UPDATE repository_leases SET epoch = epoch + 1, replica = '', boot = '', expires_at = {now} WHERE repository_id = $1",
		`UPDATE repositories SET health = '` + string(record.Unknown) + `', health_message = '', checked_at = 0, fetched_at = 0, failed_since = 0, next_check_at = 0, bytes = 0
			WHERE id = $1`,
	} {
		if _, err := s.db.Exec(ctx, statement, id); err != nil {
			return err
		}
	}
	return nil
}

// DeleteRepository removes a repository that nothing uses. errcode.NotFound;
// errcode.Conflict when a service still follows it, or a template is bound to it.
func (s *Table) DeleteRepository(ctx context.Context, id string) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		r, err := s.Repository(ctx, id)
		if err != nil {
			return err
		}
		if _, err := managed.Write(ctx, r.Noun(), r.ManagedBy, true); err != nil {
			return err
		}
		used, _, err := query.One(ctx, s.db, query.Value[int64], `SELECT count(*) FROM (
			SELECT g.id FROM `+rows.Templates+`WHERE d.repositories LIKE `+rows.Contains+`
			UNION SELECT id FROM services WHERE repository_id = $1
			UNION SELECT v.id FROM sources o JOIN services v ON v.source_id = o.id WHERE o.repository_id = $1
			UNION SELECT service_id FROM service_sources WHERE repository_id = $1
			UNION SELECT object_id FROM object_references WHERE target_id = $1
			UNION SELECT v.id FROM contents o JOIN revisions r ON r.content_id = o.id
				JOIN services v ON v.revision = r.number AND (v.id = r.service_id OR v.owner_id = r.service_id AND v.owner_id <> '')
				WHERE o.repository_id = $1 OR o.id IN (SELECT content_id FROM content_parts WHERE repository_id = $1)) u`, id)
		if err != nil {
			return err
		}
		if used > 0 {
			return errcode.New(errcode.Conflict, "repository %q is used by %d services and other objects; delete or change them first", r.Name, used)
		}
		for _, statement := range []string{
			"DELETE FROM artifacts WHERE repository_id = $1",
			"DELETE FROM repositories WHERE id = $1", // and, by foreign keys, lease, sources and heads
		} {
			if _, err := s.db.Exec(ctx, statement, id); err != nil {
				return err
			}
		}
		return event.Append(ctx, event.Change{Kind: event.KindRepository, Key: id})
	})
}

// ServicesBoundElsewhere returns the ids of the services that follow a repository of
// another project, or one that the hub follows by itself, in order. It leaves out those of
// global services.
func (s *Table) ServicesBoundElsewhere(ctx context.Context) ([]string, error) {
	const others = `s.project_id <> CASE WHEN r.project_id = '' THEN CAST($1 AS TEXT) ELSE r.project_id END `
	const strays = rows.Strays + `AND r.options NOT LIKE '%"internal":true%' AND ` + others
	const elsewhere = ` WHERE s.managed_by_tool <> 'hub' AND (r.options LIKE '%"internal":true%'
		OR ` + others + `) `
	return query.All(ctx, s.db, query.Value[string], "SELECT s.id FROM services s JOIN repositories r ON r.id = s.repository_id"+elsewhere+
		"UNION SELECT s.id FROM service_sources x JOIN services s ON s.id = x.service_id JOIN repositories r ON r.id = x.repository_id"+elsewhere+
		"UNION SELECT s.id FROM services s JOIN repositories r ON r.id = s.repository_id"+strays+
		"UNION SELECT s.id FROM service_sources x JOIN services s ON s.id = x.service_id JOIN repositories r ON r.id = x.repository_id"+strays+"ORDER BY 1", fleet.DefaultProjectID)
}

// WriteHealth records an upstream's health, and appends to the feed when state
// or message changed. errcode.Conflict when a later epoch took the lease.
func (s *Table) WriteHealth(ctx context.Context, repositoryID string, epoch int64, h gitcache.Health) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		if err := s.fence(ctx, repositoryID, epoch); err != nil {
			return err
		}
		old, err := s.Repository(ctx, repositoryID)
		if err != nil {
			return err
		}
		_, err = updateHealth.ExecOne(ctx, s.db, &gitcache.Repository{ID: repositoryID, Health: h})
		if err != nil || (old.Health.State == h.State && old.Health.Message == sqldb.CleanText(h.Message)) {
			return err
		}
		return event.Append(ctx, event.Change{Kind: event.KindRepository, Key: repositoryID})
	})
}
