package oidc

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// retryFirst and retryLast are the pauses between attempts, keepTrying is when they end.
	retryFirst, retryLast, keepTrying = 5 * time.Second, 10 * time.Minute, 24 * time.Hour
	// noticeTimeout is how long an application may take to answer.
	noticeTimeout = 5 * time.Second
	// noticesAtOnce are sent at the same time, of one client at most noticesOfOne.
	noticesAtOnce, noticesOfOne = 8, 2
	// noticeLifetime is how long a notice is valid.
	noticeLifetime = 2 * time.Minute
)

// Logout is a notice to an application that a session ended.
type Logout struct {
	ID                          string
	ClientID, UserID, SessionID string
	Attempts                    int64
	DueAt, CreatedAt            int64
}

// EndStore finds grants that end, and keeps notices for applications.
type EndStore interface {
	// Pairs returns people with clients, after one of them.
	Pairs(ctx context.Context, after Pair, limit int) ([]Pair, error)
	// PairsOf returns the pairs of some people.
	PairsOf(ctx context.Context, userIDs []string) ([]Pair, error)
	// GrantsOf returns the grants of a pair, GrantsIn those in sessions of the hub.
	GrantsOf(ctx context.Context, pair Pair) ([]Grant, error)
	GrantsIn(ctx context.Context, tokenIDs []string) ([]Grant, error)
	// LeaveSession takes grants out of their session of the hub, and deletes their access tokens.
	LeaveSession(ctx context.Context, ids []string) error
	InsertLogout(ctx context.Context, l Logout) error
	// DueLogouts returns those that are due, the oldest first.
	DueLogouts(ctx context.Context, now int64, limit int) ([]Logout, error)
	// DelayLogout writes the attempts and the next time.
	DelayLogout(ctx context.Context, l Logout) error
	DeleteLogout(ctx context.Context, id string) error
}

// noticed wakes the sender.
func (p *Provider) noticed() {
	select {
	case p.due <- struct{}{}:
	default:
	}
}

// sendDue sends the notices that are due, some at a time.
func (p *Provider) sendDue(ctx context.Context) error {
	for {
		due, err := p.config.Stores.Ended.DueLogouts(ctx, p.now(), 20*noticesAtOnce)
		if err != nil || len(due) == 0 {
			return err
		}
		var sending sync.WaitGroup
		ofOne, begun := map[string]int{}, 0
		for _, l := range due {
			if ofOne[l.ClientID] >= noticesOfOne || begun >= noticesAtOnce {
				continue
			}
			ofOne[l.ClientID]++
			begun++
			sending.Go(func() { p.deliver(ctx, l) })
		}
		sending.Wait()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// deliver sends one notice, and removes it or delays it.
func (p *Provider) deliver(ctx context.Context, l Logout) {
	c, err := p.config.Clients.Client(ctx, l.ClientID)
	done := errcode.Is(err, errcode.NotFound) || err == nil && c.BackChannelLogoutURI == ""
	if err == nil && !done {
		err = p.notify(ctx, c, l)
		done = err == nil
	}
	if !done && p.now()-l.CreatedAt > keepTrying.Microseconds() {
		p.config.Log.Warn("an application did not learn that a session ended, and is not notified again", logkey.Object, "application "+c.Name, logkey.Error, err)
		done = true
	}
	stored := p.config.Stores.Writer.Write(context.WithoutCancel(ctx), func(ctx context.Context) error {
		if done {
			return p.config.Stores.Ended.DeleteLogout(ctx, l.ID)
		}
		pause := min(retryFirst<<min(l.Attempts, 10), retryLast)
		l.Attempts++
		l.DueAt = after(p.now(), pause)
		return p.config.Stores.Ended.DelayLogout(ctx, l)
	})
	if stored != nil {
		p.config.Log.Warn("a notice of a logout could not be updated", logkey.Error, stored)
	}
}

// notify sends a logout token, as OpenID Connect Back-Channel Logout 1.0 has it.
func (p *Provider) notify(ctx context.Context, c application.Client, l Logout) error {
	token, err := p.logoutToken(ctx, c, l)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.BackChannelLogoutURI, strings.NewReader(url.Values{"logout_token": {token}}.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := p.config.HTTP.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the application answered %s", answer.Status)
	}
	return nil
}

// logoutToken signs what an application needs to know of an ended session.
func (p *Provider) logoutToken(ctx context.Context, c application.Client, l Logout) (string, error) {
	k, err := p.keys.signing(ctx, c.Algorithm)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: k.SignatureAlgorithm(), Key: jose.JSONWebKey{Key: k.private, KeyID: k.ID()}}, (&jose.SignerOptions{}).WithType("logout+jwt"))
	if err != nil {
		return "", err
	}
	now := p.config.Clock.Now()
	text, err := json.Marshal(map[string]any{
		"iss": p.issuer, "aud": c.ID, "sub": l.UserID, "sid": l.SessionID, "jti": l.ID, "iat": now.Unix(), "exp": now.Add(noticeLifetime).Unix(),
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	})
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(text)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}
