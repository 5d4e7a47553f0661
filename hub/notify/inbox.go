package notify

import (
	"context"
	"slices"

	"github.com/axle-cd/axle/hub/identity"
)

// InboxStore reads what sinks of the type Plural show.
type InboxStore interface {
	// Shown returns up to limit messages of a sink that were sent before a time, newest
	// first.
	Shown(ctx context.Context, sinkID string, before int64, limit int) ([]Message, error)
	// Scopes returns where services and clusters are now, by id; what is gone is missing.
	Scopes(ctx context.Context, services, clusters []string) (map[string]identity.Scope, error)
	// ReadUpTo returns up to when a user has read their notifications.
	ReadUpTo(ctx context.Context, userID string) (int64, error)
	// MarkRead never moves back.
	MarkRead(ctx context.Context, userID string, upTo int64) error
}

// Shown is a message as one person sees it.
type Shown struct {
	Message
	Sink, Priority string
	Read           bool
}

const (
	// inboxPage is how many messages of a sink are read at once, and inboxPages how many
	// such reads one list makes: what a person may not read is skipped.
	inboxPage, inboxPages = 200, 5
	maxInbox              = 500
)

// Inbox returns the notifications of a user, newest first. Of what a message names, they
// see what is within reach now.
func (n *Notifier) Inbox(ctx context.Context, p identity.Principal, reach identity.Reach, unread bool, limit int) ([]Shown, error) {
	if limit <= 0 {
		limit = 50
	}
	limit = min(limit, maxInbox)
	upTo, err := n.config.Inbox.ReadUpTo(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	sinks, err := n.config.Sinks.Sinks(ctx)
	if err != nil {
		return nil, err
	}
	var all []Shown
	for _, s := range sinks {
		if s.Type != Plural || !s.shows(p) {
			continue
		}
		some, err := n.ofSink(ctx, s, reach, limit, upTo, unread)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b Shown) int { return int(b.SentAt - a.SentAt) })
	return all[:min(len(all), limit)], nil
}

// shows reports whether a sink names a person.
func (s Sink) shows(p identity.Principal) bool {
	return slices.Contains(s.Users, p.Name) || slices.ContainsFunc(s.UserGroups, func(g string) bool { return slices.Contains(p.Groups, g) })
}

func (n *Notifier) ofSink(ctx context.Context, s Sink, reach identity.Reach, limit int, upTo int64, unread bool) (out []Shown, err error) {
	before := n.now() + 1
	for range inboxPages {
		page, err := n.config.Inbox.Shown(ctx, s.ID, before, inboxPage)
		if err != nil {
			return nil, err
		}
		scopes, err := n.scopes(ctx, page)
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			if before = m.SentAt; unread && m.SentAt <= upTo {
				return out, nil
			}
			if m.Body = m.Body.within(reach, scopes); len(m.Body.Named) > 0 {
				out = append(out, Shown{Message: m, Sink: s.Name, Priority: s.Priority, Read: m.SentAt <= upTo})
			}
			if len(out) == limit {
				return out, nil
			}
		}
		if len(page) < inboxPage {
			break
		}
	}
	return out, nil
}

func (n *Notifier) scopes(ctx context.Context, page []Message) (map[string]identity.Scope, error) {
	var services, clusters []string
	for _, m := range page {
		for _, named := range m.Body.Named {
			if named.Service != "" {
				services = append(services, named.Service)
			} else if named.Cluster != "" {
				clusters = append(clusters, named.Cluster)
			}
		}
	}
	return n.config.Inbox.Scopes(ctx, sorted(services), sorted(clusters))
}

// within leaves out what is not within reach. What is about nothing that exists is for
// those who see everything.
func (b Body) within(reach identity.Reach, scopes map[string]identity.Scope) Body {
	if reach.All() {
		return b
	}
	if !reach.Hub() {
		b.Others = 0 // they may be objects that the person may not see
	}
	b.Named = slices.DeleteFunc(slices.Clone(b.Named), func(n Named) bool {
		id := n.Service
		if id == "" {
			id = n.Cluster
		}
		scope, exists := scopes[id]
		return !exists && !reach.Hub() || exists && !reach.Covers(scope)
	})
	return b
}

// MarkRead marks a person's notifications up to a time as read. A time that is to come
// marks those until now.
func (n *Notifier) MarkRead(ctx context.Context, p identity.Principal, upTo int64) error {
	upTo = min(upTo, n.now())
	return n.config.Writer.Write(ctx, func(ctx context.Context) error { return n.config.Inbox.MarkRead(ctx, p.ID, upTo) })
}
