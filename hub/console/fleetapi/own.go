package fleetapi

import (
	"context"
	"fmt"
	"time"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/identity"
)

const (
	// Tokens that were made for longLived are announced a week before they end: those
	// of a pipeline's run end within hours, and nobody waits for that.
	longLived = int64(14 * 24 * time.Hour / time.Microsecond)
	announced = int64(7 * 24 * time.Hour / time.Microsecond)
)

// Own reads what concerns the caller alone.
type Own struct {
	Caller func(ctx context.Context) identity.Principal
	// Operations are those of the caller's operations that need them.
	Operations func(ctx context.Context, now int64) ([]*hubv1.NeedsYouItem, error)
	Tokens     func(ctx context.Context, by identity.Principal) ([]identity.Token, error)
}

// needs are the caller's failed operations and the tokens of theirs that end.
func (o Own) needs(ctx context.Context, now int64) ([]*hubv1.NeedsYouItem, error) {
	items, err := o.Operations(ctx, now)
	if err != nil {
		return nil, err
	}
	me := o.Caller(ctx)
	// Not everybody's, which an administrator may list too.
	me.Admin = false
	tokens, err := o.Tokens(ctx, me)
	if err != nil {
		return nil, err
	}
	return append(items, expiringTokens(tokens, now)...), nil
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
