package world

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of Postgres
	_ "modernc.org/sqlite"             // the driver of SQLite
)

// ReadStore reads from the hub's database what the checker needs, bypassing the hub and
// without changing anything.
func (w *World) ReadStore(ctx context.Context) (s StoreState, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if w.Replicated != nil {
		return readStore(ctx, w.Replicated.database)
	}
	files, err := filepath.Glob(filepath.Join(w.Hub.DataDir, "*.db"))
	if err != nil || len(files) != 1 {
		return s, fmt.Errorf("databases in %s: %v (%w)", w.Hub.DataDir, files, err)
	}
	// Not kept: a test may put another file in its place.
	db, err := sql.Open("sqlite", "file:"+files[0]+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		return s, err
	}
	defer db.Close()
	return readStore(ctx, db)
}

func readStore(ctx context.Context, db *sql.DB) (s StoreState, err error) {
	err = errors.Join(
		rows(ctx, db, `SELECT r.name, s.ref, s.folder, h.revision, h.digest, h.error, h.epoch FROM heads h
			JOIN sources s ON s.id = h.source_id JOIN repositories r ON r.id = h.repository_id ORDER BY 1, 2, 3`,
			func(scan func(...any) error) error {
				var h StoredHead
				err := scan(&h.Repo, &h.Ref, &h.Folder, &h.Revision, &h.Digest, &h.Error, &h.Epoch)
				s.Heads = append(s.Heads, h)
				return err
			}),
		rows(ctx, db, `SELECT r.name, l.replica, l.epoch FROM repository_leases l JOIN repositories r ON r.id = l.repository_id ORDER BY 1`,
			func(scan func(...any) error) error {
				var l StoredLease
				err := scan(&l.Repo, &l.Holder, &l.Epoch)
				s.Leases = append(s.Leases, l)
				return err
			}),
		rows(ctx, db, `SELECT c.name || '/' || v.name, COALESCE(o.digest, ''), v.revision, COALESCE(o.source_revision, ''), COALESCE(o.message, ''), v.tombstone_id,
			COALESCE(t.sync, ''), COALESCE(t.tarball_digest, '') FROM services v JOIN clusters c ON c.id = v.cluster_id
			LEFT JOIN contents o ON o.id = v.content_id LEFT JOIN statuses t ON t.service_id = v.id ORDER BY 1`,
			func(scan func(...any) error) error {
				var v StoredService
				err := scan(&v.Name, &v.Digest, &v.Revision, &v.SourceRevision, &v.SourceText, &v.Tombstone, &v.Sync, &v.Applied)
				s.Services = append(s.Services, v)
				return err
			}),
		rows(ctx, db, `SELECT id FROM incarnations ORDER BY started_at`, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			s.Incarnations = append(s.Incarnations, id)
			return err
		}),
		rows(ctx, db, `SELECT object FROM events WHERE kind = 'service.deleted' ORDER BY id`, func(scan func(...any) error) error {
			var name string
			err := scan(&name)
			s.DeletedEvents = append(s.DeletedEvents, strings.TrimPrefix(name, "service "))
			return err
		}),
	)
	return s, err
}

func rows(ctx context.Context, db *sql.DB, query string, take func(scan func(...any) error) error) error {
	found, err := db.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	defer found.Close()
	for found.Next() {
		if err := take(found.Scan); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
	}
	return found.Err()
}
