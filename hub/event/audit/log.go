package audit

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/hashchain"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// DefaultRetention is how long records are kept.
	DefaultRetention = 30 * 24 * time.Hour
	// window is how long a record of Add waits for more records.
	window = 100 * time.Millisecond
	// batchSize is the most records in one transaction.
	batchSize = 500
	// maxWaiting and maxWaitingBytes limit the waiting records.
	maxWaiting      = 4096
	maxWaitingBytes = 16 << 20
	// writeLimit limits one transaction.
	writeLimit = 20 * time.Second
	// closeLimit limits writing the waiting records when the hub stops.
	closeLimit = 5 * time.Second
)

// ActionGap is the action of the record that says how many records were lost.
const ActionGap = "audit.gap"

// Signer signs checkpoints; hub/identity implements it.
type Signer interface {
	// SignCheckpoint signs with the key in force and returns the key's id.
	SignCheckpoint(ctx context.Context, payload []byte) (keyID string, signature []byte, err error)
	// CheckpointKeys returns the keys that may have signed, by id: those in
	// force and those that were retired.
	CheckpointKeys(ctx context.Context) (map[string]ed25519.PublicKey, error)
}

// Config configures a Log. Chain, Checkpoints, Cursors and Signer are required.
type Config struct {
	Chain       Chain
	Checkpoints Checkpoints
	Cursors     Cursors
	Signer      Signer
	// Retention is how long records are kept; zero is DefaultRetention.
	Retention time.Duration
	// Kept is a file of this replica with the last checkpoint that it made or
	// saw, so that it notices when the database lost rows; empty for none.
	Kept string
	// Sink is the target of Export, nil for none; SinkName is the name under
	// which its position is stored.
	Sink     Sink
	SinkName string
	// Pools has the pools; nil has them without metrics.
	Pools *pool.Set
	Clock clock.Clock
	Log   *slog.Logger
}

// Log accepts records. It is safe for concurrent use, before and after Run.
type Log struct {
	config Config
	// grown wakes exports.
	grown chan struct{}
	hurry chan struct{}

	// refusals are the records of strangers.
	refusals *pool.Rates

	// sealing ensures that one checkpoint is made at a time.
	sealing sync.Mutex

	mu      sync.Mutex
	waiting []waiting
	bytes   int
	lost    int64
	// uncounted are refused requests that neither a record nor a count has.
	uncounted int64
	flushing  bool
	closed    bool
	flushes   sync.WaitGroup
	// last is the last row that this process wrote.
	last hashchain.End
}

// waiting is an encoded record.
type waiting struct {
	columns Columns
	text    []byte
	// done receives the result for AddNow; nil for Add.
	done chan error
}

// New checks the configuration.
func New(c Config) (*Log, error) {
	if c.Chain == nil || c.Checkpoints == nil || c.Cursors == nil || c.Signer == nil {
		return nil, errors.New("audit: a log needs a store and a signer")
	}
	if c.Retention == 0 {
		c.Retention = DefaultRetention
	}
	if c.Retention < time.Hour {
		return nil, errcode.New(errcode.Invalid, "audit records are kept for an hour at least, not %s; set --audit-retention", c.Retention)
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Log{config: c, refusals: newRefusals(c.Pools, c.Clock), grown: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}, nil
}

// Add accepts a record and returns at once. While the database is unavailable,
// records wait; the oldest that no longer fit are counted as lost.
func (l *Log) Add(ctx context.Context, r Record) {
	w, err := l.encode(r, nil)
	if err == nil {
		err = l.put(w)
	}
	if err != nil {
		l.config.Log.WarnContext(ctx, "an audit record was lost", logkey.Method, r.Action, logkey.Error, err)
	}
}

// AddNow accepts a record and returns when it is durable. Unavailable when it
// is not, or when too many records wait; the record may have been written
// nevertheless.
func (l *Log) AddNow(ctx context.Context, r Record) error {
	w, err := l.encode(r, make(chan error, 1))
	if err != nil {
		return err
	}
	if err := l.put(w); err != nil {
		return err
	}
	select {
	case l.hurry <- struct{}{}:
	default:
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Log) encode(r Record, done chan error) (waiting, error) {
	if r.At == 0 {
		r.At = clock.Micros(l.config.Clock.Now())
	}
	r = r.bounded()
	text, err := r.encode()
	return waiting{r.columns(), text, done}, err
}

func (l *Log) put(w waiting) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	full := len(l.waiting) >= maxWaiting || l.bytes+len(w.text) > maxWaitingBytes
	if l.closed || full {
		if w.done == nil {
			l.lost++
		}
		if l.closed {
			return errcode.New(errcode.Unavailable, "the hub is stopping; try again").After(time.Second)
		}
		return errcode.New(errcode.Unavailable, "the audit log cannot be written now, so the call was not made; try again in five seconds").After(5 * time.Second)
	}
	l.waiting, l.bytes = append(l.waiting, w), l.bytes+len(w.text)
	if !l.flushing {
		l.flushing = true
		l.flushes.Add(1)
		go l.flush()
	}
	return nil
}

// flush writes waiting records until none is left.
func (l *Log) flush() {
	defer l.flushes.Done()
	backoff := jitter.Backoff{Min: window, Max: 5 * time.Second}
	pause := window
	for {
		l.pause(pause)
		batch, lost, stopping := l.take()
		if len(batch) == 0 && lost == 0 {
			return
		}
		err := l.write(batch, lost, stopping)
		if err == nil {
			backoff.Reset()
			pause = window
			l.answer(batch, nil)
			continue
		}
		l.config.Log.Warn("audit records wait for the database", logkey.Count, len(batch), logkey.Error, err)
		l.giveBack(batch, lost, err, stopping)
		pause = backoff.Next()
	}
}

// pause waits for further records unless a caller waits for its record, a batch
// is full, or the log is closed.
func (l *Log) pause(d time.Duration) {
	l.mu.Lock()
	now := l.closed || len(l.waiting) >= batchSize && d == window
	l.mu.Unlock()
	if now {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.hurry:
	}
}

// take returns the next batch; an empty one ends the flush.
func (l *Log) take() (batch []waiting, lost int64, stopping bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(batchSize, len(l.waiting))
	if n == 0 && l.lost == 0 {
		l.flushing = false
		return nil, 0, l.closed
	}
	batch, l.waiting = l.waiting[:n:n], l.waiting[n:]
	for _, w := range batch {
		l.bytes -= len(w.text)
	}
	lost, l.lost = l.lost, 0
	return batch, lost, l.closed
}

// giveBack returns the error to the callers of AddNow, and keeps the other
// records for another try unless the hub stops.
func (l *Log) giveBack(batch []waiting, lost int64, err error, stopping bool) {
	l.answer(batch, errcode.Hide(errcode.Unavailable, err, "the audit log cannot be written now, so the call was not made; try again in five seconds").After(5*time.Second))
	l.mu.Lock()
	defer l.mu.Unlock()
	var again []waiting
	for _, w := range batch {
		if w.done == nil {
			again = append(again, w)
			l.bytes += len(w.text)
		}
	}
	if stopping {
		l.config.Log.Error("audit records were lost: the database was unavailable when the hub stopped", logkey.Count, lost+int64(len(again)+len(l.waiting)))
		l.answer(l.waiting, errcode.New(errcode.Unavailable, "the hub is stopping; try again").After(time.Second))
		l.waiting, l.bytes, l.lost = nil, 0, 0
		return
	}
	l.lost += lost
	l.waiting = append(again, l.waiting...)
}

func (l *Log) answer(batch []waiting, err error) {
	for _, w := range batch {
		if w.done != nil {
			w.done <- err
		}
	}
}

// Close writes the waiting records, for at most 5 s, and accepts no more.
func (l *Log) Close() error {
	_ = l.count(context.Background()) // never fails
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	select {
	case l.hurry <- struct{}{}:
	default:
	}
	l.flushes.Wait()
	return nil
}
