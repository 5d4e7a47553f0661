package tunnel

import (
	"io"
	"net/http"
	"time"

	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/wsconn"
)

const (
	// modeProbe is sent by agents that only test whether WebSockets get
	// through.
	modeProbe = "probe"
	// probeBytes are echoed for each probe, which lives at most probeWithin.
	probeBytes  = 32
	probeWithin = 5 * time.Second
	// maxProbes is how many are held at once.
	maxProbes = 16
)

// probe echoes the first bytes, so that `axle-agent doctor` sees a WebSocket
// work in both directions. It needs no token: an unregistered cluster has none,
// and with a token a hub without probes would open a tunnel, which would
// replace the agent's own.
func (t *Tunnels) probe(w http.ResponseWriter, r *http.Request) {
	held, err := t.pools.probes.Take(pool.Stranger(r.RemoteAddr))
	if err != nil {
		refuse(w, err)
		return
	}
	defer held.Leave()
	conn, err := wsconn.Accept(w, r, protocol)
	if err != nil {
		refuse(w, err)
		return
	}
	defer conn.Close()
	// A connection that accepts no deadline is already closed.
	_ = conn.SetDeadline(time.Now().Add(probeWithin))
	bytes := make([]byte, probeBytes)
	if _, err := io.ReadFull(conn, bytes); err != nil {
		return
	}
	if _, err := conn.Write(bytes); err != nil {
		return
	}
	// The other end closes when it has received them.
	_, _ = conn.Read(bytes[:1])
}
