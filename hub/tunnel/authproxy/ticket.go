package authproxy

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
)

const (
	// ticketFor is how long a ticket is valid.
	ticketFor = 30 * time.Second
	// nonceKept is how long used tickets are remembered, far longer than that.
	nonceKept = time.Hour
	// ticketProtocol is the prefix of the WebSocket subprotocol that carries a
	// ticket, for pages that should not put it into a URL.
	ticketProtocol = "axle.ticket."
)

var errTicketUsed = errcode.New(errcode.Unauthorized, "this ticket was already used; request another")

// Ticket creates a ticket that opens one WebSocket to one path of a cluster, by
// handle, once and within 30 s.
func (p *Proxy) Ticket(ctx context.Context, caller identity.Principal, handle, uri string) (ticket string, until int64, err error) {
	if err := kubereq.CheckPath(uri); err != nil {
		return "", 0, err
	}
	c, err := p.mayUse(ctx, caller, handle)
	if err != nil {
		return "", 0, err
	}
	nonce := make([]byte, 16)
	rand.Read(nonce) // never fails
	until = clock.Micros(p.config.Clock.Now().Add(ticketFor))
	ticket, err = p.seal(grant{Token: caller.TokenID, Cluster: c.ID, Handle: handle, URI: uri, Until: until, Nonce: nonce}, sealedTicket)
	return ticket, until, err
}

// redeem turns a WebSocket with a ticket into the request that the ticket
// names. Only the WebSocket's own headers are forwarded.
func (p *Proxy) redeem(r *http.Request, a *parsedRequest) error {
	if a.head.GetUpgrade() != kubereq.WebSocket {
		return errcode.New(errcode.Invalid, "%s accepts only WebSockets", TicketPath)
	}
	if err := sameOrigin(r); err != nil {
		return err
	}
	text, protocols := r.URL.Query().Get("ticket"), offered(r)
	kept := protocols[:0]
	for _, protocol := range protocols {
		if t, ok := strings.CutPrefix(protocol, ticketProtocol); ok {
			text = t
			continue
		}
		kept = append(kept, protocol)
	}
	g, err := p.open(text, sealedTicket)
	if err != nil {
		return err
	}
	now := p.config.Clock.Now()
	err = p.config.UseNonce(r.Context(), g.Nonce, clock.Micros(now), clock.Micros(now.Add(-nonceKept)))
	if errcode.Is(err, errcode.Conflict) {
		return errTicketUsed
	}
	if err != nil {
		return err
	}
	if a.caller, err = p.config.Identity.Caller(r.Context(), g.Token); err != nil {
		return err
	}
	if a.cluster, err = p.cluster(r.Context(), g.Handle); err != nil {
		return err
	}
	if a.cluster.ID != g.Cluster {
		return errcode.New(errcode.NotFound, "the cluster of this ticket is gone")
	}
	a.handle, a.head.RequestUri, a.info = g.Handle, g.URI, kubereq.Parse(a.head.GetMethod(), g.URI, a.head.GetUpgrade())
	a.head.Headers = webSocketHeaders(r, kept, a.source)
	return p.allow(r.Context(), a)
}

// offered returns the subprotocols that a client offers.
func offered(r *http.Request) []string {
	var all []string
	for _, line := range r.Header["Sec-Websocket-Protocol"] {
		for protocol := range strings.SplitSeq(line, ",") {
			if protocol = strings.TrimSpace(protocol); protocol != "" {
				all = append(all, protocol)
			}
		}
	}
	return all
}

func webSocketHeaders(r *http.Request, protocols []string, source string) []*agentv1.StreamHeader {
	headers := []*agentv1.StreamHeader{{Name: "X-Forwarded-For", Values: []string{source}}}
	for _, name := range []string{"Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Extensions", "User-Agent"} {
		if values := r.Header[name]; len(values) > 0 {
			headers = append(headers, &agentv1.StreamHeader{Name: name, Values: values})
		}
	}
	if len(protocols) > 0 {
		headers = append(headers, &agentv1.StreamHeader{Name: "Sec-Websocket-Protocol", Values: []string{strings.Join(protocols, ", ")}})
	}
	return headers
}

// sameOrigin refuses pages of other sites; programs send no Origin header.
func sameOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || !strings.EqualFold(u.Host, r.Host) {
		return errcode.New(errcode.Forbidden, "a page of %.80s may not open this", origin)
	}
	return nil
}
