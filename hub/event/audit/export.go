package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/axle-cd/axle/internal/hashchain"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// exportPause is the longest time between two checks for rows that other
	// replicas wrote.
	exportPause = 5 * time.Second
	// exportRows and exportBytes limit what is sent at once.
	exportRows  = 500
	exportBytes = 1 << 20
)

// Sink receives lines of JSON. Lines may be sent again after a failure.
type Sink interface {
	// Send returns nil when the lines are stored; each ends with a newline.
	Send(ctx context.Context, lines []byte) error
}

// Export copies the log to its sink until the context ends, from where it
// stopped: rows in order, with the checkpoints between them. The database is
// its queue. It retries with growing pauses. When retention dropped rows before
// the sink had them, a separate line says which are missing. Each line is sent
// at least once.
func (l *Log) Export(ctx context.Context) error {
	if l.config.Sink == nil {
		<-ctx.Done()
		return nil
	}
	backoff := jitter.Backoff{Min: time.Second, Max: 2 * time.Minute}
	for ctx.Err() == nil {
		more, err := l.exportSome(ctx)
		if err != nil {
			if ctx.Err() == nil {
				l.config.Log.Warn("the audit log was not exported; trying again later", logkey.Error, err)
			}
			// The loop ends with the context.
			_ = jitter.Wait(ctx, backoff.Next())
			continue
		}
		backoff.Reset()
		if more {
			continue
		}
		timer := time.NewTimer(jitter.Around(exportPause, exportPause/5))
		select {
		case <-l.grown:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return nil
}

// exportSome sends one batch and reports whether there may be more.
func (l *Log) exportSome(ctx context.Context) (more bool, err error) {
	at, err := l.config.Cursors.AuditCursor(ctx, l.config.SinkName)
	if err != nil {
		return false, err
	}
	rows, err := l.config.Chain.AuditRows(ctx, Query{After: at, Limit: exportRows})
	if err != nil || len(rows) == 0 {
		return false, err
	}
	// Checkpoints after these rows are sent with the rows that follow.
	points, err := l.config.Checkpoints.AuditCheckpoints(ctx)
	if err != nil {
		return false, err
	}
	var lines bytes.Buffer
	out := json.NewEncoder(&lines)
	if first := rows[0].Sequence; first != at+1 {
		gap := hashchain.Gap{From: at + 1, To: first - 1, Reason: "dropped by retention before they were exported"}
		l.config.Log.Error("audit records were dropped by retention before they were exported", "from", gap.From, "to", gap.To)
		if err := out.Encode(hashchain.Exported{Gap: &gap}); err != nil {
			return false, err
		}
	}
	last := at
	for _, row := range rows {
		if err := l.exportRow(out, row, points, last); err != nil {
			return false, err
		}
		if last = row.Sequence; lines.Len() > exportBytes {
			break
		}
	}
	if err := l.config.Sink.Send(ctx, lines.Bytes()); err != nil {
		return false, err
	}
	return true, l.config.Cursors.PutAuditCursor(ctx, l.config.SinkName, last)
}

// exportRow writes a row after the checkpoints of the previous row, which had
// no following row when they were made.
func (l *Log) exportRow(out *json.Encoder, row Row, points []hashchain.Checkpoint, before int64) error {
	for i := range points {
		if c := points[i]; c.Kind == hashchain.KindSeen && c.Sequence == before && before > 0 {
			if err := out.Encode(hashchain.Exported{Checkpoint: &c}); err != nil {
				return fmt.Errorf("encode a checkpoint: %w", err)
			}
		}
	}
	line := row.Line
	if err := out.Encode(hashchain.Exported{Line: &line}); err != nil {
		return fmt.Errorf("encode audit record %d: %w", row.Sequence, err)
	}
	return nil
}
