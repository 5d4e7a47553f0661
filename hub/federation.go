package hub

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"time"

	"github.com/axle-cd/axle/hub/identity/federation"
	"github.com/axle-cd/axle/internal/errcode"
)

// newIssuers creates the client for issuers' keys. It follows the same address rules
// as sources: no name leads into the hub's own network unless that is allowed.
func (h *Hub) newIssuers() (*federation.Issuers, error) {
	return federation.New(federation.Config{
		Client: func(caPEM string) (*http.Client, error) {
			trusted := &tls.Config{MinVersion: tls.VersionTLS12}
			if caPEM != "" {
				trusted.RootCAs = x509.NewCertPool()
				if !trusted.RootCAs.AppendCertsFromPEM([]byte(caPEM)) {
					return nil, errcode.New(errcode.Invalid, "the certificate authority of the trust holds no PEM certificate")
				}
			}
			return &http.Client{
				Timeout:   10 * time.Second,
				Transport: h.config.outward(trusted),
				CheckRedirect: func(*http.Request, []*http.Request) error {
					return errors.New("redirects to the keys of an issuer are not followed")
				},
			}, nil
		},
		AllowHTTP: h.config.AllowHTTPUpstreams, Clock: h.config.Clock, Log: h.log,
	})
}
