package scale

import (
	"context"
	"time"

	"github.com/axle-cd/axle/internal/jitter"
)

// refreshEvery is how often an agent downloads each service's tarball whole, and
// reports all that it has, whatever any digest says.
const refreshEvery = 2 * time.Hour

// refresh does what is due of it. The first times are spread over all of the
// interval, as those of a fleet that runs for long.
func (c *Cluster) refresh(ctx context.Context) error {
	now, due := time.Now(), false
	if c.wholeAt.IsZero() {
		c.wholeAt = now.Add(jitter.Full(refreshEvery))
	} else if now.After(c.wholeAt) {
		c.wholeAt, due, c.whole = now.Add(jitter.Around(refreshEvery, refreshEvery/8)), true, true
	}
	for _, s := range c.services {
		switch {
		case !s.listed || s.content == nil:
		case s.refreshAt.IsZero():
			s.refreshAt = now.Add(jitter.Full(refreshEvery))
		case now.After(s.refreshAt):
			s.refreshAt = now.Add(jitter.Around(refreshEvery, refreshEvery/8))
			if _, err := c.fleet.contents.get(ctx, c.client, s.content.Digest.String(), s.spec.GetEntry()); err != nil {
				return err
			}
			c.reports.Add(1) // for those who count the bytes of polls that find nothing
		}
	}
	if !due {
		return nil
	}
	return c.report(ctx, nil)
}
