// Package pgcheck says whether a hub can live in a Postgres database, and if not, what
// to do. The hub asks at its start and axle preflight before an install, so that both
// say the same.
//
// It changes nothing in the database and keeps no connection.
//
// Invariants: no message has a password. A message is one line, because it becomes a
// pod's last words.
package pgcheck

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/axle-cd/axle/internal/errcode"
)

// Oldest is the oldest version of Postgres that its project still supports.
const Oldest = 14

// ask is one simple query, so that it also works through a pooler of transactions.
const ask = "SELECT current_setting('server_version_num'), current_setting('server_encoding'), current_setting('default_transaction_read_only'), pg_is_in_recovery()::text"

// Suitable returns Invalid for a database in which a hub cannot live: too old, of
// another encoding, or one that takes no writes, such as a standby.
func Suitable(ctx context.Context, conn *pgconn.PgConn) error {
	results, err := conn.Exec(ctx, ask).ReadAll()
	if err != nil {
		return errcode.New(errcode.Unavailable, "ask Postgres about itself: %w", err)
	}
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) != 4 {
		return errcode.New(errcode.Invalid, "what answers is not Postgres: check the URL's host and port")
	}
	row := results[0].Rows[0]
	version, err := strconv.Atoi(string(row[0]))
	encoding, readOnly, standby := string(row[1]), string(row[2]), string(row[3])
	switch {
	case err != nil || version/10000 < Oldest:
		return errcode.New(errcode.Invalid, "this Postgres is version %s, and the hub needs %d or newer: upgrade it, or use another one", versionText(version), Oldest)
	case encoding != "UTF8":
		return errcode.New(errcode.Invalid, "the database has the encoding %s, and the hub needs UTF8: make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0", encoding)
	case standby == "true":
		return errcode.New(errcode.Invalid, "this Postgres is a standby, which takes no writes: give the URL of the primary")
	case readOnly == "on":
		return errcode.New(errcode.Invalid, "the database takes no writes, because default_transaction_read_only is on: give a user or a database that may write")
	}
	return nil
}

// versionText is 9.6 for 90603, and 13 for 130004.
func versionText(number int) string {
	if number < 100000 {
		return strconv.Itoa(number/10000) + "." + strconv.Itoa(number/100%100)
	}
	return strconv.Itoa(number / 10000)
}

// Try connects and asks. A database that cannot be reached, or whose login fails, is
// Unavailable or Unauthorized, with what to do; a URL that cannot be read is Invalid.
func Try(ctx context.Context, url string) error {
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		// The parser's error may quote the URL, and with it the password.
		return errcode.New(errcode.Invalid, "this is no URL of Postgres: write postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return Explain(err, config)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // nothing was written
	return Suitable(ctx, conn)
}

// Explain says in one line why a connection was not made, and what to do.
func Explain(err error, config *pgconn.Config) error {
	address := net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	var said *pgconn.PgError
	if errors.As(err, &said) {
		switch said.Code {
		case "28P01", "28000":
			return errcode.Hide(errcode.Unauthorized, err, "Postgres at %s does not let the user %s in: check user and password of the URL, and pg_hba.conf of the server", address, config.User)
		case "3D000":
			return errcode.Hide(errcode.Invalid, err, "Postgres at %s has no database %s: make it with CREATE DATABASE %s OWNER %s ENCODING 'UTF8' TEMPLATE template0", address, config.Database, config.Database, config.User)
		case "53300":
			return errcode.Hide(errcode.Unavailable, err, "Postgres at %s has no connection left: a replica uses up to 28, so raise max_connections", address)
		}
		return errcode.Hide(errcode.Unavailable, err, "Postgres at %s refuses the connection: %s", address, line(said.Message))
	}
	return errcode.Hide(errcode.Unavailable, err, "Postgres does not answer at %s (%s): check that it runs, that the address is right, and that firewalls and network policies let the hub reach it", address, cause(err))
}

// cause is what the network said, without pgx's way to it.
func cause(err error) string {
	var network *net.OpError
	if errors.As(err, &network) {
		return line(network.Err.Error())
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return line(err.Error())
}

func line(text string) string { return strings.Join(strings.Fields(text), " ") }
