package operationsapi

import (
	"context"
	"fmt"
	"strings"
	"time"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/operations"
)

const (
	// ownNewest is how many of the caller's newest operations are looked at, and kept how
	// long a failed one waits for them.
	ownNewest = 10
	kept      = int64(24 * time.Hour / time.Microsecond)
)

// Needs are the caller's operations that failed and wait for them.
func (a *API) Needs(ctx context.Context, now int64) ([]*hubv1.NeedsYouItem, error) {
	begun, err := a.Operations.Store.Operations.ListOperations(ctx, a.Caller(ctx).ID, nil, ownNewest)
	return failedOperations(begun, now), err
}

// failedOperations are those of the last day that ended with failures and were not
// retried. They come newest first.
func failedOperations(begun []operations.Operation, now int64) (items []*hubv1.NeedsYouItem) {
	retried := ""
	for _, o := range begun {
		if o.State == operations.Failed && now-o.EndedAt < kept && !strings.Contains(retried, o.ID) {
			items = append(items, &hubv1.NeedsYouItem{
				Kind: "operation_failed", Title: fmt.Sprintf("Your operation %s failed for %d of %d services.", o.Action, o.Failed, o.Total), Count: 1, Examples: []string{o.ID},
				Href: "/operations/" + o.ID, Command: "axle operations get " + o.ID, Since: o.EndedAt,
			})
		}
		retried += o.Selection + "\n"
	}
	return items
}
