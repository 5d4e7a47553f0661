package people

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// hook is a repository's webhook.
type hook struct{ url, secret string }

// Push tells the hub of a commit, as an upstream does. It is called by one at a time.
func (p *People) Push(ctx context.Context, repository string) error {
	h, ok := p.hooks[repository]
	if !ok {
		made, err := p.API.Webhooks.Create(ctx, connect.NewRequest(&hubv1.CreateWebhookRequest{Name: repository, Provider: "generic", Repository: repository}))
		if err != nil {
			return fmt.Errorf("webhook of %s: %w", repository, err)
		}
		h = hook{made.Msg.GetWebhook().GetUrl(), made.Msg.GetSecret()}
		p.hooks[repository] = h
	}
	// One delivery is taken once; no two are the same.
	body := fmt.Appendf(nil, `{"ref":"refs/heads/main","delivery":%q}`, rand.Text())
	mac := hmac.New(sha256.New, []byte(h.secret))
	mac.Write(body)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Axle-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	answer, err := p.Hub.Web.Do(r)
	if err != nil {
		return fmt.Errorf("push to %s: %w", repository, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		return fmt.Errorf("push to %s: HTTP %s", repository, answer.Status)
	}
	return nil
}
