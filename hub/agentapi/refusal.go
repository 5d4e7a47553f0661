package agentapi

import (
	"context"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/plain"
)

// refusedName is the header in which an agent says, with its next poll, what
// it refused: an altered list, specs, or a tarball, and who served it.
const refusedName = "Axle-Refused"

const (
	// refusalEvery bounds how often one cluster's refusals become events.
	refusalEvery = 10 * time.Minute
	maxRefusal   = 300
)

// refusals remembers when each cluster last complained.
type refusals struct {
	byCluster sync.Map
}

// due reports whether a complaint of a cluster is to be recorded now.
func (r *refusals) due(clusterID string, now time.Time) bool {
	last, ok := r.byCluster.Load(clusterID)
	if at, _ := last.(time.Time); ok && now.Sub(at) < refusalEvery {
		return false
	}
	r.byCluster.Store(clusterID, now)
	return true
}

// refused tells people what an agent refused. The agent is known, but what it
// says is text from outside.
func (s *Server) refused(ctx context.Context, p identity.Principal, what string) {
	s.metrics.refusals.Inc()
	what = plain.Line(what, maxRefusal)
	s.log.Warn("an agent refused what it got", logkey.Cluster, p.Name, logkey.Reason, what)
	if !s.refusals.due(p.ID, s.Clock.Now()) {
		return
	}
	if err := s.Identity.Refused(ctx, p, what); err != nil {
		s.log.Warn("a refusal of an agent cannot be recorded", logkey.Cluster, p.Name, logkey.Error, err)
	}
}
