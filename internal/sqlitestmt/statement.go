// Package sqlitestmt opens SQLite so that each connection caches its compiled
// statements: the driver parses and plans each query again, which costs more than
// running it. hub/store calls it.
package sqlitestmt

import (
	"container/list"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// keptStatements is how many compiled statements each connection caches: more than
// the store has, because lists of ids turn one statement into several.
const keptStatements = 128

// connector opens connections that cache their compiled statements. Without it each
// query is parsed and planned again, which costs more than running it.
type connector struct {
	driver driver.Driver
	url    string
}

// Open returns the pool of a URL. The driver "sqlite" must be linked in.
func Open(url string) (*sql.DB, error) {
	plain, err := sql.Open("sqlite", url)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(&connector{plain.Driver(), url}), plain.Close()
}

// Connect implements driver.Connector.
func (c *connector) Connect(context.Context) (driver.Conn, error) {
	opened, err := c.driver.Open(c.url)
	if err != nil {
		return nil, err
	}
	inner, ok := opened.(driverConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the SQLite driver's %T lacks a required method", opened), opened.Close())
	}
	return &conn{driverConn: inner, kept: map[string]*list.Element{}, order: list.New()}, nil
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return c.driver }

// driverConn is the used part of a driver's connection.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// conn is a connection with its most recently used statements. It is used by one
// caller at a time.
type conn struct {
	driverConn
	kept  map[string]*list.Element
	order *list.List // of *statement, most recently used first
}

// statement is one cached statement.
type statement struct {
	query string
	stmt  driverStmt
	busy  bool // its rows are being read
}

type driverStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// statement returns an unused statement for a query, nil if the query should run
// without one.
func (c *conn) statement(ctx context.Context, query string, args []driver.NamedValue) *statement {
	if e := c.kept[query]; e != nil {
		s, ok := e.Value.(*statement)
		if !ok || s.busy {
			return nil
		}
		c.order.MoveToFront(e)
		return s
	}
	if len(args) == 0 {
		return nil // such as migration scripts and pragmas
	}
	prepared, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil // running it gives the same error
	}
	stmt, ok := prepared.(driverStmt)
	if !ok {
		_ = prepared.Close()
		return nil
	}
	s := &statement{query: query, stmt: stmt}
	c.kept[query] = c.order.PushFront(s)
	for e := c.order.Back(); e != nil && c.order.Len() > keptStatements; {
		before := e.Prev()
		if old, ok := e.Value.(*statement); ok && !old.busy {
			c.drop(old)
		}
		e = before
	}
	return s
}

// drop removes a statement from the cache.
func (c *conn) drop(s *statement) {
	if e := c.kept[s.query]; e != nil && e.Value == s {
		delete(c.kept, s.query)
		c.order.Remove(e)
	}
	_ = s.stmt.Close() // its last caller already got the error
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s := c.statement(ctx, query, args)
	if s == nil {
		return c.driverConn.ExecContext(ctx, query, args)
	}
	result, err := s.stmt.ExecContext(ctx, args)
	if err != nil {
		c.drop(s)
	}
	return result, err
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s := c.statement(ctx, query, args)
	if s == nil {
		return c.driverConn.QueryContext(ctx, query, args)
	}
	rows, err := s.stmt.QueryContext(ctx, args)
	if err != nil {
		c.drop(s)
		return nil, err
	}
	s.busy = true
	return &keptRows{rows, c, s}, nil
}

// Close implements driver.Conn.
func (c *conn) Close() error {
	for e := c.order.Front(); e != nil; e = e.Next() {
		if s, ok := e.Value.(*statement); ok {
			_ = s.stmt.Close() // the error of closing the connection decides
		}
	}
	clear(c.kept)
	c.order.Init()
	return c.driverConn.Close()
}

// keptRows are the rows of a cached statement.
type keptRows struct {
	driver.Rows
	conn *conn
	of   *statement
}

// Close implements driver.Rows and frees the statement for the next caller.
func (r *keptRows) Close() error {
	err := r.Rows.Close()
	r.of.busy = false
	if err != nil {
		r.conn.drop(r.of)
	}
	return err
}
