package agentapi

import (
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/axle-cd/axle/hub/event"
)

// positionHeader keeps the present position as a header value, which all
// answers between two changes share.
type positionHeader struct {
	last atomic.Pointer[keptPosition]
}

type keptPosition struct {
	at           event.Position
	value, proof []string
}

// set writes the position of an answer, and the proof that the hub named it to
// an agent that has not seen it: an idle poll is paid by the byte.
func (p *positionHeader) set(h http.Header, f Feed, at event.Position, seen string) {
	kept := p.last.Load()
	if kept == nil || kept.at != at {
		kept = &keptPosition{at, []string{at.String()}, []string{f.Proof(at)}}
		p.last.Store(kept)
	}
	if kept.value[0] != "" {
		h[positionName] = kept.value
	}
	if kept.proof[0] != "" && kept.value[0] != seen {
		h[proofName] = kept.proof
	}
}

// keptHeaders keeps per cluster the two values that an idle poll answers. It
// grows with the clusters that poll and with nothing else.
type keptHeaders struct {
	byCluster sync.Map
}

// pollHeaders must not be changed: answers under way share them.
type pollHeaders struct {
	etag, status []string
}

func (k *keptHeaders) get(clusterID, etag, status string) *pollHeaders {
	if v, ok := k.byCluster.Load(clusterID); ok {
		if kept, ok := v.(*pollHeaders); ok && kept.etag[0] == etag && kept.status[0] == status {
			return kept
		}
	}
	fresh := &pollHeaders{[]string{etag}, []string{status}}
	k.byCluster.Store(clusterID, fresh)
	return fresh
}
