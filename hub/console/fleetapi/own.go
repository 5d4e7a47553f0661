package fleetapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

// Own reads what concerns the caller alone, and what nobody else would be told of.
type Own struct {
	Caller func(ctx context.Context) identity.Principal
	// Operations are those of the caller's operations that need them.
	Operations func(ctx context.Context, now int64) ([]*hubv1.NeedsYouItem, error)
	Tokens     func(ctx context.Context, by identity.Principal) ([]identity.Token, error)
	// Ending are the tokens of service accounts that end within a time and were made for
	// at least life, for who may replace them.
	Ending func(ctx context.Context, by identity.Principal, within, life int64) ([]identity.Token, error)
}

// needs are the caller's failed operations, and tokens that end: the caller's, and for an
// administrator those of service accounts.
func (o Own) needs(ctx context.Context, now int64) ([]*hubv1.NeedsYouItem, error) {
	items, err := o.Operations(ctx, now)
	if err != nil {
		return nil, err
	}
	me := o.Caller(ctx)
	accounts, err := o.Ending(ctx, me, announced, longLived)
	if err != nil {
		return nil, err
	}
	// Not everybody's, which an administrator may list too.
	me.Admin = false
	tokens, err := o.Tokens(ctx, me)
	if err != nil {
		return nil, err
	}
	return slices.Concat(items, expiringTokens(tokens, now), endingTokens(accounts, now)), nil
}

func expiringTokens(tokens []identity.Token, now int64) (items []*hubv1.NeedsYouItem) {
	for _, t := range tokens {
		if t.Kind != identity.TokenAPI || t.ExpiresAt == 0 || t.ExpiresAt-t.CreatedAt < longLived || t.ExpiresAt-now > announced || t.Expired(now) {
			continue
		}
		items = append(items, tokenEnds(t, now, "Your token "+t.Name, "/settings/tokens", "axle tokens create "+t.Name))
	}
	return items
}

// endingTokens are of service accounts, which nobody reads the home page as.
func endingTokens(tokens []identity.Token, now int64) (items []*hubv1.NeedsYouItem) {
	for _, t := range tokens {
		items = append(items, tokenEnds(t, now, "Token "+t.Name+" of service account "+t.OwnerName, "/settings/service-accounts", "axle serviceaccounts token "+t.OwnerName+" --scope "+strings.Join(t.Scopes, ",")))
	}
	return items
}

func tokenEnds(t identity.Token, now int64, whose, href, command string) *hubv1.NeedsYouItem {
	left := max(1, (t.ExpiresAt-now)/int64(24*time.Hour/time.Microsecond))
	unit := "days"
	if left == 1 {
		unit = "day"
	}
	return &hubv1.NeedsYouItem{
		Kind: "token_expires", Title: fmt.Sprintf("%s ends in %d %s.", whose, left, unit), Message: "Create another one and put it where this one is used.", Count: 1, Examples: []string{t.Name},
		Href: href, Command: command,
	}
}
