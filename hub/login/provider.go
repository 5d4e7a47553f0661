package login

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// providerTimeout limits one request to a provider.
	providerTimeout = 10 * time.Second
	// maxAnswer limits how much of a provider's answer is read.
	maxAnswer = 1 << 20
	// discoveryKept is how long a discovery is fresh; an older one is still
	// used while the provider does not answer.
	discoveryKept = time.Hour
	// discoveryRetry is how long a failure is cached, so that many logins do
	// not all wait for a provider that is down.
	discoveryRetry = 5 * time.Second
	// maxRedirects limits how many redirects one request follows.
	maxRedirects = 3
	// listKept is how long the list of providers is cached.
	listKept = 2 * time.Second
)

// providers caches the providers for this replica.
type providers struct {
	accounts  *account.Accounts
	transport Transport
	clock     clock.Clock
	// discovered is called with each provider's first discovery; nil for none.
	discovered func(*provider, *discovery)

	mu     sync.Mutex
	list   []account.Provider
	listAt time.Time
	known  map[string]*provider
}

func newProviders(accounts *account.Accounts, transport Transport, c clock.Clock) *providers {
	return &providers{accounts: accounts, transport: transport, clock: c, known: map[string]*provider{}}
}

// all returns the providers, at most listKept old, so the login page needs no query.
func (ps *providers) all(ctx context.Context) ([]account.Provider, error) {
	ps.mu.Lock()
	list, fresh := ps.list, ps.clock.Now().Sub(ps.listAt) < listKept && !ps.listAt.IsZero()
	ps.mu.Unlock()
	if fresh {
		return list, nil
	}
	list, err := ps.accounts.Providers(ctx)
	if err != nil {
		return nil, err
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.list, ps.listAt = list, ps.clock.Now()
	for name := range ps.known {
		if !slices.ContainsFunc(list, func(p account.Provider) bool { return p.Name == name }) {
			delete(ps.known, name)
		}
	}
	return list, nil
}

// down returns why a provider did not answer the last request, until a later
// one succeeds.
func (ps *providers) down(name string) string {
	ps.mu.Lock()
	p := ps.known[name]
	ps.mu.Unlock()
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil || ps.clock.Now().Sub(p.failedAt) > time.Minute {
		return ""
	}
	return errcode.Message(p.failed)
}

// provider returns a provider as it is configured now. NotFound.
func (ps *providers) provider(ctx context.Context, name string) (*provider, error) {
	p, secret, err := ps.accounts.ProviderByName(ctx, name)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(struct {
		P account.Provider
		S string
	}{p, secret})
	if err != nil {
		return nil, err
	}
	mark := sha256.Sum256(text)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if known := ps.known[name]; known != nil && known.mark == mark {
		return known, nil
	}
	made, err := ps.unknown(p, secret)
	if err != nil {
		return nil, err
	}
	made.mark, made.discovered = mark, ps.discovered
	ps.known[name] = made
	return made, nil
}

// unknown returns a provider that nothing is known of yet.
func (ps *providers) unknown(p account.Provider, secret string) (*provider, error) {
	transport, err := ps.transport(p.CAPEM)
	if err != nil {
		return nil, err
	}
	return &provider{Provider: p, secret: secret, clock: ps.clock, client: &http.Client{Transport: shortAnswers{transport}, Timeout: providerTimeout, CheckRedirect: stays}}, nil
}

// stays follows a provider's redirects only on its own host: a redirect that
// repeats a request would send the client's secret and the code along.
func stays(r *http.Request, via []*http.Request) error {
	if first := via[0].URL; r.URL.Scheme != first.Scheme || r.URL.Host != first.Host {
		return errcode.New(errcode.Unavailable, "it sends the hub to another host, %.200s", r.URL.Host)
	}
	if len(via) >= maxRedirects {
		return errcode.New(errcode.Unavailable, "it redirects in a circle")
	}
	return nil
}

// shortAnswers limits how much of an answer is read.
type shortAnswers struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b shortAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// provider is one provider with the result of discovery.
type provider struct {
	account.Provider
	secret string
	mark   [sha256.Size]byte
	client *http.Client
	clock  clock.Clock

	discovered func(*provider, *discovery)

	// asking is held while discovery runs.
	asking sync.Mutex

	mu       sync.Mutex
	found    *discovery
	foundAt  time.Time
	failed   error
	failedAt time.Time
}

// discovery is a provider's discovery document.
type discovery struct {
	*oidc.Provider
	EndSession string   `json:"end_session_endpoint"`
	Keys       string   `json:"jwks_uri"`
	People     string   `json:"userinfo_endpoint"`
	Methods    []string `json:"token_endpoint_auth_methods_supported"`
	// IssInAnswer is set when answers name the issuer (RFC 9207).
	IssInAnswer bool `json:"authorization_response_iss_parameter_supported"`
	// Claims are the claims that its tokens may have.
	Claims []string `json:"claims_supported"`
	// BackChannel is set when it can send back-channel logouts.
	BackChannel bool `json:"backchannel_logout_supported"`
}

// state returns the last discovery and whether it is fresh.
func (p *provider) state() (found *discovery, fresh bool, failed error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if p.failed != nil && now.Sub(p.failedAt) < discoveryRetry {
		failed = p.failed
	}
	return p.found, p.found != nil && now.Sub(p.foundAt) < discoveryKept, failed
}

// discover returns the provider's discovery document. Unavailable says why it
// cannot be fetched.
func (p *provider) discover(ctx context.Context) (*discovery, error) {
	if found, fresh, failed := p.state(); fresh {
		return found, nil
	} else if failed != nil {
		if found != nil {
			return found, nil
		}
		return nil, failed
	}
	p.asking.Lock()
	defer p.asking.Unlock()
	if found, fresh, failed := p.state(); fresh || (failed != nil && found != nil) {
		return found, nil
	} else if failed != nil {
		return nil, failed
	}
	found, err := p.ask(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if err != nil {
		p.failed, p.failedAt = err, now
		if p.found != nil {
			return p.found, nil
		}
		return nil, err
	}
	if p.found == nil && p.discovered != nil {
		p.discovered(p, found)
	}
	p.found, p.foundAt, p.failed = found, now, nil
	return found, nil
}

func (p *provider) ask(ctx context.Context) (*discovery, error) {
	// The caller may go away; others wait for the answer too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), providerTimeout)
	defer cancel()
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.Issuer)
	if err != nil {
		return nil, p.unreachable(err)
	}
	found := &discovery{}
	if err := provider.Claims(found); err != nil {
		return nil, p.unreachable(err)
	}
	found.Provider = provider
	if e := provider.Endpoint(); !usable(e.AuthURL) || !usable(e.TokenURL) || !usable(found.Keys) || found.People != "" && !usable(found.People) {
		return nil, errcode.New(errcode.Unavailable, "%s does not report where to log in; is %s an OpenID Connect issuer?", p.Title, p.Issuer)
	}
	if found.EndSession != "" && !usable(found.EndSession) {
		found.EndSession = ""
	}
	return found, nil
}

// usable reports whether the hub may follow a URL from a provider.
func usable(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || (u.Scheme == "http" && (u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())))
}

// unreachable describes for people why a provider cannot be used. It does not
// repeat the provider's answer, which may be anybody's page.
func (p *provider) unreachable(err error) error {
	var mismatch *oidc.IssuerMismatchError
	var network net.Error
	var unknown x509.UnknownAuthorityError
	var coded *errcode.Error
	why := "it does not answer as an OpenID Connect issuer does"
	switch {
	case errors.As(err, &mismatch):
		why = fmt.Sprintf("it calls itself %.200q, not %.200q; use that as the issuer", mismatch.Discovered, p.Issuer)
	case errors.As(err, &coded):
		why = coded.Message
	case errors.As(err, &unknown):
		why = "its certificate is signed by an authority that this hub does not trust"
	case errors.As(err, &network) && network.Timeout():
		why = "it does not answer in time"
	case errors.As(err, &network):
		why = "it cannot be reached"
	}
	return errcode.Hide(errcode.Unavailable, err, "%s cannot be used to log in now: %s. Existing sessions are not affected; try again later, or log in another way", p.Title, why).After(discoveryRetry)
}

// config returns the OAuth configuration for a login at the provider.
func (p *provider) config(found *discovery, callback string) *oauth2.Config {
	endpoint := found.Endpoint()
	basic, post := slices.Contains(found.Methods, "client_secret_basic"), slices.Contains(found.Methods, "client_secret_post")
	switch {
	case p.secret == "", post && !basic:
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	case basic && !post:
		endpoint.AuthStyle = oauth2.AuthStyleInHeader
	default:
		// Some providers announce both styles and accept only one: the second
		// is tried when the first is refused.
		endpoint.AuthStyle = oauth2.AuthStyleAutoDetect
	}
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.secret, Endpoint: endpoint, RedirectURL: callback,
		Scopes: append([]string{oidc.ScopeOpenID}, slices.DeleteFunc(slices.Clone(p.Scopes), func(s string) bool { return s == oidc.ScopeOpenID })...),
	}
}

// originOf returns the origin of a URL, for a form's policy.
func originOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || strings.ContainsAny(u.Host, " ;,'\"") {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
