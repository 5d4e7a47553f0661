package poll

import (
	"context"
	"time"

	"github.com/axle-cd/axle/agent/poll/content"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/position"
)

// formerLimit bounds the work of one poll for ended registrations; the next poll
// continues.
const formerLimit = 20 * time.Second

// tellFormer reports the ended registrations named by the list.
func tellFormer(ctx context.Context, l *Loop) {
	l.mu.Lock()
	former := l.list.GetFormerClusters()
	l.mu.Unlock()
	if len(former) == 0 || l.config.Former == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, formerLimit)
	defer cancel()
	if err := l.config.Former(ctx, former); err != nil {
		l.config.Log.Warn("cannot release the objects of an ended registration yet", logkey.Error, err)
	}
}

// offered returns the entry to use for a list's entry of a service, see chosen.
// The caller holds Loop.mu.
func offered(l *Loop, s *service, w *agentv1.DesiredService) *agentv1.DesiredService {
	if w.GetWaiting() == nil {
		s.waiting = ""
		return w
	}
	want, why := chosen(s.want, w, appliedOf(l, s), s.spec.GetSpecDigest())
	s.waiting = why
	return want
}

// recall checks a list from the disk again once it is known what the cluster has. The
// caller holds Loop.mu.
func recall(l *Loop, s *service) {
	switch {
	case s.want == nil:
	case s.want.GetWaiting() != nil:
		s.desire(offered(l, s, s.want))
	case l.listedAt.IsZero():
		at := l.list.GetPosition()
		want, why := older(position.Position{Incarnation: at.GetIncarnation(), Sequence: at.GetSequence()}, s.want, appliedOf(l, s))
		if why != "" {
			s.desire(want)
			s.waiting = why
		}
	}
}

func appliedOf(l *Loop, s *service) inventoried {
	if !l.loaded {
		return inventoried{}
	}
	state, _ := l.config.Inventory.State(s.Id)
	return inventoried{TarballDigest: state.TarballDigest, SpecDigest: state.SpecDigest, Seen: state.Seen}
}

// seenOf is the position of the list that a pass works for.
func seenOf(list *agentv1.Desired) string {
	at := list.GetPosition()
	return position.Position{Incarnation: at.GetIncarnation(), Sequence: at.GetSequence()}.String()
}

// idles reports whether nothing can be done for a service while it waits.
func (s *service) idles() bool {
	tarball, _ := content.Of(s.want)
	return s.waiting != "" && tarball == ""
}
