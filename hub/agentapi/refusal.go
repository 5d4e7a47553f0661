package agentapi

import (
	"context"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/plain"
)

// refusedName is the header with which an agent reports in its next poll what
// it refused: an altered list, specs or tarball, and who served it.
const refusedName = "Axle-Refused"

const (
	// refusalEvery limits how often one cluster's refusals become events.
	refusalEvery = 10 * time.Minute
	maxRefusal   = 300
)

// refusals remembers when each cluster last reported a refusal.
type refusals struct {
	byCluster sync.Map
}

// due reports whether a cluster's refusal is to be recorded now.
func (r *refusals) due(clusterID string, now time.Time) bool {
	last, ok := r.byCluster.Load(clusterID)
	if at, _ := last.(time.Time); ok && now.Sub(at) < refusalEvery {
		return false
	}
	r.byCluster.Store(clusterID, now)
	return true
}

// refused records what an agent refused, for people. The agent is
// authenticated, but its text is untrusted.
func (s *Server) refused(ctx context.Context, p identity.Principal, what string) {
	s.metrics.refusals.Inc()
	what = plain.Line(what, maxRefusal)
	s.log.Warn("an agent refused data that it received", logkey.Cluster, p.Name, logkey.Reason, what)
	if !s.refusals.due(p.ID, s.config.Clock.Now()) {
		return
	}
	if err := s.config.Keys.Refused(ctx, p, what); err != nil {
		s.log.Warn("a refusal of an agent cannot be recorded", logkey.Cluster, p.Name, logkey.Error, err)
	}
}
