package sqldb

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/axle-cd/axle/internal/errcode"
)

// Schema is the schema that a version of the product works with.
type Schema struct {
	// Migrations has goose's files, written for SQLite, in the folder migrations.
	Migrations fs.FS
	// Minor is the minor version of the product that the newest migration belongs
	// to.
	Minor int
}

// settingMinor is the setting with the version of the schema.
const settingMinor = "schema_minor"

var textColumn = regexp.MustCompile(`\bTEXT\b`)

// schemaFiles are the migrations in the dialect of one database.
type schemaFiles struct {
	files fs.FS
	text  string
}

// Open opens a migration with its text columns declared for the database.
func (m schemaFiles) Open(name string) (fs.File, error) {
	file, err := m.files.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return schemaFile{File: file, Reader: bytes.NewReader(textColumn.ReplaceAll(text, []byte(m.text)))}, nil
}

// schemaFile is a file with changed content.
type schemaFile struct {
	fs.File
	*bytes.Reader
}

// Read reads the changed text.
func (f schemaFile) Read(p []byte) (int, error) { return f.Reader.Read(p) }

// Migrate upgrades the schema to this version, one replica at a time. A hub can
// work with the schema of the next minor version; a newer schema is a Conflict.
func (db *DB) Migrate(ctx context.Context, to Schema) (err error) {
	unlock, err := db.lockMigrations(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	minor, err := db.databaseMinor(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if minor > to.Minor+1 {
		return errcode.New(errcode.Conflict, "the database has the schema of version 0.%d and this hub is version 0.%d; it can use at most that of 0.%d, so start a newer hub", minor, to.Minor, to.Minor+1)
	}
	if minor > to.Minor {
		db.config.Log.Warn("the database was already upgraded by the next version; this hub works with it")
		return nil
	}
	provider, err := db.migrations(to)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("upgrade the schema: %w", err)
	}
	return db.Write(ctx, func(ctx context.Context) error {
		_, err := db.Exec(ctx, `INSERT INTO settings (name, value) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, settingMinor, strconv.Itoa(to.Minor))
		return err
	})
}

func (db *DB) migrations(to Schema) (*goose.Provider, error) {
	kind := goose.DialectSQLite3
	if db.Postgres() {
		kind = goose.DialectPostgres
	}
	files, err := fs.Sub(to.Migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("prepare the migrations: %w", err)
	}
	provider, err := goose.NewProvider(kind, db.Pools.Write, schemaFiles{files, db.dialect.text}, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("prepare the migrations: %w", err)
	}
	return provider, nil
}

// CheckSchema returns Conflict unless the schema has this version.
func (db *DB) CheckSchema(ctx context.Context, of Schema) error {
	minor, err := db.databaseMinor(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	other := errcode.New(errcode.Conflict, "the database has the schema of another version; use the axle-hub that serves it")
	if minor != of.Minor {
		return other
	}
	provider, err := db.migrations(of)
	if err != nil {
		return err
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if current != target {
		return other
	}
	return nil
}

// databaseMinor returns the version that last upgraded the schema, 0 for none.
func (db *DB) databaseMinor(ctx context.Context) (int, error) {
	find := "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'settings'"
	if db.Postgres() {
		find = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'settings'"
	}
	var tables int
	if err := db.Pools.Write.QueryRowContext(ctx, find).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	var text string
	err := db.Pools.Write.QueryRowContext(ctx, "SELECT value FROM settings WHERE name = $1", settingMinor).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// lockMigrations prevents two replicas that start at the same time from
// upgrading concurrently; on SQLite the lock file does.
func (db *DB) lockMigrations(ctx context.Context) (unlock func() error, err error) {
	if !db.Postgres() {
		return func() error { return nil }, nil
	}
	conn, err := db.Pools.Write.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", migrateLock); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for another replica's upgrade of the schema: %w", err), conn.Close())
	}
	return func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", migrateLock)
		return errors.Join(err, conn.Close())
	}, nil
}
