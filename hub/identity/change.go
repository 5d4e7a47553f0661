package identity

import (
	"context"
	"log/slog"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/logkey"
)

// changes runs changes of who may do what.
type changes struct {
	writer Writer
	access *accessIndex
	clock  clock.Clock
	log    *slog.Logger
}

func (c *changes) now() int64 { return clock.Micros(c.clock.Now()) }

// changed holds the ids of the people and groups that a transaction changed.
type changed struct{ users, groups []string }

// apply runs a change of users, groups or bindings, appends it to the
// feed, and updates this replica's memory, so that the change takes effect for
// the caller at once.
func (c *changes) apply(ctx context.Context, change func(ctx context.Context) (changed, error)) error {
	var what changed
	err := c.writer.Write(ctx, func(ctx context.Context) (err error) {
		if what, err = change(ctx); err != nil {
			return err
		}
		for _, id := range what.users {
			if err := event.Append(ctx, event.Change{Kind: event.KindUser, Key: id}); err != nil {
				return err
			}
		}
		for _, id := range what.groups {
			if err := event.Append(ctx, event.Change{Kind: event.KindGroup, Key: id}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.access.reload(ctx, what.users, what.groups); err != nil {
		// The feed brings the change in a moment.
		c.log.Warn("a change of access takes effect on this replica only when the feed delivers it", logkey.Error, err)
	}
	return nil
}
