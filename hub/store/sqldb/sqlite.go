package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/sqlitestmt"
)

// databaseFile is the database's name in the data folder.
const databaseFile = "hub.db"

// readers is how many reads run concurrently beside the one writer.
const readers = 8

// openSQLite opens DataDir/hub.db. The one writer's transactions take the write
// lock when they begin, because a transaction that reads first and writes later
// fails at once when another wrote in between, whatever the time-out. Readers
// cannot write.
func (db *DB) openSQLite(ctx context.Context) error {
	c := db.config
	if c.DataDir == "" {
		return errcode.New(errcode.Invalid, "the hub needs a data folder (--data-dir) or a database URL (--database-url)")
	}
	db.dialect = sqliteDialect
	file := filepath.Join(c.DataDir, databaseFile)
	err := db.takeFolder(c.DataDir, file)
	if err != nil {
		return err
	}
	if c.Use == Reads {
		db.Pools.Read, err = openSQLiteReaders(file)
		return err
	}
	pragmas := []string{"busy_timeout(5000)", "foreign_keys(1)", "journal_mode(WAL)", "synchronous(FULL)"}
	if db.Pools.Write, err = sqlitestmt.Open(SQLiteURL(file, "immediate", pragmas)); err != nil {
		return fmt.Errorf("open %s: %w", file, err)
	}
	db.Pools.Write.SetMaxOpenConns(1)
	if err := db.Pools.Write.PingContext(ctx); err != nil {
		return fmt.Errorf("open %s: %w", file, err)
	}
	db.Pools.Read, err = openSQLiteReaders(file)
	return err
}

// takeFolder creates the folder and the database when they are missing, and
// locks out other hubs; a command beside the hub requires both to exist.
func (db *DB) takeFolder(dir, file string) (err error) {
	if db.config.Use == Beside || db.config.Use == Reads {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return errcode.New(errcode.NotFound, "there is no hub database at %s; give the hub's --data-dir or --database-url", file)
		}
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the data folder: %w", err)
	}
	if db.release, err = lockFile(filepath.Join(dir, "hub.lock")); err != nil {
		db.release = func() error { return nil }
		return err
	}
	return keepPrivate(file)
}

// keepPrivate lets only this user read the database, whatever the folder's mode:
// it holds hashes of tokens and sealed secrets. A new file is created here,
// since SQLite would use the umask; its log and index get the file's mode.
func keepPrivate(file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the database: %w", err)
	}
	for _, path := range []string{file, file + "-wal", file + "-shm"} {
		if err := os.Chmod(path, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep the database private: %w", err)
		}
	}
	return nil
}

func openSQLiteReaders(file string) (*sql.DB, error) {
	pool, err := sqlitestmt.Open(SQLiteURL(file, "deferred", []string{"busy_timeout(5000)", "query_only(1)"}))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", file, err)
	}
	pool.SetMaxOpenConns(readers)
	pool.SetMaxIdleConns(readers)
	return pool, nil
}

// SQLiteURL returns the driver's URL of a file.
func SQLiteURL(file, lock string, pragmas []string) string {
	query := url.Values{"_txlock": {lock}, "_pragma": pragmas}
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(file) + "?" + query.Encode()
}

// lockFile takes the lock of a process on this data folder. The kernel releases
// it when the process ends, however it ends.
func lockFile(path string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock file: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(errcode.New(errcode.Conflict, "another hub uses the data folder %s; stop it first, or run several hubs on Postgres (--database-url)", filepath.Dir(path)), f.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f.Close, nil
}
