package cleanup

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/client-go/dynamic"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
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
	Hub     Hub
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
	on     atomic.Bool

	// empty counts the passes in a row that found nothing.
	empty      int
	reported   *agentv1.ReportCleanupRequest
	reportedAt time.Time
}

// New returns a Cleaner that does nothing yet.
func New(c Config) *Cleaner { return &Cleaner{config: c, wake: make(chan struct{}, 1)} }

// Set says whether the cluster is being destroyed.
func (c *Cleaner) Set(destroying bool) {
	if c.on.Swap(destroying) == destroying {
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
		if c.on.Load() {
			c.pass(ctx)
			again = c.config.Clock.After(every)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case <-again:
		}
	}
}

func (c *Cleaner) pass(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, passLimit)
	defer cancel()
	r := c.remove(ctx)
	r.BootId = c.config.BootID
	if c.empty++; len(r.GetLeft()) > 0 || r.GetMessage() != "" {
		c.empty = 0
	}
	if r.Done = c.empty >= sure; r.GetDone() != c.reported.GetDone() {
		c.config.Log.Info("what this cluster holds at providers is removed, because it is being destroyed", logkey.Count, len(r.GetLeft()), "done", r.GetDone())
	}
	now := c.config.Clock.Now()
	if c.reported != nil && proto.Equal(c.reported, r) && now.Sub(c.reportedAt) < againAfter {
		return
	}
	if err := c.config.Hub.ReportCleanup(ctx, r); err != nil {
		c.config.Log.Warn("cannot report what this cluster still holds at providers", logkey.Error, err)
		return
	}
	c.reported, c.reportedAt = r, now
}
