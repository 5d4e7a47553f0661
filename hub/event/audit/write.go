package audit

import (
	"context"
	"strconv"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/hashchain"
)

// write puts one batch at the end of the chain, behind a record of what was
// lost before it.
func (l *Log) write(batch []waiting, lost int64, stopping bool) error {
	limit := writeLimit
	if stopping {
		limit = closeLimit
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if lost > 0 {
		gap := Record{
			At: clock.Micros(l.Clock.Now()), Actor: "hub", ActorKind: "hub", Action: ActionGap, Result: ResultOK,
			Detail: map[string]string{"lost": strconv.FormatInt(lost, 10)},
		}
		text, err := gap.encode()
		if err != nil {
			return err
		}
		batch = append([]waiting{{columns: gap.columns(), text: text}}, batch...)
	}
	err := l.Store.AppendAudit(ctx, func(end hashchain.End) ([]Row, error) {
		rows := make([]Row, len(batch))
		for i, w := range batch {
			rows[i] = Row{Line: hashchain.Next(end, w.text), Columns: w.columns}
			end = rows[i].End()
		}
		return rows, nil
	})
	if err == nil {
		l.wake()
	}
	return err
}

func (l *Log) wake() {
	select {
	case l.grown <- struct{}{}:
	default:
	}
}
