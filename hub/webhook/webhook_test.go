package webhook_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/hub/webhook"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

const (
	patience = 60 * time.Second
	secret   = "a secret of some length"
)

// bed is a hub that polls so rarely that only webhooks make it look.
type bed struct {
	*hubtest.Hub
	git    *gitserver.Server
	cache  *gitcache.Cache
	hooks  gitcache.Webhooks
	repo   gitcache.Repository
	source gitcache.Source
}

func newBed(t *testing.T) *bed {
	t.Helper()
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = git.Close() })
	if err := git.Create(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	commit(t, git, "main", "first")
	h := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{RepoPollInterval: time.Hour, AllowHTTPUpstreams: true}})
	b := &bed{Hub: h, git: git, cache: h.Parts().Cache, hooks: gitcache.Webhooks{WebhookStore: h.Parts().Store}}
	if b.repo, err = b.cache.CreateRepository(t.Context(), gitcache.Repository{Name: "shop", URL: git.URL("shop")}, gitcache.Credentials{}); err != nil {
		t.Fatal(err)
	}
	if b.source, err = gitcache.NewSource(b.repo.ID, "main", "a", nil); err != nil {
		t.Fatal(err)
	}
	if err := b.cache.Track(t.Context(), b.source); err != nil {
		t.Fatal(err)
	}
	if err := b.cache.RefreshAndWait(t.Context(), b.repo.ID, ""); err != nil {
		t.Fatal(err)
	}
	return b
}

func commit(t *testing.T, git *gitserver.Server, branch, text string) string {
	t.Helper()
	id, err := git.Commit(t.Context(), "shop", branch, text, map[string]gitserver.Content{"a/cm.yaml": gitserver.Content(text)})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (b *bed) hook(t *testing.T, w gitcache.Webhook) gitcache.Webhook {
	t.Helper()
	made, _, err := b.hooks.Create(t.Context(), w, secret)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// send posts a delivery and returns the status and the reported outcome.
func (b *bed) send(ctx context.Context, path string, header map[string]string, body []byte) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL+path, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	raw, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return 0, "", err
	}
	var a struct{ Outcome, Message string }
	if err := json.Unmarshal(raw, &a); err != nil {
		return resp.StatusCode, "", fmt.Errorf("answer %.200s: %w", raw, err)
	}
	return resp.StatusCode, a.Outcome, nil
}

func (b *bed) mustSend(t *testing.T, path string, header map[string]string, body string, status int, outcome string) {
	t.Helper()
	gotStatus, gotOutcome, err := b.send(t.Context(), path, header, []byte(body))
	if err != nil || gotStatus != status || gotOutcome != outcome {
		t.Fatalf("status %d, outcome %q, error %v; not %d, %q", gotStatus, gotOutcome, err, status, outcome)
	}
}

func signed(body string) map[string]string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil))}
}

func (b *bed) push(ref, revision string) string {
	return fmt.Sprintf(`{"ref":"refs/heads/%s","after":"%s","repository":{"clone_url":"%s"}}`, ref, revision, b.git.URL("shop"))
}

func (b *bed) arrives(t *testing.T, revision string) {
	t.Helper()
	eventually.For(t, patience, "the head at the pushed commit", func() error {
		head, err := b.cache.Head(t.Context(), b.source.ID)
		if err == nil && head.Revision != revision {
			err = fmt.Errorf("the head is at %s", head.Revision)
		}
		return err
	})
}

func TestAPushArrivesWithoutWaitingForAPoll(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	path := webhook.Path(b.hook(t, gitcache.Webhook{Name: "all", Provider: gitcache.GitHub}))
	second := commit(t, b.git, "main", "second")
	body := b.push("main", second)
	b.mustSend(t, path, signed(body), body, http.StatusAccepted, "kicked")
	b.arrives(t, second)
	all, err := b.hooks.Webhooks(t.Context())
	if err != nil || len(all) != 1 || !strings.HasPrefix(all[0].Outcome, "kicked") || all[0].DeliveredAt.IsZero() {
		t.Errorf("the list shows %+v, error %v", all, err)
	}
}

// Replayed deliveries, even a flood of them, cost upstream nothing; neither
// does a delivery for a ref that no service follows.
func TestReplaysAndFloodsAreHarmless(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	path := webhook.Path(b.hook(t, gitcache.Webhook{Name: "all", Provider: gitcache.GitHub}))
	second := commit(t, b.git, "main", "second")
	body := b.push("main", second)
	b.mustSend(t, path, signed(body), body, http.StatusAccepted, "kicked")
	b.arrives(t, second)
	before := b.git.Count("shop", gitserver.LsRefs)
	other := b.push("feature", second)
	b.mustSend(t, path, signed(other), other, http.StatusAccepted, "uninteresting")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				status, outcome, err := b.send(t.Context(), path, signed(body), []byte(body))
				if err != nil || status != http.StatusAccepted || outcome != "replayed" {
					t.Errorf("status %d, outcome %q, error %v", status, outcome, err)
				}
			}
		})
	}
	wg.Wait()
	if after := b.git.Count("shop", gitserver.LsRefs); after != before {
		t.Errorf("replays made %d looks at upstream", after-before)
	}
	// A flood of different deliveries is a look in 5 s, after the few that may
	// follow each other, and none of it is lost.
	flooded := time.Now()
	for i := range 30 {
		body := b.push("main", fmt.Sprintf("%040d", i))
		b.mustSend(t, path, signed(body), body, http.StatusAccepted, "kicked")
	}
	third := commit(t, b.git, "main", "third")
	last := b.push("main", third)
	b.mustSend(t, path, signed(last), last, http.StatusAccepted, "kicked")
	b.arrives(t, third)
	if after := b.git.Count("shop", gitserver.LsRefs); after-before > 5+int(time.Since(flooded)/(5*time.Second)) {
		t.Errorf("the flood made %d looks at upstream", after-before)
	}
	if err := b.git.CheckSpacing("shop", 5*time.Second, gitserver.Fetch); err != nil {
		t.Error(err)
	}
}

// A generic sender sends the same body for every push to a ref, as documented:
// each one is processed.
func TestAGenericSenderMayRepeatItself(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	path := webhook.Path(b.hook(t, gitcache.Webhook{Name: "script", Provider: gitcache.Generic}))
	body := fmt.Sprintf(`{"url":%q,"ref":"refs/heads/main"}`, b.git.URL("shop"))
	header := map[string]string{"X-Axle-Signature": signed(body)["X-Hub-Signature-256"]}
	for _, text := range []string{"second", "third"} {
		pushed := commit(t, b.git, "main", text)
		b.mustSend(t, path, header, body, http.StatusAccepted, "kicked")
		b.arrives(t, pushed)
	}
}

func TestWhatIsNotVerifiedDoesNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	made := b.hook(t, gitcache.Webhook{Name: "all", Provider: gitcache.GitHub})
	path := webhook.Path(made)
	body := b.push("main", strings.Repeat("1", 40))
	wrong := signed(body)
	wrong["X-Hub-Signature-256"] = "sha256=" + strings.Repeat("0", 64)
	before := b.git.Count("shop", gitserver.LsRefs)
	tests := map[string]struct {
		path   string
		header map[string]string
		body   string
		status int
	}{
		"no signature":       {path, map[string]string{"X-GitHub-Event": "push"}, body, http.StatusUnauthorized},
		"a wrong signature":  {path, wrong, body, http.StatusUnauthorized},
		"another body":       {path, signed(body), body + " ", http.StatusUnauthorized},
		"an unknown webhook": {"/ext/v1/webhooks/github/wh_nobody", signed(body), body, http.StatusNotFound},
		"another provider":   {strings.Replace(path, "github", "gitlab", 1), map[string]string{"X-Gitlab-Token": secret}, body, http.StatusNotFound},
		"not JSON":           {path, signed("payload=%7B%7D"), "payload=%7B%7D", http.StatusBadRequest},
		"no repository":      {path, signed("{}"), "{}", http.StatusBadRequest},
		"too large":          {path, signed(""), strings.Repeat(" ", 9<<20), http.StatusBadRequest},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { b.mustSend(t, tc.path, tc.header, tc.body, tc.status, "refused") })
	}
	if after := b.git.Count("shop", gitserver.LsRefs); after != before {
		t.Errorf("%d looks at upstream", after-before)
	}
	// Wrong guesses lock nobody out.
	for range 200 {
		b.mustSend(t, path, wrong, body, http.StatusUnauthorized, "refused")
	}
	b.mustSend(t, path, signed(body), body, http.StatusAccepted, "kicked")
	// A deleted webhook is refused at once or a little later.
	if err := b.hooks.DeleteWebhook(t.Context(), "all"); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, patience, "the deleted webhook to be refused", func() error {
		status, _, err := b.send(t.Context(), path, signed(body), []byte(body))
		if err == nil && status != http.StatusNotFound {
			err = fmt.Errorf("status %d", status)
		}
		return err
	})
}

func TestARestrictedWebhookKicksOneRepository(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if _, err := b.cache.CreateRepository(t.Context(), gitcache.Repository{Name: "other", URL: b.git.URL("other")}, gitcache.Credentials{}); err != nil {
		t.Fatal(err)
	}
	made := b.hook(t, gitcache.Webhook{Name: "one", Provider: gitcache.Generic, RepositoryID: b.repo.ID})
	second := commit(t, b.git, "main", "second")
	headers := map[string]string{"X-Axle-Signature": signed("")["X-Hub-Signature-256"]}
	b.mustSend(t, webhook.Path(made), headers, "", http.StatusAccepted, "kicked")
	b.arrives(t, second)
	elsewhere := fmt.Sprintf(`{"url":%q}`, b.git.URL("other"))
	headers["X-Axle-Signature"] = signed(elsewhere)["X-Hub-Signature-256"]
	b.mustSend(t, webhook.Path(made), headers, elsewhere, http.StatusAccepted, "unmatched")
	// A name that no repository of the hub has is the repository's new one.
	third := commit(t, b.git, "main", "third")
	renamed := fmt.Sprintf(`{"url":%q}`, b.git.URL("shop-of-today"))
	headers["X-Axle-Signature"] = signed(renamed)["X-Hub-Signature-256"]
	b.mustSend(t, webhook.Path(made), headers, renamed, http.StatusAccepted, "kicked")
	b.arrives(t, third)
}

// A service that follows HEAD follows the default branch.
func TestAPushToTheDefaultBranchKicksWhatFollowsHEAD(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if err := b.git.Create(t.Context(), "front"); err != nil {
		t.Fatal(err)
	}
	commits := func(text string) string {
		id, err := b.git.Commit(t.Context(), "front", "main", text, map[string]gitserver.Content{"a/cm.yaml": gitserver.Content(text)})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	commits("first")
	front, err := b.cache.CreateRepository(t.Context(), gitcache.Repository{Name: "front", URL: b.git.URL("front")}, gitcache.Credentials{})
	if err == nil {
		b.source, err = gitcache.NewSource(front.ID, "HEAD", "a", nil)
	}
	if err == nil {
		err = b.cache.Track(t.Context(), b.source)
	}
	if err == nil {
		err = b.cache.RefreshAndWait(t.Context(), front.ID, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	path := webhook.Path(b.hook(t, gitcache.Webhook{Name: "all", Provider: gitcache.GitHub}))
	push := func(branch string) string {
		return fmt.Sprintf(`{"ref":"refs/heads/%s","repository":{"clone_url":%q,"default_branch":"main"}}`, branch, b.git.URL("front"))
	}
	b.mustSend(t, path, signed(push("feature")), push("feature"), http.StatusAccepted, "uninteresting")
	second := commits("second")
	b.mustSend(t, path, signed(push("main")), push("main"), http.StatusAccepted, "kicked")
	b.arrives(t, second)
}

func TestSecretsAreSealedAtRest(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	made := b.hook(t, gitcache.Webhook{Name: "all", Provider: gitcache.GitHub})
	st := b.Parts().Store
	files, err := filepath.Glob(filepath.Join(b.DataDir, "*.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("database files: %v, %v", files, err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil || bytes.Contains(raw, []byte(secret)) {
			t.Errorf("%s holds the secret, or cannot be read: %v", name, err)
		}
	}
	if _, got, err := st.WebhookSecret(t.Context(), made.ID); err != nil || got != secret {
		t.Errorf("secret %q, error %v", got, err)
	}
	if _, _, err := b.hooks.Create(t.Context(), gitcache.Webhook{Name: "short", Provider: gitcache.GitHub}, "short"); err == nil {
		t.Error("a short secret is taken")
	}
}

// TestNamesOfNewWebhooks tries names of new ones, and one that was stored before the rule.
func TestNamesOfNewWebhooks(t *testing.T) {
	b := newBed(t)
	for _, name := range []string{"", "GitHub prod", "a_b", "a-", strings.Repeat("a", 254)} {
		if _, _, err := b.hooks.Create(t.Context(), gitcache.Webhook{Name: name, Provider: gitcache.GitHub}, secret); !errcode.Is(err, errcode.Invalid) || !strings.Contains(errcode.Text(err), "name:") {
			t.Errorf("%.20q: %v", name, err)
		}
	}
	b.hook(t, gitcache.Webhook{Name: "github.shop-1", Provider: gitcache.GitHub})
	stored := gitcache.Webhook{ID: "wh_stored", Name: "GitHub prod", Provider: gitcache.GitHub}
	if _, err := b.hooks.CreateWebhook(t.Context(), stored, secret); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.hooks.Create(t.Context(), stored, secret); !errcode.Is(err, errcode.Conflict) {
		t.Errorf("a stored name: %v, want that it is taken", err)
	}
}
