package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/axle-cd/axle/agent/hubclient"
	"github.com/axle-cd/axle/agent/identity"
	"github.com/axle-cd/axle/agent/poll"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/tarball"
)

const (
	// tokenLife is assumed if the two clocks differ too much.
	tokenLife = 24 * time.Hour
	// renewPause is the minimum time between two renewals caused by a refusal.
	renewPause = 10 * time.Second
)

// session is the hub as agent/poll sees it, with a deploy token that is always valid:
// renewed in time, and at once if the hub rejects it.
type session struct {
	agent  *Agent
	client *hubclient.Client
	// frozen: the identity belongs to the working agent, and must not be changed.
	frozen bool

	// asked wakes run: the hub said that renewing now may help.
	asked chan struct{}

	mu      sync.Mutex // held during a renewal
	id      *identity.Identity
	renewed time.Time
}

// Desired polls.
func (s *session) Desired(ctx context.Context, etag string) (poll.Answer, error) {
	var answer hubclient.Answer
	err := s.authorised(ctx, func() (err error) {
		answer, err = s.client.Desired(ctx, etag)
		return err
	})
	if hubclient.ReasonOf(err) == hubclient.UnknownKey && !s.frozen && s.renew(ctx, true) == nil {
		// The keys were rotated while this agent was away; the renewal brought the
		// new ones, signed by a known one.
		answer, err = s.client.Desired(ctx, etag)
	}
	if err != nil || answer.List == nil {
		return poll.Answer{StatusHash: answer.StatusHash}, err
	}
	return poll.Answer{
		List: answer.List.Desired, Signed: answer.List.Signed, ETag: answer.List.ETag, Seen: s.client.Seen().String(), Shown: s.client.Proof.String(),
		Lineage: poll.Lineage(answer.List.Lineage), StatusHash: answer.StatusHash,
	}, nil
}

// Services returns specs.
func (s *session) Services(ctx context.Context, ids []string) (answer *agentv1.ServicesResponse, err error) {
	err = s.authorised(ctx, func() (err error) {
		answer, err = s.client.Services(ctx, ids)
		return err
	})
	return answer, err
}

// Tarball starts a download.
func (s *session) Tarball(ctx context.Context, r tarball.Request) (got *tarball.Download, err error) {
	err = s.authorised(ctx, func() (err error) {
		got, err = s.client.Download(ctx, r)
		return err
	})
	return got, err
}

// Report stores statuses.
func (s *session) Report(ctx context.Context, r *agentv1.ReportRequest) (answer *agentv1.ReportResponse, err error) {
	err = s.authorised(ctx, func() (err error) {
		answer, err = s.client.Report(ctx, r)
		return err
	})
	return answer, err
}

// ReportDiff stores what applying a service would change.
func (s *session) ReportDiff(ctx context.Context, r *agentv1.ReportDiffRequest) error {
	return s.authorised(ctx, func() error { return s.client.ReportDiff(ctx, r) })
}

// ReportTests stores the state of tests.
func (s *session) ReportTests(ctx context.Context, r *agentv1.ReportTestsRequest) error {
	return s.authorised(ctx, func() error { return s.client.ReportTests(ctx, r) })
}

// EnrollChild returns what connects a cluster that a service makes.
func (s *session) EnrollChild(ctx context.Context, r *agentv1.EnrollChildRequest) (child *agentv1.Child, err error) {
	err = s.authorised(ctx, func() (err error) {
		child, err = s.client.EnrollChild(ctx, r)
		return err
	})
	return child, err
}

// ReportChildren stores the state of clusters that services make.
func (s *session) ReportChildren(ctx context.Context, r *agentv1.ReportChildrenRequest) error {
	return s.authorised(ctx, func() error { return s.client.ReportChildren(ctx, r) })
}

// ReportCleanup stores what this cluster still holds at providers.
func (s *session) ReportCleanup(ctx context.Context, r *agentv1.ReportCleanupRequest) error {
	return s.authorised(ctx, func() error { return s.client.ReportCleanup(ctx, r) })
}

// Ping reports the cluster to the hub.
func (s *session) Ping(ctx context.Context, r *agentv1.PingRequest) error {
	return s.authorised(ctx, func() error { return s.client.Ping(ctx, r) })
}

// authorised makes a call, and repeats it with a new token if the hub does not know
// the present one: so a cluster that was off for months can return.
func (s *session) authorised(ctx context.Context, call func() error) error {
	err := call()
	if hubclient.ReasonOf(err) != hubclient.Unauthorized || s.frozen {
		return err
	}
	if renewal := s.renew(ctx, true); renewal != nil {
		return errors.Join(err, renewal)
	}
	return call()
}

// renew gets a new token. After a refusal, callers share one attempt, and it is not
// repeated at once: the token may be valid and the cluster revoked.
func (s *session) renew(ctx context.Context, refused bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.agent.cfg.Clock.Now()
	if refused && now.Sub(s.renewed) < renewPause {
		return nil
	}
	s.renewed = now
	key, err := s.id.Key()
	if err != nil {
		return err
	}
	got, err := s.client.Renew(ctx, hubclient.Renewal{
		ClusterID: s.id.ClusterID, ClusterUID: s.id.ClusterUID, BootID: s.agent.bootID, Key: key,
	})
	if err != nil {
		s.agent.page.say("token", err)
		return err
	}
	s.id.Token, s.id.ExpiresAt, s.id.ReceivedAt = got.Token, got.ExpiresAt, clock.Micros(now)
	s.id.Pin(got.Keys)
	// The hub keeps the old token until the new one is used, so a failed write costs
	// only another renewal.
	if err := s.agent.identities.Save(ctx, s.id); err != nil {
		s.agent.cfg.Log.Warn("cannot store the new token", logkey.Error, err)
	}
	s.agent.page.say("token", nil)
	s.agent.cfg.Log.Info("renewed the deploy token")
	return nil
}

// run renews the token after 2/3 of its life.
func (s *session) run(ctx context.Context) error {
	backoff := jitter.Backoff{Min: 5 * time.Second, Max: 10 * time.Minute}
	wait := s.untilRenewal()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.asked:
			if err := s.renew(ctx, true); err != nil {
				s.agent.cfg.Log.Warn("cannot renew the deploy token", logkey.Error, err)
			}
		case <-s.agent.cfg.Clock.After(wait):
		}
		if wait = s.untilRenewal(); wait > 0 {
			continue // another call renewed it
		}
		if err := s.renew(ctx, false); err != nil {
			s.agent.cfg.Log.Warn("cannot renew the deploy token", logkey.Error, err)
			wait = max(backoff.Next(), time.Second, errcode.RetryAfter(err))
			continue
		}
		backoff.Reset()
		wait = s.untilRenewal()
	}
}

// untilRenewal is computed from our clock and the time when the token arrived; the
// hub's clock only tells the token's lifetime.
func (s *session) untilRenewal() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	life := time.Duration(s.id.ExpiresAt-s.id.ReceivedAt) * time.Microsecond
	if life <= 0 || life > 7*tokenLife {
		life = tokenLife
	}
	at := clock.FromMicros(s.id.ReceivedAt).Add(life * 2 / 3)
	spread := jitter.Spread(s.id.ClusterID, life/20)
	return max(0, at.Add(spread).Sub(s.agent.cfg.Clock.Now()))
}
