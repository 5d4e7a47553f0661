package store

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/hub/store/sqldb"
	"github.com/axle-cd/axle/internal/clock"
)

// A backup is a zstd stream of JSON lines, the same for both databases:
//
//	{"format":"axle-backup","version":1,…}
//	{"table":"settings","columns":["name","value"]}
//	["schema_minor","1"]
//	…
//	{"rows":4711,"sha256":"…"}
//
// The last line has the hash of all bytes before it, so a file that was cut
// off or damaged is refused. Tables come in the order in which they were made,
// so that a row comes after what it refers to.
const (
	backupFormat  = "axle-backup"
	backupVersion = 1
)

// backupHeader is the first line.
type backupHeader struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Minor is the version of the schema.
	Minor int `json:"minor"`
	// Database is the database it came from; it may be restored into the other kind.
	Database    string `json:"database"`
	CreatedAt   int64  `json:"createdAt"`
	Incarnation string `json:"incarnation"`
	Sequence    int64  `json:"sequence"`
	CommittedAt int64  `json:"committedAt"`
}

// backupTable starts a table.
type backupTable struct {
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
}

// backupEnd is the last line.
type backupEnd struct {
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"`
}

// notBackedUp are the tables that belong only to the current incarnation.
var notBackedUp = map[string]bool{"outbox": true, "leases": true, "replicas": true}

// Backup writes a snapshot of the database to w, while a hub may run on it.
// Secrets in it are sealed: it needs the key file, which is not in it.
func Backup(ctx context.Context, c Config, w io.Writer) error {
	s, err := open(ctx, c, sqldb.Reads)
	if err != nil {
		return err
	}
	return errors.Join(s.backup(ctx, w), s.Close())
}

func (s *Store) backup(ctx context.Context, w io.Writer) error {
	packed, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("compress the backup: %w", err)
	}
	out := &backupWriter{hash: sha256.New(), buffer: bufio.NewWriterSize(packed, 64<<10)}
	err = s.Read(ctx, func(ctx context.Context) error { return s.backupAll(ctx, out) })
	if err != nil {
		return errors.Join(fmt.Errorf("back up: %w", err), packed.Close())
	}
	return errors.Join(out.buffer.Flush(), packed.Close())
}

// backupWriter writes lines and hashes them.
type backupWriter struct {
	hash   hash.Hash
	buffer *bufio.Writer
	rows   int64
}

func (b *backupWriter) line(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	b.hash.Write(text)
	_, err = b.buffer.Write(text)
	return err
}

func (s *Store) backupAll(ctx context.Context, out *backupWriter) error {
	if s.db.Postgres() {
		// Tables may be large and the disk slow.
		for _, limit := range []string{"statement_timeout", "idle_in_transaction_session_timeout"} {
			if _, err := transaction(ctx).ExecContext(ctx, "SET LOCAL "+limit+" = 0"); err != nil {
				return err
			}
		}
	}
	h, err := s.readHead(ctx, transaction(ctx))
	if err != nil {
		return err
	}
	minor, err := s.settingInt(ctx, settingMinor)
	if err != nil {
		return err
	}
	header := backupHeader{
		Format: backupFormat, Version: backupVersion, Minor: minor, Database: s.db.Kind(),
		CreatedAt: clock.Micros(s.clock.Now()), Incarnation: h.incarnation, Sequence: h.sequence, CommittedAt: h.at,
	}
	if err := out.line(header); err != nil {
		return err
	}
	tables, err := s.tables(ctx)
	if err != nil {
		return fmt.Errorf("list tables: %w", err)
	}
	for _, t := range tables {
		if err := s.backupTable(ctx, out, t); err != nil {
			return fmt.Errorf("table %s: %w", t.Table, err)
		}
	}
	return out.line(backupEnd{out.rows, hex.EncodeToString(out.hash.Sum(nil))})
}

func (s *Store) backupTable(ctx context.Context, out *backupWriter, t backupTable) error {
	if err := out.line(t); err != nil {
		return err
	}
	values := make([]any, len(t.Columns))
	into := make([]any, len(t.Columns))
	for i := range values {
		into[i] = &values[i]
	}
	return s.each(ctx, "SELECT "+strings.Join(t.Columns, ", ")+" FROM "+t.Table, nil, func(row scan) error {
		if err := row(into...); err != nil {
			return err
		}
		out.rows++
		return out.line(values)
	})
}

// tables returns the tables of a backup in the order in which they were
// created, with their columns. The names need no quotes.
func (s *Store) tables(ctx context.Context) ([]backupTable, error) {
	query := `SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY m.rowid, c.cid`
	if s.db.Postgres() {
		query = `SELECT r.relname, a.attname FROM pg_class r JOIN pg_attribute a ON a.attrelid = r.oid
			WHERE r.relkind = 'r' AND r.relnamespace = current_schema()::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
			ORDER BY r.oid, a.attnum`
	}
	pairs, err := rowsOf(ctx, s, func(row scan) (pair [2]string, err error) {
		err = row(&pair[0], &pair[1])
		return pair, err
	}, query)
	var tables []backupTable
	for _, pair := range pairs {
		if notBackedUp[pair[0]] || strings.HasPrefix(pair[0], "goose_") {
			continue
		}
		if n := len(tables); n == 0 || tables[n-1].Table != pair[0] {
			tables = append(tables, backupTable{Table: pair[0]})
		}
		last := &tables[len(tables)-1]
		last.Columns = append(last.Columns, pair[1])
	}
	return tables, err
}

func (s *Store) settingInt(ctx context.Context, name string) (n int, err error) {
	text, err := s.Setting(ctx, name)
	if err != nil || text == "" {
		return 0, err
	}
	_, err = fmt.Sscan(text, &n)
	return n, err
}
