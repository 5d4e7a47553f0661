package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/notify/send"
	"github.com/axle-cd/axle/internal/clock"
)

// maxNamed is how many objects a message names.
const maxNamed = 10

// MessageState is where a message is in its life.
type MessageState string

// The states. Events are added to a message only while it is open.
const (
	Open   MessageState = "open"
	Trying MessageState = "trying"
	Sent   MessageState = "sent"
	Failed MessageState = "failed"
)

// Message is one message for one sink.
type Message struct {
	ID     string
	SinkID string
	// Topic is what it is about: a family of events and a cause.
	Topic string
	Body  Body
	State MessageState
	// DueAt is when it is sent next, in microseconds since 1970 UTC.
	DueAt     int64
	Attempts  int64
	Error     string
	CreatedAt int64
	SentAt    int64
}

// Body is what a message is about.
type Body struct {
	Router string `json:"router"`
	Cause  string `json:"cause,omitempty"`
	// Named are at most 10 objects with their last event; Others counts the events about
	// further ones, and LeftOut those that a later one replaced.
	Named   []Named `json:"named"`
	Others  int     `json:"others,omitempty"`
	LeftOut int     `json:"leftOut,omitempty"`
}

// Named is an object with its last event.
type Named struct {
	Object  string `json:"object"`
	Kind    string `json:"kind"`
	By      string `json:"by,omitempty"`
	Message string `json:"message,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	Service string `json:"service,omitempty"`
	At      int64  `json:"at"`
	Changes int    `json:"changes"`
}

// maxText limits what a message keeps of one event's text, in bytes.
const maxText = 2000

// names reports whether the body names an object.
func (b *Body) names(object string) bool {
	return slices.ContainsFunc(b.Named, func(n Named) bool { return n.Object == object })
}

// add adds an event. Of several about one object, the last one counts.
func (b *Body) add(h Happened) {
	text := h.Message
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	named := Named{Object: h.Object, Kind: h.Kind, By: h.By, Message: text, Cluster: h.Cluster, Service: h.Service, At: h.At, Changes: 1}
	for i := range b.Named {
		if b.Named[i].Object == h.Object {
			named.Changes = b.Named[i].Changes + 1
			b.Named[i] = named
			b.LeftOut++
			return
		}
	}
	if len(b.Named) == maxNamed {
		b.Others++
		return
	}
	b.Named = append(b.Named, named)
}

// verbs are what happened, for titles.
var verbs = map[string]string{
	"service.applied": "applied a revision", "service.failed": "failed", "service.recovered": "recovered",
	"cluster.created": "created", "cluster.registered": "registered", "cluster.deleted": "deleted",
	"cluster.destroying": "began to be destroyed", "cluster.destroyed": "destroyed", "cluster.orphan": "has a service that the hub does not know",
	"rollout.stopped": "stopped", "rollout.done": "finished", "rollout.aborted": "aborted",
	"backup.failed": "failed",
}

// Title is one line about a message.
func (b Body) Title() string {
	if len(b.Named) == 0 {
		return "nothing"
	}
	total := len(b.Named) + b.Others
	if total == 1 {
		return b.Named[0].Object + " " + verb(b.Named[0].Kind)
	}
	counts, order := map[string]int{}, []string{}
	for _, n := range b.Named {
		if counts[n.Kind] == 0 {
			order = append(order, n.Kind)
		}
		counts[n.Kind]++
	}
	noun, _, _ := strings.Cut(order[0], ".")
	if len(order) == 1 {
		return fmt.Sprintf("%d %ss %s", total, noun, verb(order[0]))
	}
	var parts []string
	for _, kind := range order {
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], verb(kind)))
	}
	if b.Others > 0 {
		parts = append(parts, fmt.Sprintf("%d more", b.Others))
	}
	return fmt.Sprintf("%d %ss: %s", total, noun, strings.Join(parts, ", "))
}

func verb(kind string) string {
	if v := verbs[kind]; v != "" {
		return v
	}
	_, v, _ := strings.Cut(kind, ".")
	return v
}

// content is what a message says when it is sent at a time.
func (m Message) content(hub string, now time.Time) send.Content {
	b := m.Body
	out := send.Content{ID: m.ID, Title: b.Title(), Others: b.Others, LeftOut: b.LeftOut, Cause: b.Cause, Router: b.Router, URL: hub, Objects: []send.Object{}}
	newest := int64(0)
	for _, n := range b.Named {
		if n.At >= newest {
			newest, out.Event = n.At, n.Kind
		}
		out.Objects = append(out.Objects, n.object(now))
	}
	return out
}

func (n Named) object(now time.Time) send.Object {
	kind, name, _ := strings.Cut(n.Object, " ")
	at := clock.FromMicros(n.At).UTC()
	o := send.Object{Kind: kind, Name: name, Event: n.Kind, Message: n.Message, By: n.By, At: at.Format(time.RFC3339), Changes: n.Changes}
	if age := now.Sub(at).Round(time.Second); age > 0 {
		o.Age = age.String()
	}
	switch {
	case kind == "service" && n.Kind != "service.deleted":
		o.Command = "axle services get " + name
	case n.Kind == "cluster.orphan":
		o.Command = "axle clusters orphans list " + name
	case kind == "cluster" && n.Kind != "cluster.deleted" && n.Kind != "cluster.destroyed":
		o.Command = "axle clusters get " + name
	}
	return o
}
