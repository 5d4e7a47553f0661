package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/desired"
	"github.com/axle-cd/axle/hub/fleet/bundled"
	"github.com/axle-cd/axle/hub/store/revisions"
	"github.com/axle-cd/axle/internal/clock"
)

// Learnt is what the database's current incarnation has learnt; it implements
// desired.Learnt.
type Learnt struct{ Store *Store }

var _ desired.Learnt = Learnt{}

// forgetReports marks the statuses in a restored database as not learnt in the
// incarnation that begins. Agents send every status again, since the hash differs.
func forgetReports(ctx context.Context, s *Store) error {
	for _, statement := range []string{
		"UPDATE statuses SET hash = ''",
		"DELETE FROM status_sums", // without a sum, a cluster sends everything
	} {
		if _, err := s.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// forgetReads marks every upstream as not read in the incarnation that begins. The
// first read then changes the health, and with that appends a row to the feed: the
// indexes judge again what waits for that read. Without the row, a commit found by
// the first read would wait for the next commit.
func forgetReads(ctx context.Context, s *Store) error {
	_, err := s.exec(ctx, "UPDATE repositories SET health = 'UNKNOWN', health_message = '', checked_at = 0, failed_since = 0")
	return err
}

// newest returns when the youngest service or revision was created.
func newest(ctx context.Context, s *Store) (time.Time, error) {
	at, _, err := rowOf(ctx, s, value[int64], `SELECT COALESCE(max(at), 0) FROM (SELECT max(created_at) AS at FROM services
		UNION ALL SELECT max(created_at) FROM revisions) AS made`)
	return clock.FromMicros(at), err
}

const (
	fetchedQuery = `SELECT h.source_id, h.digest FROM heads h JOIN repositories r ON r.id = h.repository_id
		WHERE h.source_id IN (%) AND h.error = '' AND r.checked_at > $`
	reportedQuery  = "SELECT service_id, tarball_digest, spec_digest FROM statuses WHERE hash <> '' AND service_id IN "
	createdQuery   = "SELECT id FROM services WHERE id IN (%) AND created_at > $"
	declaredQuery  = "SELECT DISTINCT s.id FROM services s JOIN revisions r ON r.service_id = " + revisions.OwnerOf + " WHERE s.id IN (%) AND r.cause NOT IN ('create', 'commit') AND r.created_at > $"
	followingQuery = `SELECT id FROM services WHERE source_id = $1 UNION SELECT id FROM services WHERE repository_id = $1
		UNION SELECT service_id FROM service_sources WHERE source_id = $1 UNION SELECT service_id FROM service_sources WHERE repository_id = $1`
)

// ofSome completes a query of the form above, with its last argument last.
func ofSome(query string, args []any) string {
	return strings.Replace(query, "%", placeholders(1, len(args)-1), 1) + strconv.Itoa(len(args))
}

// Fetched implements desired.Learnt.
func (l Learnt) Fetched(ctx context.Context, since time.Time, sources []string) (map[string]string, error) {
	found := map[string]string{}
	for _, id := range sources {
		if digest, ours := bundled.DigestOf(id); ours {
			found[id] = digest // no upstream can have other content
		}
	}
	return found, chunks(sources, func(args []any) error {
		args = append(args, clock.Micros(since))
		return l.Store.each(ctx, ofSome(fetchedQuery, args), args, func(row scan) error {
			var id, digest string
			err := row(&id, &digest)
			found[id] = digest
			return err
		})
	})
}

// Reported implements desired.Learnt.
func (l Learnt) Reported(ctx context.Context, services []string) (map[string]desired.Applied, error) {
	found := map[string]desired.Applied{}
	return found, chunks(services, func(args []any) error {
		return l.Store.each(ctx, reportedQuery+"("+placeholders(1, len(args))+")", args, func(row scan) error {
			var id string
			var a desired.Applied
			err := row(&id, &a.Digest, &a.SpecDigest)
			found[id] = a
			return err
		})
	})
}

// Declared implements desired.Learnt. A revision that came only from a commit
// is not a declaration.
func (l Learnt) Declared(ctx context.Context, since time.Time, services []string) (map[string]bool, error) {
	found := map[string]bool{}
	for created, query := range map[bool]string{true: createdQuery, false: declaredQuery} {
		err := chunks(services, func(args []any) error {
			args = append(args, clock.Micros(since))
			ids, err := rowsOf(ctx, l.Store, value[string], ofSome(query, args), args...)
			for _, id := range ids {
				found[id] = found[id] || created
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Following implements desired.Learnt.
func (l Learnt) Following(ctx context.Context, id string) ([]string, error) {
	return rowsOf(ctx, l.Store, value[string], followingQuery, id)
}
