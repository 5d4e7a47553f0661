package store

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
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

// SchemaMinor is the minor version of the product that the newest migration
// belongs to. A migration only adds columns and tables in the release that
// introduces it; what it replaces is removed two releases later. A hub can
// therefore work with the schema of the next minor version, and no later one.
const SchemaMinor = 1

//go:embed migrations/*.sql
var migrationFiles embed.FS

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

func (d dialect) migrations() (fs.FS, error) {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	return schemaFiles{files, d.text}, nil
}

// migrate upgrades the schema to this version, one replica at a time.
func (s *Store) migrate(ctx context.Context) (err error) {
	unlock, err := s.lockMigrations(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	minor, err := s.databaseMinor(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if minor > SchemaMinor+1 {
		return errcode.New(errcode.Conflict, "the database has the schema of version 0.%d and this hub is version 0.%d; it can use at most that of 0.%d, so start a newer hub", minor, SchemaMinor, SchemaMinor+1)
	}
	if minor > SchemaMinor {
		s.log.Warn("the database was already upgraded by the next version; this hub works with it")
		return nil
	}
	provider, err := s.migrations()
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("upgrade the schema: %w", err)
	}
	return s.Write(ctx, func(ctx context.Context) error {
		return s.SetSetting(ctx, settingMinor, strconv.Itoa(SchemaMinor))
	})
}

func (s *Store) migrations() (*goose.Provider, error) {
	files, err := s.dialect.migrations()
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	kind := goose.DialectSQLite3
	if s.dialect.name == "postgres" {
		kind = goose.DialectPostgres
	}
	provider, err := goose.NewProvider(kind, s.write, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("prepare the migrations: %w", err)
	}
	return provider, nil
}

// schemaIsOurs returns Conflict unless the schema has this version.
func (s *Store) schemaIsOurs(ctx context.Context) error {
	minor, err := s.databaseMinor(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	other := errcode.New(errcode.Conflict, "the database has the schema of another version; use the axle-hub that serves it")
	if minor != SchemaMinor {
		return other
	}
	provider, err := s.migrations()
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
func (s *Store) databaseMinor(ctx context.Context) (int, error) {
	find := "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'settings'"
	if s.dialect.name == "postgres" {
		find = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'settings'"
	}
	var tables int
	if err := s.write.QueryRowContext(ctx, find).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	var text string
	err := s.write.QueryRowContext(ctx, "SELECT value FROM settings WHERE name = $1", settingMinor).Scan(&text)
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
func (s *Store) lockMigrations(ctx context.Context) (unlock func() error, err error) {
	if s.dialect.name != "postgres" {
		return func() error { return nil }, nil
	}
	conn, err := s.write.Conn(ctx)
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
