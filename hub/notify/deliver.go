package notify

import (
	"context"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/notify/send"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// maxAttempts is how often a message is tried. The delays between are random, at most
	// firstDelay, twice that and so on to lastDelay: about an hour together at most.
	maxAttempts           = 8
	firstDelay, lastDelay = time.Minute, 20 * time.Minute
	// atOnce is how many sinks are served at the same time, waits how long one waits for
	// that, and perTurn how many messages each of them gets in one turn.
	atOnce, perTurn = 16, 20
	waits           = time.Minute
	// maxPruned is how many old messages are deleted at once, each pruneEvery.
	maxPruned, pruneEvery = 500, 10 * time.Minute
)

// Outgoing are the messages that wait.
type Outgoing interface {
	// Due returns up to limit waiting messages of a sink that are due, the oldest first.
	Due(ctx context.Context, sinkID string, now int64, limit int) ([]Message, error)
	// MessageByID returns a message as it is now; found is false when it was dropped.
	MessageByID(ctx context.Context, id string) (m Message, found bool, err error)
	// Finish stores the end of an attempt, and counts it for the sink. Conflict when
	// another replica made it meanwhile.
	Finish(ctx context.Context, m Message, attempts int64) error
	// PruneMessages deletes up to limit messages that are over and older than a time.
	PruneMessages(ctx context.Context, before int64, limit int) (int64, error)
}

// newPlaces makes the pool of sinks that are served at the same time: a project whose
// destinations are slow has a half of what the others leave, and the hub's own sinks have a
// reserve.
func newPlaces(pools *pool.Set) *pool.Places {
	return pools.Places(pool.Spec{Name: "notifications", Of: "destinations of notifications", Size: atOnce, Reserve: atOnce / 8, Queue: 10_000, Within: waits, Retry: turn})
}

// Deliver sends the messages that are due, and returns when they are sent.
func (n *Notifier) Deliver(ctx context.Context) error {
	defer n.running.Wait()
	return n.begin(ctx)
}

// begin begins to serve each sink with waiting messages that is not being served yet. It
// waits for none of them, so a slow destination delays only what else is for it.
func (n *Notifier) begin(ctx context.Context) error {
	sinks, err := n.config.Sinks.Sinks(ctx)
	if err != nil {
		return err
	}
	waiting, oldest := int64(0), int64(0)
	for _, s := range sinks {
		waiting += s.Waiting
		if s.OldestAt > 0 && (oldest == 0 || s.OldestAt < oldest) {
			oldest = s.OldestAt
		}
		if s.Waiting > 0 && n.mayServe(s.ID) {
			n.running.Go(func() { n.inTurn(ctx, s) })
		}
	}
	n.metrics.waits(waiting, oldest, n.now())
	if len(sinks) == 0 || n.config.Clock.Now().Sub(n.prunedAt) < pruneEvery {
		return nil
	}
	n.prunedAt = n.config.Clock.Now()
	return n.config.Writer.Write(ctx, func(ctx context.Context) error {
		_, err := n.config.Outgoing.PruneMessages(ctx, n.now()-keep.Microseconds(), maxPruned)
		return err
	})
}

// inTurn serves a sink as soon as there is a place for its project.
func (n *Notifier) inTurn(ctx context.Context, s Sink) {
	defer n.served(s.ID)
	held, err := n.places.Wait(ctx, pool.Caller{Name: s.ID, Project: s.ProjectID, Reserved: s.ProjectID == ""})
	if err != nil {
		return // the next turn begins it again
	}
	defer held.Leave()
	if err := n.serve(ctx, s); err != nil && ctx.Err() == nil {
		n.config.Log.Warn("a notification sink could not be served; trying again", "sink", s.Name, logkey.Error, err)
	}
}

// mayServe notes that a sink is served, unless it is already, or its destination failed a
// short time ago.
func (n *Notifier) mayServe(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.serving[id] || n.config.Clock.Now().Before(n.resting[id]) {
		return false
	}
	n.serving[id] = true
	return true
}

func (n *Notifier) served(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.serving, id)
}

// serve sends the due messages of a sink, until its destination fails.
func (n *Notifier) serve(ctx context.Context, s Sink) error {
	due, err := n.config.Outgoing.Due(ctx, s.ID, n.now(), perTurn)
	if err != nil {
		return err
	}
	for _, m := range due {
		good, err := n.deliver(ctx, s, m)
		if err != nil || !good {
			return err
		}
	}
	return nil
}

// deliver makes one attempt. Before it, the attempt is stored: a hub that is killed
// sends the message again only after the delay.
func (n *Notifier) deliver(ctx context.Context, s Sink, m Message) (good bool, err error) {
	backoff := min(firstDelay<<m.Attempts, lastDelay)
	delay := jitter.Full(backoff)
	m.Attempts++
	m.State, m.DueAt = Trying, n.now()+delay.Microseconds()
	if err := n.finish(ctx, s, m, m.Attempts-1); err != nil {
		return false, ignoreConflict(err)
	}
	// Events may have been added since it was read; from now on none are.
	now, found, err := n.config.Outgoing.MessageByID(ctx, m.ID)
	if err != nil || !found {
		return false, err
	}
	m.Body = now.Body
	result := n.attempt(ctx, s, m)
	if ctx.Err() != nil {
		return false, nil // the next holder of the lease tries again
	}
	switch {
	case result.OK:
		m.State, m.SentAt, m.Error = Sent, n.now(), ""
		n.metrics.sent.Inc()
	case result.Permanent || m.Attempts >= maxAttempts:
		m.State, m.Error = Failed, result.Answer
		n.metrics.failed.Inc()
		n.config.Log.Warn("a notification was given up", "sink", s.Name, "attempts", m.Attempts, logkey.Error, result.Answer)
	default:
		delay = max(delay, result.After)
		m.Error, m.DueAt = result.Answer, n.now()+delay.Microseconds()
	}
	n.mu.Lock()
	delete(n.resting, s.ID)
	if !result.OK && !result.Permanent {
		n.resting[s.ID] = n.config.Clock.Now().Add(max(result.After, min(delay, firstDelay)))
	}
	n.mu.Unlock()
	return result.OK || result.Permanent, ignoreConflict(n.finish(ctx, s, m, m.Attempts))
}

func (n *Notifier) finish(ctx context.Context, s Sink, m Message, attempts int64) error {
	return n.config.Writer.Write(ctx, func(ctx context.Context) error {
		if err := n.config.Outgoing.Finish(ctx, m, attempts); err != nil || s.Type != Plural || m.State != Sent {
			return err
		}
		// Browsers that are open read their notifications again.
		return event.Append(ctx, event.Change{Kind: event.KindNotification, Key: m.ID})
	})
}

func ignoreConflict(err error) error {
	if errcode.Is(err, errcode.Conflict) {
		return nil
	}
	return err
}

func (n *Notifier) attempt(ctx context.Context, s Sink, m Message) send.Result {
	if s.Type == Plural {
		return send.Result{OK: true} // people read it where it is
	}
	t, err := n.target(s)
	if err != nil {
		return send.Result{Answer: errcode.Message(err)}
	}
	return n.config.Sender.Send(ctx, t, m.content(n.config.URL, n.config.Clock.Now()))
}

// Test sends one message to a sink at once, and returns what the destination said.
// Unprocessable when it did not take it, which no client repeats by itself.
func (n *Notifier) Test(ctx context.Context, by, name string) (string, error) {
	s, err := n.config.Sinks.SinkByName(ctx, name)
	if err != nil {
		return "", err
	}
	if s.Type == Plural {
		return "sinks of the type PLURAL need no test: axle notifications lists what they show", nil
	}
	t, err := n.target(s)
	if err != nil {
		return "", err
	}
	result := n.config.Sender.Send(ctx, t, send.Content{
		ID: identity.NewID("ntf_"), Event: "test", Title: "Axle: a test of notification sink " + name + " by " + by, URL: n.config.URL, Test: true, Objects: []send.Object{},
	})
	if !result.OK {
		return "", errcode.New(errcode.Unprocessable, "notification sink %s: %s did not take the test: %s", name, s.Host, result.Answer)
	}
	return result.Answer, nil
}
