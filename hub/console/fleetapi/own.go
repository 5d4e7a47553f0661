package fleetapi

import (
	"context"
	"fmt"
	"strings"
	"time"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/operations"
)

const (
	// ownOperations is how many of the caller's newest operations are looked at, and
	// operationsKept how long a failed one waits for them.
	ownOperations  = 10
	operationsKept = int64(24 * time.Hour / time.Microsecond)
	// Tokens that were made for longLived are announced a week before they end: those
	// of a pipeline's run end within hours, and nobody waits for that.
	longLived = int64(14 * 24 * time.Hour / time.Microsecond)
	announced = int64(7 * 24 * time.Hour / time.Microsecond)
)

// Own reads what concerns the caller alone: their newest operations, and their tokens.
type Own struct {
	Caller     func(ctx context.Context) identity.Principal
	Operations func(ctx context.Context, actorID string, after *operations.Operation, limit int) ([]operations.Operation, error)
	Tokens     func(ctx context.Context, by identity.Principal) ([]identity.Token, error)
}

// needs are the caller's failed operations and the tokens of theirs that end.
func (o Own) needs(ctx context.Context, now int64) ([]*hubv1.NeedsYouItem, error) {
	me := o.Caller(ctx)
	begun, err := o.Operations(ctx, me.ID, nil, ownOperations)
	if err != nil {
		return nil, err
	}
	// Not everybody's, which an administrator may list too.
	me.Admin = false
	tokens, err := o.Tokens(ctx, me)
	if err != nil {
		return nil, err
	}
	return append(failedOperations(begun, now), expiringTokens(tokens, now)...), nil
}

// failedOperations are those of the last day that ended with failures and were not
// retried. They come newest first.
func failedOperations(begun []operations.Operation, now int64) (items []*hubv1.NeedsYouItem) {
	retried := ""
	for _, o := range begun {
		if o.State == operations.Failed && now-o.EndedAt < operationsKept && !strings.Contains(retried, o.ID) {
			items = append(items, &hubv1.NeedsYouItem{
				Kind: "operation_failed", Title: fmt.Sprintf("Your operation %s failed for %d of %d services.", o.Action, o.Failed, o.Total), Count: 1, Examples: []string{o.ID},
				Href: "/operations/" + o.ID, Command: "axle operations get " + o.ID, Since: o.EndedAt,
			})
		}
		retried += o.Selection + "\n"
	}
	return items
}

func expiringTokens(tokens []identity.Token, now int64) (items []*hubv1.NeedsYouItem) {
	for _, t := range tokens {
		if t.Kind != identity.TokenAPI || t.ExpiresAt == 0 || t.ExpiresAt-t.CreatedAt < longLived || t.ExpiresAt-now > announced || t.Expired(now) {
			continue
		}
		left := max(1, (t.ExpiresAt-now)/int64(24*time.Hour/time.Microsecond))
		unit := "days"
		if left == 1 {
			unit = "day"
		}
		items = append(items, &hubv1.NeedsYouItem{
			Kind: "token_expires", Title: fmt.Sprintf("Your token %s ends in %d %s.", t.Name, left, unit), Message: "Create another one and put it where this one is used.", Count: 1, Examples: []string{t.Name},
			Href: "/settings/tokens", Command: "axle tokens create " + t.Name,
		})
	}
	return items
}
