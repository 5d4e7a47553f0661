package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/agent/hubclient"
	"github.com/axle-cd/axle/agent/identity"
	"github.com/axle-cd/axle/agent/kube"
	"github.com/axle-cd/axle/internal/bootstrap"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

func checkDNS(ctx context.Context, cfg agent.Config) Check {
	c := Check{Name: "dns"}
	if cfg.HubURL == "" {
		return c.fails("no hub is named", "give --hub-url https://host[:port]")
	}
	u, err := url.Parse(cfg.HubURL)
	if err != nil || u.Hostname() == "" {
		return c.fails(fmt.Sprintf("%q is not the URL of a hub", cfg.HubURL), "give --hub-url https://host[:port]")
	}
	name := u.Hostname()
	if proxy := proxyFor(cfg.HubURL); proxy != nil {
		c.Detail = fmt.Sprintf("the proxy %s resolves %s", proxy.Host, name)
		u, name = proxy, proxy.Hostname()
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		return c.fails(err.Error(), "make the name resolvable for this machine or pod, or correct --hub-url (or HTTPS_PROXY)")
	}
	switch {
	case c.Detail != "":
	case name == addresses[0]:
		c.Detail = addresses[0] + " is an IP address; no DNS lookup is needed"
	default:
		c.Detail = fmt.Sprintf("%s is %s", name, addresses[0])
	}
	return c
}

// proxyFor is the proxy for requests to the hub, nil for none.
func proxyFor(hubURL string) *url.URL {
	u, err := url.Parse(hubURL)
	if err != nil {
		return nil
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err != nil {
		return nil
	}
	return proxy
}

// checkHub checks connection, TLS and clock with one request.
func checkHub(ctx context.Context, cfg agent.Config) Check {
	c := Check{Name: "hub"}
	if cfg.HubURL == "" {
		return c.fails("no hub is named", "give --hub-url https://host[:port]")
	}
	ca, err := cfg.CAPEM()
	if err != nil {
		return c.fails(err.Error(), "give --ca-file the hub's ca.pem")
	}
	transport, err := hubclient.NewTransport(ca)
	if err != nil {
		return c.fails(err.Error(), "give --ca-file the hub's ca.pem")
	}
	defer transport.CloseIdleConnections()
	if _, err := hubclient.New(hubclient.Config{URL: cfg.HubURL, Transport: transport}); err != nil {
		return c.fails(err.Error(), "correct --hub-url")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(cfg.HubURL, "/")+"/healthz", nil)
	if err != nil {
		return c.fails(err.Error(), "correct --hub-url")
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return c.fails(errorText(err), fixOf(err, proxyFor(cfg.HubURL)))
	}
	defer answer.Body.Close()
	return c.hubAnswered(cfg, answer)
}

// hubAnswered judges the answer.
func (c Check) hubAnswered(cfg agent.Config, answer *http.Response) Check {
	if to := answer.Header.Get("Location"); to != "" && answer.StatusCode/100 == 3 {
		return c.fails(fmt.Sprintf("%s/healthz answers %s to %.200s", cfg.HubURL, answer.Status, to),
			"a portal or a proxy answers instead of the hub: sign in to this network, or set --hub-url to the hub itself")
	}
	// The hub says "ok" as plain text; a portal's page also has status 200.
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 100))
	if answer.StatusCode != http.StatusOK || strings.TrimSpace(string(body)) != "ok" {
		return c.fails(fmt.Sprintf("%s/healthz answers %s (%s), which is not the answer of a hub", cfg.HubURL, answer.Status, answer.Header.Get("Content-Type")),
			"check whether a proxy or a portal answers instead of the hub, and read the hub's log")
	}
	if at, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		if skew := clockOf(cfg).Now().Sub(at); skew.Abs() >= skewTolerated {
			return c.fails(fmt.Sprintf("this clock differs from the hub's by %v", skew.Round(time.Second)),
				"set the clock of this machine or of the hub's, and synchronise both with NTP; otherwise the hub refuses renewals of the token")
		}
	}
	c.Detail = cfg.HubURL + " answers"
	if answer.TLS != nil && len(answer.TLS.PeerCertificates) > 0 {
		c.Detail += fmt.Sprintf(", %s, certificate good until %s", tls.VersionName(answer.TLS.Version), answer.TLS.PeerCertificates[0].NotAfter.Format(time.DateOnly))
	}
	return c
}

// clockOf is the configured clock.
func clockOf(cfg agent.Config) clock.Clock {
	if cfg.Clock == nil {
		return clock.Real{}
	}
	return cfg.Clock
}

// errorText adds the dates to an error that says "expired or is not yet valid".
func errorText(err error) string {
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Cert != nil {
		return fmt.Sprintf("%v (good from %s to %s)", err, invalid.Cert.NotBefore.Format(time.DateTime), invalid.Cert.NotAfter.Format(time.DateTime))
	}
	return err.Error()
}

// fixOf distinguishes the usual connection failures.
func fixOf(err error, proxy *url.URL) string {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var plain tls.RecordHeaderError
	var lookup *net.DNSError
	switch {
	case errors.As(err, &authority):
		return "the certificate's authority is not trusted here; give --ca-file the hub's ca.pem"
	case errors.As(err, &name):
		return "the certificate is for another name; use one of its names in --hub-url"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "renew the hub's certificate; if its dates look valid, this machine's clock is wrong: set it"
	case errors.As(err, &invalid):
		return "the hub's certificate is not a server certificate; create a new one"
	case errors.As(err, &plain):
		return "the hub speaks plain HTTP here; correct the scheme or the port of --hub-url"
	case proxy != nil:
		return "the proxy " + proxy.Host + " does not let this through: allow the hub's host and port there, or except the hub with NO_PROXY"
	case errors.As(err, &lookup):
		return "make the name resolvable for this machine or pod, or correct --hub-url"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: start the hub, or correct the port of --hub-url"
	}
	return "let this machine or pod reach the hub's address and port; to use a proxy, set HTTPS_PROXY"
}

const tokenFix = "`axle clusters create` or `axle clusters connect` makes one"

// checkIdentity looks for the identity and presents it to the hub.
func checkIdentity(ctx context.Context, cfg agent.Config) Check {
	c := Check{Name: "identity"}
	cfg.SetDefaults()
	var store identity.Store = identity.File{Path: cfg.Dir(identity.FileName)}
	where := cfg.Dir(identity.FileName)
	if cfg.Kubeconfig == "" {
		k, err := kube.New("", cfg.Clock, cfg.Log)
		if err != nil {
			return checkBootstrap(c, cfg)
		}
		store, where = identity.Secret{Client: k.Client, Namespace: cfg.Namespace}, "Secret "+cfg.Namespace+"/"+identity.SecretName
	}
	id, err := store.Load(ctx)
	switch {
	case errcode.Is(err, errcode.Forbidden):
		return c.fails(err.Error(), "bind the agent's account to the role of its manifests; `axle clusters connect NAME --print` shows them")
	case err != nil && !errors.Is(err, os.ErrPermission) && errcode.Is(err, errcode.Unavailable):
		return c.fails(err.Error(), "let this machine or pod reach the API server")
	case err != nil:
		return c.fails(err.Error(), "delete it, and register the cluster again with a new bootstrap token; "+tokenFix)
	case id == nil || !id.Registered():
		return checkBootstrap(c, cfg)
	case id.HubURL != cfg.HubURL:
		return c.fails(fmt.Sprintf("the identity in %s is for the hub %s, but --hub-url is %s", where, id.HubURL, cfg.HubURL),
			"correct --hub-url, or delete the identity and register the cluster at this hub")
	}
	c.Detail = "cluster " + id.ClusterName + ", in " + where
	if id.FirstHeard {
		c.Detail += "; warning: " + bootstrap.Unnamed
	}
	return c.accepted(ctx, cfg, id)
}

// checkBootstrap checks what the first start needs.
func checkBootstrap(c Check, cfg agent.Config) Check {
	if cfg.TokenFile == "" {
		return c.fails("there is no identity yet and no --token-file", "give --token-file with a bootstrap token; "+tokenFix)
	}
	_, named, err := bootstrap.Read(cfg.TokenFile)
	if err != nil {
		return c.fails(err.Error(), "write a bootstrap token into the file; "+tokenFix)
	}
	if c.Detail = "not registered yet; a bootstrap token is in " + cfg.TokenFile; !named {
		c.Detail += "; warning: " + bootstrap.Unnamed
	}
	return c
}

// accepted requests the list once with the stored token. It renews nothing: that is
// the task of a running agent.
func (c Check) accepted(ctx context.Context, cfg agent.Config, id *identity.Identity) Check {
	ca, err := cfg.CAPEM()
	if err != nil {
		return c // the hub's check reports it
	}
	transport, err := hubclient.NewTransport(ca)
	if err != nil {
		return c
	}
	defer transport.CloseIdleConnections()
	client, err := hubclient.New(hubclient.Config{
		URL: cfg.HubURL, Transport: transport, ClusterID: id.ClusterID, Token: id.Token, Keys: id.SigningKeys, Former: id.FormerKeys, Attempts: 1, Clock: cfg.Clock,
	})
	if err != nil {
		return c
	}
	_, err = client.Desired(ctx, "")
	switch hubclient.ReasonOf(err) {
	case "":
		c.Detail += ", and the hub knows it"
	case hubclient.Unauthorized:
		if id.ExpiresAt > 0 && clockOf(cfg).Now().After(clock.FromMicros(id.ExpiresAt)) {
			c.Detail += fmt.Sprintf("; its token ended at %s and is renewed by the agent when it runs", clock.FromMicros(id.ExpiresAt).Format(time.DateTime))
			return c
		}
		return c.fails(err.Error(), "the token was revoked or the cluster deleted: register it again with `axle clusters connect NAME`")
	case hubclient.Refused:
		return c.fails(err.Error(), "look at the cluster with `axle clusters get NAME`: it shows what is wrong with its identity")
	case hubclient.Untrusted:
		return c.fails(err.Error(), "another hub answers at this address; correct --hub-url, or register the cluster again at this hub")
	}
	return c
}
