package drift

import (
	"context"
	"time"
)

// CompareNow compares the objects of kinds that cannot be watched, as if they were
// due.
func (w *Watcher) CompareNow(ctx context.Context) {
	w.compareUnknown(ctx, time.Now().Add(2*compareEvery))
}
