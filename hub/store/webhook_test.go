package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

func newHook(t *testing.T, s *store.Store, w gitcache.Webhook, secret string) gitcache.Webhook {
	t.Helper()
	made, err := s.CreateWebhook(t.Context(), w, secret)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestWebhooksAreKept(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s, ctx := d.Open(t), t.Context()
		r, err := s.CreateRepository(ctx, gitcache.Repository{ID: "repo_1", Name: "main", Kind: record.Git, URL: "https://git.example.test/main"}, gitcache.Credentials{})
		if err != nil {
			t.Fatal(err)
		}
		second := newHook(t, s, gitcache.Webhook{ID: "wh_2", Name: "second", Provider: "github", RepositoryID: r.ID}, "s3cret two")
		first := newHook(t, s, gitcache.Webhook{ID: "wh_1", Name: "first", Provider: "gitlab"}, "s3cret one")
		if first.CreatedAt.IsZero() || !first.DeliveredAt.IsZero() {
			t.Errorf("made %+v", first)
		}
		all, err := s.Webhooks(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]gitcache.Webhook{first, second}, all); diff != "" {
			t.Errorf("by name (-want +got):\n%s", diff)
		}
		for id, want := range map[string]string{"wh_1": "s3cret one", "wh_2": "s3cret two"} {
			if w, secret, err := s.WebhookSecret(ctx, id); err != nil || secret != want || w.ID != id {
				t.Errorf("%s: %+v, secret is right %v, %v", id, w, secret == want, err)
			}
		}
		if err := s.NoteDelivery(ctx, "wh_1", "kicked main\x00"); err != nil {
			t.Fatal(err)
		}
		w, _, err := s.WebhookSecret(ctx, "wh_1")
		if err != nil || w.Outcome != "kicked main" || time.Since(w.DeliveredAt).Abs() > time.Hour {
			t.Errorf("after a delivery %+v, %v", w, err)
		}
		if err := s.DeleteWebhook(ctx, "first"); err != nil {
			t.Fatal(err)
		}
		if all, err = s.Webhooks(ctx); err != nil || len(all) != 1 || all[0].ID != "wh_2" {
			t.Errorf("after one was deleted %+v, %v", all, err)
		}
	})
}

func TestWebhooksThatCannotBe(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s, ctx := d.Open(t), t.Context()
		newHook(t, s, gitcache.Webhook{ID: "wh_1", Name: "one", Provider: "github"}, "secret")
		for name, tc := range map[string]struct {
			w    gitcache.Webhook
			want errcode.Code
		}{
			"name taken":    {gitcache.Webhook{ID: "wh_2", Name: "one", Provider: "github"}, errcode.Conflict},
			"no repository": {gitcache.Webhook{ID: "wh_3", Name: "three", Provider: "github", RepositoryID: "repo_9"}, errcode.NotFound},
		} {
			if _, err := s.CreateWebhook(ctx, tc.w, "secret"); !errcode.Is(err, tc.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, _, err := s.WebhookSecret(ctx, "wh_9"); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("unknown: %v", err)
		}
		if err := s.DeleteWebhook(ctx, "nine"); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("unknown is deleted: %v", err)
		}
		if err := s.NoteDelivery(ctx, "wh_9", "late"); err != nil {
			t.Errorf("delivery of a webhook that is gone: %v", err)
		}
	})
}
