package tunnel

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/wsconn"
)

const (
	// Path is where agents open tunnels.
	Path = "/agent/v1/tunnel"
	// protocol is the WebSocket subprotocol.
	protocol = "axle.tunnel.v1"
	// protocolVersion is the version of the protocol inside the connection:
	// from 2 on the head of a request without a body may come in a header, from
	// 3 on such a request may be one frame, from 4 on the agent itself answers
	// questions about readiness, from 5 on about credentials of clusters that it makes,
	// from 6 on about metrics, logs and alerts.
	protocolVersion = 6
	// inlineSince is the version that introduced heads in headers.
	inlineSince = 2
	// readinessSince is the version from which on agents answer a ReadinessQuestion.
	readinessSince = 4
	// credentialSince is the version from which on agents answer a CredentialQuestion.
	credentialSince = 5
	// observeSince is the version from which on agents answer an ObserveQuestion.
	observeSince = 6
	// modeHeader is sent by agents that do not want a tunnel with this request.
	modeHeader = "Axle-Tunnel"
	modeOff    = "off"
)

// ServeHTTP takes over an agent's connection.
func (t *Tunnels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(modeHeader) == modeProbe {
		t.probe(w, r)
		return
	}
	p, err := t.admit(r)
	if err != nil {
		refuse(w, err)
		return
	}
	if r.Header.Get(modeHeader) == modeOff {
		t.off(p.ID)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	conn, err := wsconn.Accept(w, r, protocol)
	if err != nil {
		refuse(w, err)
		return
	}
	// The request ends here: its goroutine has a larger stack than an idle
	// connection needs.
	remote := r.RemoteAddr
	ctx := context.WithoutCancel(r.Context())
	t.running.Go(func() { t.greet(ctx, conn, p, remote) })
}

// admit authenticates the cluster.
func (t *Tunnels) admit(r *http.Request) (p identity.Principal, err error) {
	t.mu.Lock()
	stopping := t.stopping
	t.mu.Unlock()
	switch {
	case r.Method != http.MethodGet:
		return p, errcode.New(errcode.Invalid, "a tunnel must be opened with a GET request")
	case stopping:
		return p, errcode.New(errcode.Unavailable, "this replica is stopping; dial again to reach another one").After(time.Second)
	}
	bearer := bearertoken.Of(r.Header)
	seen, err := event.ParsePosition(r.Header.Get("Axle-Seen"))
	if err != nil {
		return p, err
	}
	err = t.config.Feed.CatchUp(r.Context(), seen, func(ctx context.Context) error {
		_, err := t.config.Identity.Authenticate(ctx, bearer)
		return err
	})
	if err != nil {
		return p, err
	}
	if p, err = t.config.Identity.Authenticate(r.Context(), bearer); err == nil && p.Kind != identity.KindCluster {
		err = errcode.New(errcode.Forbidden, "this address is for agents; a token of kind %s does not work here", p.Kind)
	}
	if err != nil {
		return p, err
	}
	// Strangers got their answer: they cost no handshake, and no agent its place.
	return p, t.pools.dials.Take(pool.Caller{Name: p.ID, Project: t.config.Project(p.ID)})
}

// refuse answers with an error in the form of the agents' edge.
func refuse(w http.ResponseWriter, err error) {
	code := errcode.Of(err)
	errcode.SetRetryAfter(w.Header(), err)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(errcode.HTTPStatus(code))
	// A client that went away does not need its error.
	_ = json.NewEncoder(w).Encode(map[string]string{"code": string(code), "message": errcode.Message(err)})
}

// greet starts HTTP/2 and says hello; then the cluster has the connection.
func (t *Tunnels) greet(ctx context.Context, conn net.Conn, p identity.Principal, remote string) {
	now := t.config.Clock.Now()
	c := &connection{
		places:    t.pools.cluster.Another("requests to cluster " + p.Name),
		clusterID: p.ID, clusterName: p.Name, tokenID: p.TokenID, remote: remote,
		since: now, endsAt: now.Add(jitter.Add(t.config.MaxLife, t.config.LifeSpread)),
	}
	joined := wsconn.Join(conn, true)
	unanswered := receiveUnary(joined)
	c.raw = &heardConn{Conn: joined, pending: unanswered, ended: func() { t.ended(c) }}
	cc, err := client(ctx, t.transport, c.raw)
	if err == nil {
		c.cc, c.agent = cc, controlOf(cc)
		err = t.hello(ctx, c, unanswered)
	}
	if err == nil {
		err = t.hold(c)
	}
	if err != nil {
		c.places.Close()
		t.config.Log.Info("a tunnel was not accepted", logkey.Cluster, p.Name, logkey.Address, remote, logkey.Error, err)
		if c.cc != nil {
			c.close()
		}
		return
	}
	t.metrics.accepted.Inc()
	t.config.Log.Debug("a tunnel is up", logkey.Cluster, p.Name, logkey.Address, remote)
	t.recheck(c)
}

func (t *Tunnels) hello(ctx context.Context, c *connection, unanswered *pendingRequests) error {
	answer, err := c.say(ctx, t.config.HelloWithin, &agentv1.ControlRequest{Message: &agentv1.ControlRequest_Hello{Hello: &agentv1.TunnelHello{
		ProtocolVersion: protocolVersion, Version: buildinfo.Version, ClusterId: c.clusterID,
		MaxLifeMicros: t.config.MaxLife.Microseconds(), Replica: t.config.Replica,
	}}})
	if err != nil {
		return err
	}
	c.version, c.proxy = answer.GetHello().GetVersion(), answer.GetHello().GetProxy()
	c.inline = answer.GetHello().GetProtocolVersion() >= inlineSince
	c.readiness = answer.GetHello().GetProtocolVersion() >= readinessSince
	c.credential = answer.GetHello().GetProtocolVersion() >= credentialSince
	c.observe = answer.GetHello().GetProtocolVersion() >= observeSince
	if answer.GetHello().GetProtocolVersion() >= unarySince {
		c.pending = unanswered
	}
	return nil
}

// recheck covers what changed while the cluster had no tunnel, and a token that
// was revoked while the connection started.
func (t *Tunnels) recheck(c *connection) {
	t.tokenGone(c)
	t.news([]string{c.clusterID})
}
