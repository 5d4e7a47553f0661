package tunnel

import (
	"io"
	"net/http"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/wsconn"
)

const (
	// modeProbe is sent by agents that only look whether WebSockets get through.
	modeProbe = "probe"
	// probeBytes come back of each probe, which lives no longer than probeWithin.
	probeBytes  = 32
	probeWithin = 5 * time.Second
	// maxProbes is how many are held at once.
	maxProbes = 16
)

// probe gives back what comes first, so that `axle-agent doctor` sees a
// WebSocket pass in both directions. It needs no token: a cluster that is not
// registered yet has none, and one shown here would mean a tunnel to a hub that
// knows no probes, which would take the place of the agent's own.
func (t *Tunnels) probe(w http.ResponseWriter, r *http.Request) {
	select {
	case t.probes <- struct{}{}:
		defer func() { <-t.probes }()
	default:
		refuse(w, errcode.New(errcode.Unavailable, "many agents look at once whether WebSockets get through; try again in a few seconds").After(probeWithin))
		return
	}
	conn, err := wsconn.Accept(w, r, protocol)
	if err != nil {
		refuse(w, err)
		return
	}
	defer conn.Close()
	// A connection that takes no deadline is one that is closed already.
	_ = conn.SetDeadline(time.Now().Add(probeWithin))
	bytes := make([]byte, probeBytes)
	if _, err := io.ReadFull(conn, bytes); err != nil {
		return
	}
	if _, err := conn.Write(bytes); err != nil {
		return
	}
	// The other end closes when it has them.
	_, _ = conn.Read(bytes[:1])
}
