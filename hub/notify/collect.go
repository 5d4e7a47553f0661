package notify

import (
	"context"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/identity"
)

const (
	// gather is how long the first event of a topic waits for others.
	gather = 10 * time.Second
	// again is the time after a message before the next one of its topic, and window
	// that before something is told again about the same object.
	again, window = time.Minute, 5 * time.Minute
	// maxEvents is how many events one turn looks at, and maxTopics how many messages of
	// one family it makes for a sink before they become one.
	maxEvents, maxTopics = 500, 5
	// maxWaiting is how many messages wait for a sink.
	maxWaiting = 1000
)

// LogStore reads the event log.
type LogStore interface {
	// Cursor returns the last event that was looked at.
	Cursor(ctx context.Context) (int64, error)
	// HappenedAfter returns up to limit events after one, oldest first.
	HappenedAfter(ctx context.Context, id int64, limit int) ([]Happened, error)
	MoveCursor(ctx context.Context, id int64) error
}

// QueueStore keeps messages.
type QueueStore interface {
	// OfTopic returns the newest message of a sink and topic since a time; found is
	// false when there is none.
	OfTopic(ctx context.Context, sinkID, topic string, since int64) (m Message, found bool, err error)
	PutMessage(ctx context.Context, m Message) error
	// DropOldest deletes the oldest waiting messages of a sink but some, and counts them
	// as dropped.
	DropOldest(ctx context.Context, sinkID string, keep int) (int64, error)
}

// CollectAll adds all new events to the messages of their sinks.
func (n *Notifier) CollectAll(ctx context.Context) error {
	for {
		more := false
		err := n.config.Writer.Write(ctx, func(ctx context.Context) (err error) {
			more, err = n.collect(ctx)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
}

// collect looks at the next events, and reports whether there may be more.
func (n *Notifier) collect(ctx context.Context) (more bool, err error) {
	routers, err := n.config.Routers.Routers(ctx)
	if err != nil || len(routers) == 0 {
		return false, err
	}
	cursor, err := n.config.Events.Cursor(ctx)
	if err != nil {
		return false, err
	}
	happened, err := n.config.Events.HappenedAfter(ctx, cursor, maxEvents)
	if err != nil || len(happened) == 0 {
		return false, err
	}
	topics := sort(routers, happened)
	if len(topics) > 0 {
		if err := n.queue(ctx, topics); err != nil {
			return false, err
		}
	}
	return len(happened) == maxEvents, n.config.Events.MoveCursor(ctx, happened[len(happened)-1].ID)
}

// topic are the events of one turn that go into one message.
type topic struct {
	sink, family, cause string
	router              string
	events              []Happened
}

// sort groups events by the sinks that they go to. An event that several routers send to
// one sink goes there once.
func sort(routers []Router, happened []Happened) []*topic {
	var matchers []matcher
	for _, r := range routers {
		matchers = append(matchers, newMatcher(r))
	}
	type key struct{ sink, family, cause string }
	byKey, perFamily := map[key]*topic{}, map[key]int{}
	var topics []*topic
	for _, h := range happened {
		told := map[string]bool{}
		for _, m := range matchers {
			if !m.wants(h) {
				continue
			}
			for _, sink := range m.Sinks {
				if told[sink] {
					continue
				}
				told[sink] = true
				k := key{sink, family(h.Kind), h.Cause}
				t, known := byKey[k]
				if all := (key{sink, k.family, ""}); !known && perFamily[all] >= maxTopics {
					k.cause = All
					t, known = byKey[k]
				} else if !known {
					perFamily[all]++
				}
				if !known {
					t = &topic{sink: sink, family: k.family, cause: k.cause, router: m.Name}
					byKey[k] = t
					topics = append(topics, t)
				}
				t.events = append(t.events, h)
			}
		}
	}
	return topics
}

// queue adds events to the messages of their topics.
func (n *Notifier) queue(ctx context.Context, topics []*topic) error {
	sinks, err := n.config.Sinks.Sinks(ctx)
	if err != nil {
		return err
	}
	ids := map[string]string{}
	for _, s := range sinks {
		ids[s.Name] = s.ID
	}
	var touched []string
	for _, t := range topics {
		id, exists := ids[t.sink]
		if !exists {
			continue
		}
		if err := n.put(ctx, id, t); err != nil {
			return err
		}
		if !slices.Contains(touched, id) {
			touched = append(touched, id)
		}
	}
	for _, id := range touched {
		dropped, err := n.config.Queue.DropOldest(ctx, id, maxWaiting)
		if err != nil {
			return err
		}
		n.metrics.dropped.Add(float64(dropped))
	}
	return nil
}

// put adds events to the open message of their topic, or makes it.
func (n *Notifier) put(ctx context.Context, sinkID string, t *topic) error {
	now := n.now()
	name := t.family + " " + t.cause
	m, found, err := n.config.Queue.OfTopic(ctx, sinkID, name, now-window.Microseconds())
	if err != nil {
		return err
	}
	var before Message // the one that was told last
	if found && m.State != Open {
		before = m
	}
	if !found || m.State != Open {
		cause := t.cause
		if cause == All {
			cause = ""
		}
		m = Message{ID: identity.NewID("ntf_"), SinkID: sinkID, Topic: name, State: Open, CreatedAt: now, Body: Body{Router: t.router, Cause: cause}}
		m.DueAt = now + gather.Microseconds()
		if before.ID != "" {
			m.DueAt = before.CreatedAt + window.Microseconds()
		}
	}
	for _, h := range t.events {
		if before.ID != "" && !before.Body.names(h.Object) && !m.Body.names(h.Object) {
			// An object that was not told of does not wait as long.
			m.DueAt = min(m.DueAt, max(now+gather.Microseconds(), before.CreatedAt+again.Microseconds()))
		}
		m.Body.add(h)
	}
	return n.config.Queue.PutMessage(ctx, m)
}
