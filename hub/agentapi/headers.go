package agentapi

import (
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/axle-cd/axle/hub/event"
)

// positionHeader caches the current position as a header value, which all
// answers between two changes share.
type positionHeader struct {
	last atomic.Pointer[keptPosition]
}

type keptPosition struct {
	at           event.Position
	value, proof []string
}

// set writes the position of an answer. It adds the proof that the hub issued
// it only for an agent that has not seen it: every byte of an idle poll counts.
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

// keptHeaders caches per cluster the two values of the answer to an idle poll.
// It grows only with the number of polling clusters.
type keptHeaders struct {
	byCluster sync.Map
}

// pollHeaders must not be changed: answers in progress share them.
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
