package notify

import (
	"context"
	"maps"
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
	// Behind returns up to where the routers of projects have looked that are behind the
	// cursor, by lane; MoveBehind stores it, zero for one that has caught up.
	Behind(ctx context.Context) (map[int64]int64, error)
	MoveBehind(ctx context.Context, lane, id int64) error
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
		if more, err := n.Collect(ctx); err != nil || !more {
			return err
		}
	}
}

// Collect looks at the next events, and reports whether there may be more. Expressions of
// tenants are matched outside of the transaction, which locks others out. The routers of
// one project get a share of each turn: what is more, they look at later, and the others
// go on.
func (n *Notifier) Collect(ctx context.Context) (more bool, err error) {
	routers, err := n.config.Routers.Routers(ctx)
	if err != nil {
		return false, err
	}
	behind, err := n.config.Events.Behind(ctx)
	if err != nil || len(routers)+len(behind) == 0 {
		return false, err
	}
	cursor, err := n.config.Events.Cursor(ctx)
	if err != nil {
		return false, err
	}
	onTime := slices.DeleteFunc(slices.Clone(routers), func(r Router) bool { return behind[r.lane()] != 0 })
	if len(routers) > 0 {
		if more, err = n.turn(ctx, pass{routers: onTime, from: cursor}); err != nil {
			return false, err
		}
	}
	for _, lane := range slices.Sorted(maps.Keys(behind)) {
		late := slices.DeleteFunc(slices.Clone(routers), func(r Router) bool { return r.lane() != lane })
		left, err := n.turn(ctx, pass{routers: late, lane: lane, from: behind[lane], upTo: cursor})
		if err != nil {
			return false, err
		}
		more = more || left
	}
	return more, nil
}

// pass is a look of some routers at the events after one: of all that are on time, or of
// those of a lane that is behind, up to where the others are.
type pass struct {
	routers []Router
	lane    int64
	from    int64
	upTo    int64
}

// turn looks at some events, and reports whether there may be more.
func (n *Notifier) turn(ctx context.Context, p pass) (more bool, err error) {
	happened, err := n.config.Events.HappenedAfter(ctx, p.from, maxEvents)
	if err != nil || len(happened) == 0 && p.lane == 0 {
		return false, err
	}
	more = len(happened) == maxEvents
	if p.lane != 0 {
		happened = slices.DeleteFunc(happened, func(h Happened) bool { return h.ID > p.upTo })
	}
	topics, late := sort(p.routers, happened)
	err = n.config.Writer.Write(ctx, func(ctx context.Context) error {
		if same, err := n.unmoved(ctx, p); err != nil || !same {
			return err // another replica was faster, or the first router came meanwhile
		}
		if len(topics) > 0 {
			if err := n.queue(ctx, topics); err != nil {
				return err
			}
		}
		for lane, id := range late {
			if err := n.config.Events.MoveBehind(ctx, lane, id); err != nil {
				return err
			}
		}
		switch {
		case p.lane == 0:
			return n.config.Events.MoveCursor(ctx, happened[len(happened)-1].ID)
		case late[p.lane] != 0:
			return nil
		case len(p.routers) == 0 || len(happened) == 0 || happened[len(happened)-1].ID == p.upTo:
			return n.config.Events.MoveBehind(ctx, p.lane, 0)
		}
		return n.config.Events.MoveBehind(ctx, p.lane, happened[len(happened)-1].ID)
	})
	return more || len(late) > 0, err
}

// unmoved reports whether a pass is still from where its routers are.
func (n *Notifier) unmoved(ctx context.Context, p pass) (bool, error) {
	if p.lane == 0 {
		at, err := n.config.Events.Cursor(ctx)
		return at == p.from, err
	}
	behind, err := n.config.Events.Behind(ctx)
	return behind[p.lane] == p.from, err
}

// topic are the events of one turn that go into one message.
type topic struct {
	sink, family, cause string
	router              string
	events              []Happened
}

// sort groups events by the sinks that they go to. An event that several routers send to
// one sink goes there once. late are the lanes that have used up their share, with the last
// event that they looked at.
func sort(routers []Router, happened []Happened) (topics []*topic, late map[int64]int64) {
	var matchers []matcher
	for _, r := range routers {
		matchers = append(matchers, newMatcher(r))
	}
	type key struct{ sink, family, cause string }
	byKey, perFamily := map[key]*topic{}, map[key]int{}
	spent, late := map[int64]int{}, map[int64]int64{}
	for i, h := range happened {
		told := map[string]bool{}
		for _, m := range matchers {
			if late[m.at] != 0 {
				continue
			}
			wants, steps := m.wants(h)
			if spent[m.at] += steps; !wants {
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
		for lane, steps := range spent {
			if steps > share && late[lane] == 0 && i < len(happened)-1 {
				late[lane] = h.ID
			}
		}
	}
	return topics, late
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
