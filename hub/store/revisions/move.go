package revisions

import (
	"context"
	"maps"
	"slices"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
)

// Revise implements fleet.MoveStore.
func (t *Table) Revise(ctx context.Context, all []fleet.Revised, at int64, keep int) error {
	made := make([]fleet.Made, len(all))
	for i, r := range all {
		made[i] = r.Made
	}
	contents, err := t.putContents(ctx, made)
	if err != nil {
		return err
	}
	var own, shared query.Values
	owners := map[string]bool{}
	for i, r := range all {
		list := &own
		if r.OwnerID != "" {
			list, owners[r.OwnerID] = &shared, true
		}
		list.Add(r.ServiceID, r.SpecDigest, r.Namespace, contents[i], r.Cause)
	}
	if err := t.reviseOwn(ctx, own, at, keep); err != nil {
		return err
	}
	if err := t.reviseShared(ctx, shared, at); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(owners)) {
		if err := t.trim(ctx, id, keep); err != nil {
			return err
		}
	}
	return nil
}

// reviseShared gives services the revision of their template with their spec and
// the new content. There is one however many services get it, and it is newer than
// those that they had: content that comes back is a new revision.
func (t *Table) reviseShared(ctx context.Context, revised query.Values, at int64) error {
	return revised.Each(func(list string, args []any) error {
		with := "WITH v(id, spec_digest, namespace, content_id, cause) AS (VALUES " + list + ") "
		when := "CAST(" + query.Placeholders(len(args)+1, 1) + " AS BIGINT)"
		args = append(args, at)
		_, err := t.db.Exec(ctx, with+`INSERT INTO revisions (service_id, number, content_id, spec_version, spec_digest, cause, actor, created_at)
			SELECT w.owner_id, (SELECT COALESCE(max(x.number), 0) FROM revisions x WHERE x.service_id = w.owner_id)
				+ row_number() OVER (PARTITION BY w.owner_id ORDER BY w.spec_version, w.content_id),
				w.content_id, w.spec_version, '', w.cause, CASE WHEN w.cause = 'commit' THEN '' ELSE w.declared_by END, `+when+`
			FROM (SELECT s.owner_id, s.spec_version, v.content_id, max(v.cause) AS cause, max(s.declared_by) AS declared_by, max(s.revision) AS revision
				FROM v JOIN services s ON s.id = v.id GROUP BY s.owner_id, s.spec_version, v.content_id) w
			WHERE NOT EXISTS (SELECT 1 FROM revisions r WHERE r.service_id = w.owner_id AND r.spec_version = w.spec_version
				AND r.content_id = w.content_id AND r.number > w.revision)`, args...)
		if err != nil {
			return err
		}
		_, err = t.db.Exec(ctx, with+`UPDATE services SET revision = (SELECT max(r.number) FROM revisions r WHERE r.service_id = services.owner_id
				AND r.spec_version = services.spec_version AND r.content_id = v.content_id),
			undelivered = 0, content_id = v.content_id, spec_digest = v.spec_digest, namespace = v.namespace, revised_at = `+when+`
			FROM v WHERE services.id = v.id`, args...)
		return err
	})
}

// reviseOwn creates the next revision of services that share none.
func (t *Table) reviseOwn(ctx context.Context, revised query.Values, at int64, keep int) error {
	return revised.Each(func(list string, args []any) error {
		with := "WITH v(id, spec_digest, namespace, content_id, cause) AS (VALUES " + list + ") "
		number := "CAST(" + query.Placeholders(len(args)+1, 1) + " AS BIGINT)"
		when, most := append(args, at), append(args[:len(args):len(args)], keep)
		_, err := t.db.Exec(ctx, with+`INSERT INTO revisions (service_id, number, content_id, spec_version, spec_digest, cause, actor, created_at)
			SELECT s.id, s.revision + 1, v.content_id, s.spec_version, v.spec_digest, v.cause,
				CASE WHEN v.cause = 'commit' THEN '' ELSE s.declared_by END, `+number+` FROM v JOIN services s ON s.id = v.id`, when...)
		if err != nil {
			return err
		}
		_, err = t.db.Exec(ctx, with+`UPDATE services SET revision = revision + 1, undelivered = 0, content_id = v.content_id,
			spec_digest = v.spec_digest, namespace = v.namespace, revised_at = `+number+` FROM v WHERE services.id = v.id`, when...)
		if err != nil {
			return err
		}
		_, err = t.db.Exec(ctx, with+`DELETE FROM revisions WHERE (service_id, number) IN (
			SELECT r.service_id, r.number FROM v JOIN services s ON s.id = v.id JOIN revisions r ON r.service_id = s.id
			AND r.number <= s.revision - `+number+`)`, most...)
		if err != nil {
			return err
		}
		_, err = t.db.Exec(ctx, with+`DELETE FROM specs WHERE (owner_id, version) IN (
			SELECT d.owner_id, d.version FROM v JOIN services s ON s.id = v.id JOIN specs d ON d.owner_id = s.id AND d.version <> s.spec_version
			WHERE NOT EXISTS (SELECT 1 FROM revisions r WHERE r.service_id = d.owner_id AND r.spec_version = d.version))`, args...)
		return err
	})
}

// Advanced is what is read of a service whose head moved.
var Advanced = rows.Of("services s", func(c *rows.Columns, s *fleet.Service) {
	rows.Col(c, "id", &s.ID)
	rows.Col(c, "cluster_id", &s.ClusterID)
	rows.Col(c, "COALESCE(c.name, '')", &s.Cluster)
	rows.Col(c, "name", &s.Name)
	rows.Col(c, "namespace", &s.Namespace)
	rows.Col(c, "source_id", &s.SourceID)
	rows.Col(c, "spec_digest", &s.SpecDigest)
	rows.Col(c, "revision", &s.Revision)
	rows.Col(c, "owner_id", &s.OwnerID)
})

// ServicesToAdvance implements fleet.MoveStore.
func (t *Table) ServicesToAdvance(ctx context.Context, heads []fleet.Head, after string, limit int) ([]fleet.Service, error) {
	with, sources, args := Heads(heads)
	next := len(args)
	return query.All(ctx, t.db, Advanced.Reader(), with+Advanced.Select()+`
		JOIN h ON h.source_id = s.source_id JOIN contents o ON o.id = s.content_id LEFT JOIN clusters c ON c.id = s.cluster_id
		WHERE s.source_id IN (`+sources+`) AND s.id > `+query.Placeholders(next+1, 1)+`
		AND s.pinned_revision = 0 AND s.deleting = '' AND s.undelivered = 0 AND s.places = '' AND s.revision > 0
		AND o.digest <> h.digest AND o.entry = h.entry AND o.parts = ''
		AND NOT EXISTS (SELECT 1 FROM config_uses u WHERE u.service_id IN (s.id, s.owner_id) AND u.kind = '`+fleet.UseService+`')
		ORDER BY s.id LIMIT `+query.Placeholders(next+2, 1), append(args, after, limit)...)
}

// Heads begins a statement that compares with heads, as h, and lists their
// sources, with the arguments of both.
func Heads(heads []fleet.Head) (with, sources string, args []any) {
	var told query.Values
	for _, h := range heads {
		told.Add(h.SourceID, h.Digest, h.Entry)
	}
	list, args := told.List()
	sources = query.Placeholders(len(args)+1, len(heads))
	for _, h := range heads {
		args = append(args, h.SourceID)
	}
	return "WITH h(source_id, digest, entry) AS (VALUES " + list + ") ", sources, args
}

// MovedSources returns up to limit sources after an id, in order of id, whose
// head moved and whose services were not updated yet.
func (t *Table) MovedSources(ctx context.Context, after string, limit int) ([]string, error) {
	return query.All(ctx, t.db, query.Value[string], "SELECT source_id FROM moved_sources WHERE source_id > $1 ORDER BY source_id LIMIT $2", after, limit)
}

// FollowAgain implements depend.Store.
func (t *Table) FollowAgain(ctx context.Context, kind string, names []string) (sources []string, err error) {
	err = query.Chunks(names, func(args []any) error {
		// As for a head that moved, the row is written even if it exists.
		found, err := query.All(ctx, t.db, query.Value[string], `WITH u AS (SELECT service_id FROM config_uses
				WHERE kind = `+query.Placeholders(len(args)+1, 1)+" AND name IN ("+query.Placeholders(1, len(args))+`))
			INSERT INTO moved_sources (source_id, at)
			SELECT source_id, {now} FROM (SELECT s.source_id FROM u JOIN services s ON s.id = u.service_id
				UNION SELECT s.source_id FROM u JOIN services s ON s.owner_id = u.service_id AND s.owner_id <> '') w WHERE source_id <> ''
			ON CONFLICT (source_id) DO UPDATE SET at = moved_sources.at RETURNING source_id`, append(args, kind)...)
		sources = append(sources, found...)
		return err
	})
	return sources, err
}

// FollowedSources records that the services of sources were updated to the
// heads that the transaction of ctx sees.
func (t *Table) FollowedSources(ctx context.Context, sourceIDs []string) error {
	return query.Chunks(sourceIDs, func(args []any) error {
		_, err := t.db.Exec(ctx, "DELETE FROM moved_sources WHERE source_id IN ("+query.Placeholders(1, len(args))+")", args...)
		return err
	})
}
