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
	if id != "known" && id != "second" {
		return gitcache.Webhook{}, "", errcode.New(errcode.NotFound, "this webhook does not exist")
	}
	return gitcache.Webhook{ID: id}, "secret", nil
}

func (c *counted) Webhooks(context.Context) ([]gitcache.Webhook, error) {
	c.asked++
	return []gitcache.Webhook{{ID: "known"}, {ID: "second"}}, nil
}

func (*counted) NoteDelivery(context.Context, string, string) error { return nil }

// TestUnknownWebhooksCostLittle sends to ids that do not exist: the database is asked once
// a second, and webhooks that exist are neither refused nor forgotten.
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
	for n := range 100_000 {
		if code := get(fmt.Sprint("made-up-", n)); code != errcode.NotFound {
			t.Fatalf("a made-up id gets %q", code)
		}
	}
	if store.asked != 2 {
		t.Errorf("the database was asked %d times", store.asked)
	}
	// A webhook that this replica has not answered yet is no stranger's.
	if code := get("second"); code != "" || store.asked != 3 {
		t.Errorf("another webhook is refused: %s", code)
	}
	now.Advance(knownFor)
	for n := range 1000 {
		get(fmt.Sprint("more-", n))
	}
	if code := get("known"); code != "" {
		t.Errorf("the webhook is refused while strangers send: %s", code)
	}
}
