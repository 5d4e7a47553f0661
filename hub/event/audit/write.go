package audit

import (
	"context"
	"strconv"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/hashchain"
)

// write appends one batch to the chain, after a record of what was lost before
// it.
func (l *Log) write(batch []waiting, lost int64, stopping bool) error {
	limit := writeLimit
	if stopping {
		limit = closeLimit
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if lost > 0 {
		gap := Record{
			At: clock.Micros(l.config.Clock.Now()), Actor: "hub", ActorKind: "hub", Action: ActionGap, Result: ResultOK,
			Detail: map[string]string{"lost": strconv.FormatInt(lost, 10)},
		}
		text, err := gap.encode()
		if err != nil {
			return err
		}
		batch = append([]waiting{{columns: gap.columns(), text: text}}, batch...)
	}
	var last hashchain.End
	err := l.config.Chain.AppendAudit(ctx, func(end hashchain.End) ([]Row, error) {
		rows := make([]Row, len(batch))
		for i, w := range batch {
			rows[i] = Row{Line: hashchain.Next(end, w.text), Columns: w.columns}
			end = rows[i].End()
		}
		last = end
		return rows, nil
	})
	if err == nil {
		l.mu.Lock()
		l.last = last
		l.mu.Unlock()
		l.wake()
	}
	return err
}

// written returns the last row that this process wrote, zero when there is
// none. It needs no file, so a chain that was cut short since the last
// checkpoint is noticed as well.
func (l *Log) written() hashchain.End {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func (l *Log) wake() {
	select {
	case l.grown <- struct{}{}:
	default:
	}
}
