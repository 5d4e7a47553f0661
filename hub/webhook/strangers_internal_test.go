package webhook

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// counted has one webhook, and counts how often it is asked.
type counted struct{ asked int }

func (c *counted) WebhookSecret(_ context.Context, id string) (gitcache.Webhook, string, error) {
	c.asked++
	if id != "known" {
		return gitcache.Webhook{}, "", errcode.New(errcode.NotFound, "this webhook does not exist")
	}
	return gitcache.Webhook{ID: id}, "secret", nil
}

func (*counted) NoteDelivery(context.Context, string, string) error { return nil }

// TestUnknownWebhooksCostLittle sends to ids that do not exist: the database is asked at a
// bounded rate, and webhooks that exist are neither refused nor forgotten.
func TestUnknownWebhooksCostLittle(t *testing.T) {
	now := clock.NewManual(time.Unix(1e9, 0))
	store := &counted{}
	k := newKnown(store, now)
	get := func(id string) errcode.Code {
		_, _, err := k.get(t.Context(), id)
		return errcode.Of(err)
	}
	if code := get("known"); code != "" {
		t.Fatalf("the webhook is refused: %s", code)
	}
	refused := 0
	for n := range 100_000 {
		if get(fmt.Sprint("made-up-", n)) == errcode.Exhausted {
			refused++
		}
	}
	if store.asked > 1+strangersBurst || refused < 90_000 {
		t.Errorf("the database was asked %d times, %d deliveries were refused", store.asked, refused)
	}
	asked := store.asked
	if code := get("known"); code != "" || store.asked != asked {
		t.Errorf("the webhook was forgotten, or is refused: %s", code)
	}
	now.Advance(knownFor)
	for n := range 1000 {
		get(fmt.Sprint("more-", n))
	}
	if code := get("known"); code != "" {
		t.Errorf("the webhook is refused while strangers send: %s", code)
	}
}
