package notify

import (
	"context"
	"encoding/json"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/hub/notify/send"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// Type is the kind of destination of a sink: one of package send, or Plural.
type Type = send.Type

// Plural is the type from which nothing is sent: the name that the format of the CRD has
// for Axle itself.
const Plural Type = "PLURAL"

const (
	// maxObjects is how many sinks, and how many routers, a hub has.
	maxObjects = 500
	// maxOfProject is how many of each a project has.
	maxOfProject = 50
	// maxList limits the lists of one object.
	maxList = 100
	// maxURL and maxSecret are in bytes.
	maxURL, minSecret, maxSecret = 2000, 16, 1000
)

// Sink is a destination of notifications.
type Sink struct {
	ID   string
	Name string
	// ProjectID is empty for the hub as a whole; Project is its name.
	ProjectID, Project string
	Type               Type
	// Host of the URL, empty for Plural.
	Host string
	// Target is the sealed send.Target.
	Target string
	// Signed is set when deliveries are signed.
	Signed bool
	// Priority is LOW, MEDIUM or HIGH for Plural.
	Priority string
	// Users and UserGroups are the names of those who see the notifications of Plural.
	Users, UserGroups    []string
	ManagedBy            managed.Manager
	DeclaredBy           string
	CreatedAt, UpdatedAt int64
	State
}

// State counts the messages of a sink. Times are microseconds since 1970 UTC.
type State struct {
	// Waiting messages, and when the oldest was made.
	Waiting, OldestAt     int64
	Sent, Failed, Dropped int64
	SentAt                int64
	// Error is that of the last attempt, empty when it went well.
	Error   string
	ErrorAt int64
}

// Scope is where the sink is.
func (s Sink) Scope() identity.Scope { return identity.Scope{Project: s.ProjectID} }

// SinkRequest declares a sink.
type SinkRequest struct {
	Name, Project, Priority string
	Type                    Type
	Users, Groups           []string
	// URL and Secret are empty to keep what is there.
	URL, Secret string
	Unsigned    bool
	DryRun      bool
}

// Outcome is what a declaration did.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
)

// SinkStore keeps sinks.
type SinkStore interface {
	// Sinks returns all with their states, by name.
	Sinks(ctx context.Context) ([]Sink, error)
	// SinkByName returns one with its state. NotFound.
	SinkByName(ctx context.Context, name string) (Sink, error)
	// PutSink creates or replaces one, and leaves its counters.
	PutSink(ctx context.Context, s Sink) error
	// DeleteSink deletes one with its messages.
	DeleteSink(ctx context.Context, id string) error
}

// Sinks lists all sinks, by name.
func (n *objects) Sinks(ctx context.Context) ([]Sink, error) { return n.config.Sinks.Sinks(ctx) }

// Sink returns a sink. NotFound.
func (n *objects) Sink(ctx context.Context, name string) (Sink, error) {
	return n.config.Sinks.SinkByName(ctx, name)
}

// ApplySink creates or changes a sink by its name.
func (n *objects) ApplySink(ctx context.Context, by string, r SinkRequest) (out Sink, outcome Outcome, err error) {
	if err := r.check(); err != nil {
		return out, "", err
	}
	err = n.config.Writer.Write(ctx, func(ctx context.Context) error {
		out, outcome, err = n.applySink(ctx, by, r)
		return err
	})
	return out, outcome, err
}

func (n *objects) applySink(ctx context.Context, by string, r SinkRequest) (next Sink, outcome Outcome, err error) {
	before, err := n.config.Sinks.SinkByName(ctx, r.Name)
	exists := err == nil
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return next, "", err
	}
	projectID, err := n.projectID(ctx, r.Project)
	if err != nil {
		return next, "", err
	}
	if next = before; !exists {
		if err := full(ctx, n.config.Sinks.Sinks, projectID, "sinks"); err != nil {
			return next, "", err
		}
		next = Sink{ID: identity.NewID("nsk_"), Name: r.Name, ProjectID: projectID, Project: r.Project, Type: r.Type, ManagedBy: managed.Created(ctx), CreatedAt: n.now()}
	}
	if next.Type != r.Type || next.ProjectID != projectID {
		return next, "", errcode.New(errcode.Conflict, "notification sink %s has another type or project, which cannot be changed: delete it and create it again", r.Name)
	}
	next.Priority, next.Users, next.UserGroups = r.Priority, sorted(r.Users), sorted(r.Groups)
	changed, err := n.retarget(&next, r)
	if err != nil {
		return next, "", err
	}
	changed = changed || next.Priority != before.Priority || !slices.Equal(next.Users, before.Users) || !slices.Equal(next.UserGroups, before.UserGroups)
	outcome = Created
	if exists {
		if next.ManagedBy, err = managed.Write(ctx, "notification sink "+r.Name, before.ManagedBy, changed); err != nil {
			return before, "", err
		}
		if outcome = Updated; !changed && next.ManagedBy == before.ManagedBy {
			return before, Unchanged, nil
		}
	}
	if r.DryRun {
		return next, outcome, nil
	}
	next.DeclaredBy, next.UpdatedAt = by, n.now()
	if err := n.config.Sinks.PutSink(ctx, next); err != nil {
		return next, "", err
	}
	return next, outcome, event.Record(ctx, event.Entry{
		Kind: "notification_sink." + string(outcome), Object: "notification sink " + r.Name, By: by, Message: managed.TookOver(before.ManagedBy, next.ManagedBy),
	})
}

// retarget sets where the sink delivers to, and reports whether that changed.
func (n *objects) retarget(s *Sink, r SinkRequest) (changed bool, err error) {
	if s.Type == Plural {
		return false, nil
	}
	var had send.Target
	if s.Target != "" {
		if had, err = n.target(*s); err != nil {
			return false, err
		}
	}
	next := had
	if r.URL != "" && r.URL != had.URL {
		next = send.Target{URL: r.URL}
		if had.Secret != "" && r.Secret == "" && !r.Unsigned {
			return false, invalid("secret: is missing; the signing key does not follow a changed URL, so give it again, or declare the sink unsigned")
		}
	}
	if r.Secret != "" {
		next.Secret = r.Secret
	} else if r.Unsigned {
		next.Secret = ""
	}
	if next.URL == "" {
		return false, invalid("url: is missing; a sink of the type %s needs one", s.Type)
	}
	if next == had {
		return false, nil
	}
	host, err := n.checkURL(next.URL)
	if err != nil {
		return false, err
	}
	text, err := json.Marshal(next)
	if err != nil {
		return false, errcode.New(errcode.Internal, "%w", err)
	}
	s.Host, s.Signed, s.Target = host, next.Secret != "", n.config.Sealer.Seal(text, purpose(s.ID))
	return true, nil
}

// purpose is what a target is sealed for.
func purpose(id string) string { return "notification sink " + id }

// target opens where a sink delivers to.
func (n *objects) target(s Sink) (t send.Target, err error) {
	text, err := n.config.Sealer.Open(s.Target, purpose(s.ID))
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil {
		return t, errcode.Hide(errcode.Internal, err, "the URL of notification sink %s cannot be opened with this hub's key", s.Name)
	}
	t.Type = s.Type
	return t, nil
}

// check returns Invalid for a sink that cannot be. It never quotes a URL or a secret.
func (r SinkRequest) check() error {
	switch {
	case !rule.Name.Valid(r.Name):
		return invalid("name: %.80q is not a name; use %s", r.Name, rule.Name.Words)
	case !slices.Contains(rule.SinkTypes, string(r.Type)):
		return invalid("type: %.40q is not %s", r.Type, rule.Or(rule.SinkTypes))
	case r.Type != send.Webhook && (r.Secret != "" || r.Unsigned):
		return invalid("secret: only sinks of the type WEBHOOK sign their deliveries")
	case r.Secret != "" && r.Unsigned:
		return invalid("secret: is given for a sink that is declared unsigned")
	case r.Secret != "" && (len(r.Secret) < minSecret || len(r.Secret) > maxSecret):
		return invalid("secret: has %d bytes; %d to %d are allowed", len(r.Secret), minSecret, maxSecret)
	case len(r.Users) > maxList || len(r.Groups) > maxList:
		return invalid("users and groups: at most %d of each", maxList)
	}
	if r.Type != Plural {
		if r.Priority != "" || len(r.Users)+len(r.Groups) > 0 {
			return invalid("priority, users and groups: are only for sinks of the type PLURAL")
		}
		return nil
	}
	switch {
	case r.URL != "":
		return invalid("url: sinks of the type PLURAL have none")
	case r.Priority != "" && !slices.Contains(rule.Priorities, r.Priority):
		return invalid("priority: %.40q is not %s", r.Priority, rule.Or(rule.Priorities))
	case len(r.Users)+len(r.Groups) == 0:
		return invalid("users and groups: are empty; name those who see the notifications")
	}
	return nil
}

// checkURL returns the host of a URL, or Invalid. The URL is a credential: no error
// quotes it.
func (n *objects) checkURL(text string) (host string, err error) {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxURL:
		return "", invalid("url: has %d bytes; at most %d are allowed", len(text), maxURL)
	case err != nil || u.Host == "" || u.Hostname() == "" || strings.ContainsAny(text, " \t\r\n"):
		return "", invalid("url: is not a URL with a host")
	case u.User != nil || u.Fragment != "":
		return "", invalid("url: has a user or a fragment, which are not sent")
	case u.Scheme == "https":
	case u.Scheme != "http":
		return "", invalid("url: its scheme is not https")
	case !n.config.AllowHTTP && !loopback(u.Hostname()):
		return "", invalid("url: must begin with https://, because it is a credential and travels in the open otherwise; http:// works for this machine, or with --allow-http-upstreams")
	}
	return u.Host, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// DeleteSink deletes a sink. Conflict while a router names it.
func (n *objects) DeleteSink(ctx context.Context, by, name string) error {
	return n.config.Writer.Write(ctx, func(ctx context.Context) error {
		s, err := n.config.Sinks.SinkByName(ctx, name)
		if err != nil {
			return err
		}
		if _, err := managed.Write(ctx, "notification sink "+name, s.ManagedBy, true); err != nil {
			return err
		}
		routers, err := n.config.Routers.Routers(ctx)
		if err != nil {
			return err
		}
		for _, r := range routers {
			if slices.Contains(r.Sinks, name) {
				return errcode.New(errcode.Conflict, "notification sink %s is used by a router; remove it there first: axle notifications routers list shows them", name)
			}
		}
		if err := n.config.Sinks.DeleteSink(ctx, s.ID); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "notification_sink.deleted", Object: "notification sink " + name, By: by})
	})
}

// projectID returns the id of a project by name, empty for none.
func (n *objects) projectID(ctx context.Context, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	scope, err := n.config.Project(ctx, name)
	return scope.Project, err
}

// full returns Conflict when no further object may be made in a project.
func full[T interface{ Scope() identity.Scope }](ctx context.Context, list func(context.Context) ([]T, error), projectID, what string) error {
	all, err := list(ctx)
	if err != nil {
		return err
	}
	mine := 0
	for _, one := range all {
		if projectID != "" && one.Scope().Project == projectID {
			mine++
		}
	}
	if len(all) >= maxObjects || mine >= maxOfProject {
		return errcode.New(errcode.Conflict, "there are %d notification %s in the hub and %d in the project; at most %d and %d are allowed: delete one first", len(all), what, mine, maxObjects, maxOfProject)
	}
	return nil
}

func sorted(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
