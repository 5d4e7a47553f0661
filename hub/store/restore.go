package store

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store/sqldb"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/seal"
)

const (
	// restoreRows is how many rows one statement inserts.
	restoreRows = 100
	// restoreLine limits one line of a backup: one row.
	restoreLine = 64 << 20
)

// Restore replaces all rows with those of a backup and begins a new incarnation
// that a person must confirm, so that no agent deletes anything that the backup
// does not know. It is refused while a hub runs on the database
// (errcode.Conflict), and changes nothing when it fails.
func Restore(ctx context.Context, c Config, r io.Reader) (event.Incarnation, error) {
	s, err := open(ctx, c, sqldb.Alone)
	if err != nil {
		return event.Incarnation{}, err
	}
	next, err := s.restore(ctx, c, r)
	return next, errors.Join(err, s.Close())
}

func (s *Store) restore(ctx context.Context, c Config, r io.Reader) (next event.Incarnation, err error) {
	if err := s.db.Migrate(ctx, Schema()); err != nil {
		return next, err
	}
	in, done, err := openBackup(r)
	if err != nil {
		return next, err
	}
	defer done()
	header, err := in.header()
	if err != nil {
		return next, err
	}
	err = s.db.Once(ctx, func(ctx context.Context) error {
		next, err = s.replaceAll(ctx, c, in, header)
		return err
	})
	if err != nil {
		return event.Incarnation{}, fmt.Errorf("restore: %w", err)
	}
	return next, nil
}

// replaceAll does all the work inside one transaction.
func (s *Store) replaceAll(ctx context.Context, c Config, in *backupReader, header backupHeader) (next event.Incarnation, err error) {
	replaced, _, err := rowOf(ctx, s, value[string], "SELECT COALESCE(max(id), '') FROM incarnations")
	if err != nil {
		return next, err
	}
	tables, err := s.tables(ctx)
	if err != nil {
		return next, err
	}
	for name := range notBackedUp {
		if _, err := s.exec(ctx, "DELETE FROM "+name); err != nil {
			return next, err
		}
	}
	for _, t := range slices.Backward(tables) {
		if _, err := s.exec(ctx, "DELETE FROM "+t.Table); err != nil {
			return next, fmt.Errorf("empty table %s: %w", t.Table, err)
		}
	}
	if err := s.insertAll(ctx, in, tables); err != nil {
		return next, err
	}
	if err := s.sameKey(ctx, c); err != nil {
		return next, err
	}
	// Holders from the backup are gone, and epochs stay. When upstreams were
	// last contacted is unknown: perhaps just now.
	if _, err := s.exec(ctx, "UPDATE repository_leases SET replica = '', boot = '', expires_at = 0, fetch_started_at = {now}"); err != nil {
		return next, err
	}
	if err := errors.Join(forgetReads(ctx, s), forgetReports(ctx, s), s.Restored(ctx)); err != nil {
		return next, err
	}
	if err := s.SetSetting(ctx, settingMinor, strconv.Itoa(SchemaMinor)); err != nil {
		return next, err
	}
	return s.restoredIncarnation(ctx, header, replaced)
}

// restoredIncarnation begins the incarnation after the backup's. It sorts after
// every one that the backup or the replaced database knows, and claims to keep
// nothing of its parent: however young the backup, an agent of any version then
// treats it as a restore and deletes nothing.
func (s *Store) restoredIncarnation(ctx context.Context, header backupHeader, replaced string) (next event.Incarnation, err error) {
	start := s.clock.Now().Truncate(time.Microsecond) // with the precision of an id
	youngest, err := newest(ctx, s)
	if err != nil {
		return next, err
	}
	for _, t := range []time.Time{incarnationStart(header.Incarnation), incarnationStart(replaced), youngest} {
		if !t.Before(start) {
			start = t.Add(time.Microsecond)
		}
	}
	next = event.Incarnation{ID: incarnationID(start), StartedAt: start, ParentID: header.Incarnation}
	if err := s.insertIncarnation(ctx, next); err != nil {
		return next, err
	}
	first := []event.Change{{Kind: event.KindIncarnation, Key: next.ID}}
	return next, s.insertChanges(ctx, event.Position{Incarnation: next.ID, Sequence: 1}, clock.Micros(start), first)
}

// sameKey checks that the key file here, if there is one, opens the backup's
// secrets.
func (s *Store) sameKey(ctx context.Context, c Config) error {
	path := c.keyFile()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("the key file does not exist; put the key file of the backed up hub there before the hub starts", "file", path)
		return nil
	}
	var err error
	if s.sealer, err = seal.OpenFile(path); err != nil {
		return err
	}
	return s.checkKey(ctx, path)
}

// backupReader reads lines and hashes them.
type backupReader struct {
	hash  hash.Hash
	lines *bufio.Reader
	rows  int64
}

// openBackup unpacks a backup, as a stream, until done is called.
func openBackup(r io.Reader) (in *backupReader, done func(), err error) {
	unpacked, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return nil, nil, fmt.Errorf("unpack the backup: %w", err)
	}
	return &backupReader{hash: sha256.New(), lines: bufio.NewReaderSize(unpacked, 64<<10)}, unpacked.Close, nil
}

func damaged(why string, args ...any) error {
	return errcode.New(errcode.Invalid, "this is not a whole backup of a hub: "+why+"; use another file", args...)
}

// line returns the next line; sum is the hash of all before it.
func (b *backupReader) line() (text []byte, sum string, err error) {
	for {
		part, err := b.lines.ReadSlice('\n')
		text = append(text, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) || len(text) > restoreLine {
			if errors.Is(err, io.EOF) {
				return nil, "", damaged("it ends too early")
			}
			return nil, "", damaged("%w", err)
		}
	}
	sum = hex.EncodeToString(b.hash.Sum(nil))
	b.hash.Write(text)
	return text, sum, nil
}

func (b *backupReader) header() (h backupHeader, err error) {
	text, _, err := b.line()
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(text, &h); err != nil || h.Format != backupFormat {
		return h, damaged("its first line is not that of a backup")
	}
	if h.Version != backupVersion || h.Minor > SchemaMinor {
		return h, errcode.New(errcode.Conflict, "the backup was made by version 0.%d and this is 0.%d; restore it with that version or a newer one", h.Minor, SchemaMinor)
	}
	return h, nil
}

// insertAll inserts all rows and checks the last line.
func (s *Store) insertAll(ctx context.Context, in *backupReader, known []backupTable) error {
	var table inserter
	for {
		text, sum, err := in.line()
		if err != nil {
			return err
		}
		if bytes.HasPrefix(text, []byte("[")) {
			in.rows++
			if err := table.add(ctx, s, text); err != nil {
				return err
			}
			continue
		}
		if err := table.flush(ctx, s); err != nil {
			return err
		}
		var start struct {
			backupTable
			backupEnd
		}
		if err := json.Unmarshal(text, &start); err != nil {
			return damaged("a line is not JSON")
		}
		if start.Table == "" {
			if start.SHA256 != sum || start.Rows != in.rows {
				return damaged("its check sum is wrong")
			}
			return nil
		}
		if table, err = newInserter(start.backupTable, known); err != nil {
			return err
		}
	}
}

// inserter inserts the rows of one table, many at a time.
type inserter struct {
	backupTable
	values []any
}

// newInserter checks that every name is part of our own schema.
func newInserter(t backupTable, known []backupTable) (inserter, error) {
	for _, k := range known {
		if k.Table != t.Table {
			continue
		}
		for _, column := range t.Columns {
			if !slices.Contains(k.Columns, column) {
				return inserter{}, damaged("table %.50q has no column %.50q", t.Table, column)
			}
		}
		return inserter{backupTable: t}, nil
	}
	return inserter{}, damaged("there is no table %.50q", t.Table)
}

func (i *inserter) add(ctx context.Context, s *Store, text []byte) error {
	row, err := rowValues(text)
	if err != nil || len(row) != len(i.Columns) || i.Table == "" {
		return damaged("a row of table %q does not match the table", i.Table)
	}
	i.values = append(i.values, row...)
	if len(i.values) >= restoreRows*len(i.Columns) {
		return i.flush(ctx, s)
	}
	return nil
}

// rowValues are those of a line of a row: texts and whole numbers.
func rowValues(text []byte) (row []any, err error) {
	if err := bounded.CheckJSON(text, &row, bounded.Most(len(text))); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&row); err != nil {
		return nil, err
	}
	for n, v := range row {
		if number, ok := v.(json.Number); ok {
			if row[n], err = number.Int64(); err != nil {
				return nil, err
			}
		}
	}
	return row, nil
}

func (i *inserter) flush(ctx context.Context, s *Store) error {
	if len(i.values) == 0 {
		return nil
	}
	var q strings.Builder
	fmt.Fprintf(&q, "INSERT INTO %s (%s) VALUES ", i.Table, strings.Join(i.Columns, ", "))
	for at := 0; at < len(i.values); at += len(i.Columns) {
		if at > 0 {
			q.WriteString(", ")
		}
		q.WriteString("(" + placeholders(at+1, len(i.Columns)) + ")")
	}
	_, err := s.exec(ctx, q.String(), i.values...)
	i.values = i.values[:0]
	if err != nil {
		return fmt.Errorf("insert into table %s: %w", i.Table, err)
	}
	return nil
}
