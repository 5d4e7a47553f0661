package cleanup

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// every is how often the cluster is looked at, and passLimit bounds one look.
	every     = 5 * time.Second
	passLimit = 2 * time.Minute
	// againAfter is how often a report is repeated that changed nothing.
	againAfter = time.Minute
	// named is how many objects a report names.
	named = 50
	// sure is how many passes in a row have to find nothing: the API server takes a moment
	// until it refuses new objects.
	sure = 2
)

// Hub gets the reports.
type Hub interface {
	ReportCleanup(ctx context.Context, r *agentv1.ReportCleanupRequest) error
}

// Config is what a Cleaner needs. All fields are required.
type Config struct {
	Hub Hub
	// Client lists and Dynamic changes the objects of the cluster.
	Client  rest.Interface
	Dynamic dynamic.Interface
	BootID  string
	Clock   clock.Clock
	Log     *slog.Logger
}

// Cleaner removes what a cluster holds at providers, once it is set to. Set is safe for
// concurrent use with Run.
type Cleaner struct {
	config Config
	wake   chan struct{}
	wanted atomic.Int32

	// empty counts the passes in a row that found nothing.
	empty int
	// reported is the last report that the hub took, nil while it is not known to want any.
	reported   *agentv1.ReportCleanupRequest
	reportedAt time.Time
	// askAt is when to report again after the hub refused this cluster.
	askAt time.Time
}

// What the list says: nothing yet, that the cluster stays, that it is being destroyed.
const (
	unknown int32 = iota
	stays
	destroyed
)

// New returns a Cleaner that does nothing yet.
func New(c Config) *Cleaner { return &Cleaner{config: c, wake: make(chan struct{}, 1)} }

// Set says whether the cluster is being destroyed.
func (c *Cleaner) Set(destroying bool) {
	now := stays
	if destroying {
		now = destroyed
	}
	if c.wanted.Swap(now) == now {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run works until the context ends.
func (c *Cleaner) Run(ctx context.Context) error {
	for {
		var again <-chan time.Time
		switch c.wanted.Load() {
		case destroyed:
			c.pass(ctx)
			again = c.config.Clock.After(every)
		case stays: // an agent of before may have left the refusal
			if c.reported = nil; !c.admit(ctx) {
				again = c.config.Clock.After(againAfter)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case <-again:
		}
	}
}

// pass deletes what the cluster holds, if the hub still wants that: somebody may have removed
// the cluster from the hub and kept its machines, of which no list comes.
func (c *Cleaner) pass(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, passLimit)
	defer cancel()
	if c.config.Clock.Now().Before(c.askAt) {
		return
	}
	if c.reported == nil && !c.report(ctx, &agentv1.ReportCleanupRequest{BootId: c.config.BootID, Message: "its agent looks for what is left at the provider"}) {
		return
	}
	r := c.remove(ctx)
	r.BootId = c.config.BootID
	if c.empty++; len(r.GetLeft()) > 0 || r.GetMessage() != "" {
		c.empty = 0
	}
	if r.Done = c.empty >= sure; r.GetDone() != c.reported.GetDone() {
		c.config.Log.Info("what this cluster holds at providers is removed, because it is being destroyed", logkey.Count, len(r.GetLeft()), "done", r.GetDone())
	}
	if !proto.Equal(c.reported, r) || c.config.Clock.Now().Sub(c.reportedAt) >= againAfter {
		c.report(ctx, r)
	}
}

// report returns whether the hub took a report. When the hub no longer knows this cluster,
// nothing more is deleted, and new objects are taken again.
func (c *Cleaner) report(ctx context.Context, r *agentv1.ReportCleanupRequest) bool {
	err := c.config.Hub.ReportCleanup(ctx, r)
	if err == nil {
		c.reported, c.reportedAt = r, c.config.Clock.Now()
		return true
	}
	c.config.Log.Warn("cannot report what this cluster still holds at providers", logkey.Error, err)
	if errcode.Is(err, errcode.Unauthorized) {
		c.reported, c.empty, c.askAt = nil, 0, c.config.Clock.Now().Add(againAfter)
		c.admit(ctx)
	}
	return false
}
