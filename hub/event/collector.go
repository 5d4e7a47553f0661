package event

import (
	"context"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/axle-cd/axle/internal/errcode"
)

// Kind is the kind of object that a feed row is about. A replica that meets an
// unknown kind drops its snapshot of that key.
type Kind string

// The kinds of feed rows.
const (
	KindProject    Kind = "project"
	KindCluster    Kind = "cluster"
	KindRepository Kind = "repository"
	KindSource     Kind = "source"
	KindHead       Kind = "head"
	KindService    Kind = "service"
	KindReport     Kind = "report"
	// KindStatus is the status of a service or, without a key, those of a
	// cluster.
	KindStatus      Kind = "status"
	KindToken       Kind = "token"
	KindSigningKey  Kind = "signing_key"
	KindIncarnation Kind = "incarnation"
	KindContext     Kind = "context"
	KindOutputs     Kind = "outputs"
	// KindFollowers represents many services of one source; see Followers.
	KindFollowers Kind = "followers"
	// KindProjectMember means that something moved to the project of the key.
	KindProjectMember Kind = "project_member"
	// KindGlobal is a global service, or a cluster whose targets may change.
	KindGlobal Kind = "global"
	// KindOperation is an operation of hub/operations, begun, ended or a step further.
	KindOperation Kind = "operation"
	// KindObject is an object of hub/objects, whatever its kind there.
	KindObject Kind = "object"
	// KindNotification is a notification that people have in the console.
	KindNotification Kind = "notification"
	// KindUser is a user or service account with their groups and bindings,
	// KindGroup a group with its bindings.
	KindUser  Kind = "user"
	KindGroup Kind = "group"
)

// Change is one feed row: what to read again. It carries no data, so a row can
// never disagree with the table it points at.
type Change struct {
	Kind Kind
	// Key is the id of the changed object.
	Key string
	// Cluster is the cluster it belongs to, empty for none.
	Cluster string
}

// Followers returns the change of the services that follow a source and whose
// ids are greater than after and not greater than last. Subscribers see it, and
// in addition a change of each of the services.
func Followers(sourceID, after, last string) Change {
	return Change{Kind: KindFollowers, Key: sourceID + " " + after + " " + last}
}

// Followers returns the arguments of the function Followers; ok is false for
// any other change.
func (c Change) Followers() (sourceID, after, last string, ok bool) {
	words := strings.Split(c.Key, " ")
	if c.Kind != KindFollowers || len(words) != 3 {
		return "", "", "", false
	}
	return words[0], words[1], words[2], true
}

// Row is a Change with its position.
type Row struct {
	Change
	Sequence int64
	// At is when it was committed, in microseconds since 1970 UTC by the clock
	// of the committing replica; zero is unknown.
	At int64
}

// Why says why something happens, beside who did it.
type Why struct {
	// Reason is in a person's words.
	Reason string
	// Operation is the id of the operation that it is a part of.
	Operation string
}

// maxReason limits a reason, in characters.
const maxReason = 500

// Check returns Invalid for a reason that is long, or more than one line.
func (w Why) Check() error {
	if n := utf8.RuneCountInString(w.Reason); n > maxReason || !utf8.ValidString(w.Reason) {
		return errcode.New(errcode.Invalid, "reason: has %d characters of UTF-8, and at most %d are kept", n, maxReason)
	}
	if strings.ContainsFunc(w.Reason, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return errcode.New(errcode.Invalid, "reason: is one line without control characters")
	}
	return nil
}

type whyKey struct{}

// Because gives a reason for all that happens in ctx.
func Because(ctx context.Context, w Why) context.Context { return context.WithValue(ctx, whyKey{}, w) }

// Reason returns the reason of ctx in a person's words, empty for none.
func Reason(ctx context.Context) string {
	w, _ := ctx.Value(whyKey{}).(Why)
	return w.Reason
}

// Noted returns an event's message with the reason of ctx.
func Noted(ctx context.Context, message string) string {
	w, _ := ctx.Value(whyKey{}).(Why)
	if w.Operation != "" {
		w.Operation = "operation " + w.Operation
	}
	parts := slices.DeleteFunc([]string{message, w.Reason, w.Operation}, func(s string) bool { return s == "" })
	return strings.Join(parts, "; ")
}

// Entry is an event for people.
type Entry struct {
	// ID counts entries; set when read.
	ID int64
	// At is microseconds since 1970 UTC; set by the store when zero.
	At int64
	// Kind is what happened, "<noun>.<past participle>": service.updated.
	Kind string
	// Object names the object, "service edge-1/web".
	Object string
	// By is who did it: an e-mail, a service account, "hub" or an agent.
	By      string
	Message string
	// Cluster and Service are ids to filter by, empty when the event is about
	// none.
	Cluster string
	Service string
	// Cause is what made it happen, the revision of a service's source; empty is unknown.
	Cause string
}

// Collector collects what one transaction appended.
type Collector struct {
	mu           sync.Mutex
	changes      []Change
	entries      []Entry
	dependencies []Change
}

type collectorKey struct{}

// WithCollector returns a context whose Append and Record calls go to the
// returned Collector. The store calls it at the start of a transaction.
func WithCollector(ctx context.Context) (context.Context, *Collector) {
	c := &Collector{}
	return context.WithValue(ctx, collectorKey{}, c), c
}

// Changes returns the appended changes in order, without duplicates.
func (c *Collector) Changes() []Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := map[Change]bool{}
	var unique []Change
	for _, change := range c.changes {
		if !seen[change] {
			seen[change] = true
			unique = append(unique, change)
		}
	}
	return unique
}

// Entries returns the recorded entries in order.
func (c *Collector) Entries() []Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Entry(nil), c.entries...)
}

var errNoTransaction = errcode.New(errcode.Internal, "a change was appended outside a transaction")

// Append adds changes to the transaction of ctx. Outside a transaction it
// returns an Internal error, because the change would not reach the feed.
func Append(ctx context.Context, changes ...Change) error {
	c, ok := ctx.Value(collectorKey{}).(*Collector)
	if !ok {
		return errNoTransaction
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes = append(c.changes, changes...)
	return nil
}

// Record adds an event for people to the transaction of ctx.
func Record(ctx context.Context, entry Entry) error {
	c, ok := ctx.Value(collectorKey{}).(*Collector)
	if !ok {
		return errNoTransaction
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(c.entries, entry)
	return nil
}

// DependsOn declares that the transaction of ctx is only correct if no other one
// changes what is named here between its snapshot and its commit. An example is
// the head with which a new service begins: the transaction that changes the
// head looks for services to update, and cannot see one that is not committed.
// The store retries the transaction when that happened. An empty Key is
// anything of the Kind, of one Cluster when that is set.
func DependsOn(ctx context.Context, on ...Change) error {
	c, ok := ctx.Value(collectorKey{}).(*Collector)
	if !ok {
		return errNoTransaction
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dependencies = append(c.dependencies, on...)
	return nil
}

// Dependencies returns the changes that were passed to DependsOn.
func (c *Collector) Dependencies() []Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Change(nil), c.dependencies...)
}

// Matches reports whether a change is covered by c, an argument of DependsOn.
func (c Change) Matches(other Change) bool {
	return c.Kind == other.Kind && (c.Key == "" || c.Key == other.Key) && (c.Cluster == "" || c.Cluster == other.Cluster)
}

// Receipt records the position of the last transaction committed under a
// context, so that an edge can return the position with the answer to a write.
type Receipt struct {
	mu sync.Mutex
	at Position
}

type receiptKey struct{}

// WithReceipt returns a context whose commits are recorded in the Receipt.
// Edges call it once per request.
func WithReceipt(ctx context.Context) (context.Context, *Receipt) {
	r := &Receipt{}
	return context.WithValue(ctx, receiptKey{}, r), r
}

// Committed records a commit; the store calls it after each one that appended
// rows.
func Committed(ctx context.Context, at Position) {
	if r, ok := ctx.Value(receiptKey{}).(*Receipt); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.at.Before(at) {
			r.at = at
		}
	}
}

// Position returns the position of the last commit, zero when there was none.
func (r *Receipt) Position() Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}
