package hubclient

import (
	"net/http"
	"sync"
)

const (
	proofHeader = "Axle-Position-Proof"
	shownHeader = "Axle-Seen-Proof"
)

// maxProof bounds the stored header, in bytes.
const maxProof = 64

// Proof is the hub's proof that it named a position. A hub whose database was set
// back, by a fail-over or by a restore, cannot distinguish an agent that has seen
// more from one that lies. So it proves each position that it names to an agent, and
// the agent shows the last proof when a replica says that it has not reached that
// position.
type Proof struct {
	mu     sync.Mutex
	shown  string // the position and its proof
	behind bool   // the last answer came from a replica that is behind
}

// String returns the position and the proof, for Config.Shown after a restart; empty
// if there is none.
func (p *Proof) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown
}

// show adds the proof to a request if the last answer asks for it.
func (p *Proof) show(h http.Header) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.behind && p.shown != "" {
		h[shownHeader] = []string{p.shown}
	}
}

// keep stores the proof in an answer to a client that has seen that position.
func (p *Proof) keep(answer http.Header, seen Position) {
	text := answer.Get(positionHeader)
	at, err := ParsePosition(text)
	if text == "" || err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behind = at.Before(seen)
	if proof := answer.Get(proofHeader); proof != "" && !p.behind && len(proof) <= maxProof {
		p.shown = text + " " + proof
	}
}
