package sqldb

import (
	"database/sql/driver"
	"errors"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// SQLite's result codes that are handled; the low byte is the class.
const (
	sqliteBusy       = 5
	sqliteLocked     = 6
	sqliteFull       = 13
	sqlitePrimaryKey = 1555
	sqliteUnique     = 2067
)

// ErrOvertaken makes Write retry a transaction.
var ErrOvertaken = errors.New("another transaction changed what this one depends on")

// awayLogged is the minimum time between two log lines about a database that
// does not answer, since every request fails then.
const awayLogged = 10 * time.Second

// Coded gives an error of the database the code that callers act on: an
// unavailable database means "try again", and a full disk is named. The
// database's own message goes to the log and not to a user.
func (db *DB) Coded(err error) error {
	if err == nil {
		return nil
	}
	var known *errcode.Error
	if errors.As(err, &known) {
		return err
	}
	switch {
	case db.closed.Load():
		return errcode.Hide(errcode.Unavailable, err, "the hub is stopping; try again").After(time.Second)
	case diskFull(err):
		db.logAway(err)
		return errcode.Hide(errcode.Exhausted, err, "the disk of the hub's database is full; free some space; nothing needs to be restarted").After(30 * time.Second)
	case away(err):
		db.logAway(err)
		return errcode.Hide(errcode.Unavailable, err, "the hub's database does not answer; the hub keeps trying").After(2 * time.Second)
	}
	return err
}

func (db *DB) logAway(err error) {
	now := db.config.Clock.Now()
	db.mu.Lock()
	quiet := now.Sub(db.awayAt) < awayLogged
	if !quiet {
		db.awayAt = now
	}
	db.mu.Unlock()
	if !quiet {
		db.config.Log.Error("the database cannot be used", logkey.Error, err)
	}
}

func diskFull(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == "53100"
	}
	var lite *sqlite.Error
	return errors.As(err, &lite) && lite.Code()&0xff == sqliteFull
}

// away reports whether the database, or the connection to it, is temporarily
// unavailable.
func away(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code[:2] {
		case "08", "53", "57": // connection, resources, operator's intervention
			return true
		}
		return pg.Code == "25006" // read only: a server that is no longer the primary
	}
	var connect *pgconn.ConnectError
	var network net.Error
	var lite *sqlite.Error
	switch {
	case errors.As(err, &connect), errors.As(err, &network), errors.Is(err, driver.ErrBadConn), errors.Is(err, net.ErrClosed):
		return true
	case errors.As(err, &lite):
		return lite.Code()&0xff == sqliteBusy || lite.Code()&0xff == sqliteLocked
	}
	return false
}

// Retryable reports whether the database, or the feed, requests a retry of the
// transaction.
func Retryable(err error) bool {
	if errors.Is(err, ErrOvertaken) {
		return true
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		// Serialisation failure, deadlock, lock not available.
		return pg.Code == "40001" || pg.Code == "40P01" || pg.Code == "55P03"
	}
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		return lite.Code()&0xff == sqliteBusy || lite.Code()&0xff == sqliteLocked
	}
	return false
}

// takenKey returns the key of a row that exists already, on Postgres. The other
// row may be younger than the transaction's snapshot, from which both computed
// the same number, so the transaction is retried once; with the same key again,
// the conflict is real.
func takenKey(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23505" {
		return pg.TableName + " " + pg.ConstraintName + " " + pg.Detail
	}
	return ""
}

// Duplicate reports whether a row with the same unique key exists.
func Duplicate(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == "23505"
	}
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		return lite.Code() == sqlitePrimaryKey || lite.Code() == sqliteUnique
	}
	return false
}
