package hub

import (
	"crypto/tls"
	"net/http"

	"github.com/axle-cd/axle/hub/oidc"
)

// newSignin creates the OpenID provider. It is always there; without applications it
// refuses every client.
func newSignin(h *Hub) (*oidc.Provider, error) {
	transport := h.config.outward(&tls.Config{MinVersion: tls.VersionTLS12})
	transport.MaxIdleConnsPerHost = 1
	notices := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return oidc.New(oidc.Config{
		HTTP:    notices,
		Stores:  oidc.Stores{Keys: h.store, Grants: h.store, Consents: h.store, Ended: h.store, Devices: h.store, Writer: h.store},
		Clients: h.applications, Identity: h.callers.Identity, Pages: h.login.Pages(), Sealer: h.store.Sealer(), URL: h.URL(), Audit: h.audit,
		Pools: h.pools, Clock: h.config.Clock, Log: h.log,
	})
}
