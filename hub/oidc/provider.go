package oidc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/login"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/routes"
)

// Path is the path of the issuer below the hub's URL.
const Path = "/oidc"

// Issuer returns the issuer of a hub.
func Issuer(hubURL string) string { return strings.TrimSuffix(hubURL, "/") + Path }

// Audit records sign-ins and what ended them; audit.Log implements it.
type Audit interface {
	Add(ctx context.Context, r audit.Record)
}

// Config has what a Provider needs. Pools, Clock and Log are optional.
type Config struct {
	Stores   Stores
	Clients  Clients
	Identity *identity.Directory
	// Pages are the hub's login.
	Pages  *login.Pages
	Sealer interface {
		identity.Sealer
		Derive(purpose string) ([]byte, error)
	}
	// URL is the hub's.
	URL   string
	Audit Audit
	// HTTP sends notices to applications, by the address rules of the hub.
	HTTP  *http.Client
	Pools *pool.Set
	Clock clock.Clock
	Log   *slog.Logger
}

// Provider answers applications and the browsers that they send. Its methods are safe for
// concurrent use.
type Provider struct {
	*op.Provider
	config Config
	issuer string
	grants *grants
	keys   *keyRing
	gate   *gate
	rates  rates
	// pending is what the feed reported, due wakes the sender of notices.
	pending *pending
	due     chan struct{}
	// seeds derives the successors of refresh tokens, and the ids of sessions.
	seeds []byte
}

// New returns an error when a required part is missing.
func New(c Config) (*Provider, error) {
	if c.Stores.Keys == nil || c.Stores.Grants == nil || c.Stores.Consents == nil || c.Stores.Ended == nil || c.Stores.Devices == nil || c.HTTP == nil || c.Stores.Writer == nil || c.Clients == nil || c.Identity == nil || c.Sealer == nil || c.Pages == nil || c.Audit == nil {
		return nil, errors.New("oidc: a part is missing")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	seeds, err := c.Sealer.Derive("oidc provider")
	if err != nil {
		return nil, fmt.Errorf("derive a key of the provider: %w", err)
	}
	p := &Provider{config: c, issuer: Issuer(c.URL), seeds: seeds, pending: newPending(), due: make(chan struct{}, 1), rates: newRates(c.Pools, c.Clock)}
	p.keys = &keyRing{store: c.Stores.Keys, writer: c.Stores.Writer, sealer: c.Sealer, clock: c.Clock}
	p.gate = &gate{identity: c.Identity}
	p.grants = &grants{store: c.Stores.Grants, writer: c.Stores.Writer, clock: c.Clock, seeds: seeds}
	// The library logs refusals of strangers, which are no warnings of the hub.
	quiet := slog.New(slog.DiscardHandler)
	p.Provider, err = op.NewProvider(&op.Config{
		CodeMethodS256: true, AuthMethodPost: true, GrantTypeRefreshToken: true, SupportedScopes: scopes, SupportedClaims: claims,
		DeviceAuthorization:        op.DeviceAuthorizationConfig{Lifetime: deviceLifetime, PollInterval: devicePause, UserFormPath: devicePath, UserCode: op.UserCodeBase20},
		BackChannelLogoutSupported: true, BackChannelLogoutSessionSupported: true, DefaultLogoutRedirectURI: strings.TrimSuffix(c.URL, "/") + "/logout/done",
	}, &storage{p}, op.StaticIssuer(p.issuer), op.WithAllowInsecure(), op.WithCrypto(bearers{}), op.WithLogger(quiet))
	if err != nil {
		return nil, fmt.Errorf("start the OpenID provider: %w", err)
	}
	return p, nil
}

// GrantTypeJWTAuthorizationSupported implements op.Exchanger: no client has a key of its own.
func (p *Provider) GrantTypeJWTAuthorizationSupported() bool { return false }

func (p *Provider) now() int64 { return clock.Micros(p.config.Clock.Now()) }

// Register adds the endpoints to mux.
func (p *Provider) Register(mux routes.Adder) {
	mux.Handle("GET "+Path+"/.well-known/openid-configuration", p.public(p.discover))
	mux.Handle("GET "+Path+"/keys", p.public(func(w http.ResponseWriter, r *http.Request) { op.Keys(w, r, p.Storage()) }))
	mux.Handle("GET "+Path+"/authorize", p.config.Pages.Page(p.authorize))
	mux.Handle("POST "+Path+"/authorize", http.HandlerFunc(p.authorizePost))
	mux.Handle("POST "+Path+"/consent", p.config.Pages.Page(p.consent))
	mux.Handle("GET "+Path+"/try", p.config.Pages.Page(p.tryOut))
	mux.Handle("POST "+Path+"/token", p.endpoint(p.token))
	mux.Handle("POST "+devicePath, p.endpoint(p.startDevice))
	mux.Handle("GET "+devicePath, p.config.Pages.Page(p.showDevice))
	mux.Handle("POST "+devicePath+"/answer", p.config.Pages.Page(p.answerDevice))
	mux.Handle("POST "+Path+"/introspect", p.endpoint(p.introspect))
	mux.Handle("POST "+Path+"/revoke", p.endpoint(p.revoke))
	mux.Handle("GET "+Path+"/logout", p.config.Pages.Page(p.logout))
	mux.Handle("POST "+Path+"/logout", http.HandlerFunc(p.logoutPost))
	mux.Handle("OPTIONS "+Path+"/userinfo", http.HandlerFunc(preflight))
	mux.Handle("GET "+Path+"/userinfo", p.bearer(p.userinfo))
	mux.Handle("POST "+Path+"/userinfo", p.bearer(p.userinfo))
}

// public serves what anybody may read, browsers of other origins included: it has no
// secrets, and no cookie counts.
func (p *Provider) public(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Cache-Control", "public, max-age=300")
		next(w, p.issued(r))
	})
}

// preflight lets a public client in a browser send its access token, which no cookie is.
func preflight(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Allow-Methods", "GET, POST")
	w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
	w.Header().Set("Access-Control-Max-Age", "7200")
	w.WriteHeader(http.StatusNoContent)
}

// issued gives a request the issuer, where the library expects it.
func (p *Provider) issued(r *http.Request) *http.Request {
	return r.WithContext(op.ContextWithIssuer(r.Context(), p.issuer))
}

// metadata is the library's, with what RFC 9207 adds.
type metadata struct {
	*oidc.DiscoveryConfiguration
	AnswersHaveIssuer bool     `json:"authorization_response_iss_parameter_supported"`
	ResponseModes     []string `json:"response_modes_supported"`
	Classes           []string `json:"acr_values_supported"`
	Prompts           []string `json:"prompt_values_supported"`
}

// discover answers with the metadata. The library announces the implicit flow always, and its
// options for paths change a variable that all providers of a program share.
func (p *Provider) discover(w http.ResponseWriter, r *http.Request) {
	found := op.CreateDiscoveryConfig(r.Context(), p, p.Storage())
	found.AuthorizationEndpoint, found.TokenEndpoint, found.UserinfoEndpoint = p.issuer+"/authorize", p.issuer+"/token", p.issuer+"/userinfo"
	found.RevocationEndpoint, found.EndSessionEndpoint, found.JwksURI = p.issuer+"/revoke", p.issuer+"/logout", p.issuer+"/keys"
	found.IntrospectionEndpoint, found.DeviceAuthorizationEndpoint = p.issuer+"/introspect", p.issuer+"/device"
	found.ResponseTypesSupported = []string{string(oidc.ResponseTypeCode)}
	found.GrantTypesSupported = grantTypes
	found.TokenEndpointAuthMethodsSupported = []oidc.AuthMethod{oidc.AuthMethodBasic, oidc.AuthMethodPost, oidc.AuthMethodNone}
	found.IntrospectionEndpointAuthMethodsSupported = found.TokenEndpointAuthMethodsSupported[:2]
	found.RevocationEndpointAuthMethodsSupported = found.TokenEndpointAuthMethodsSupported
	found.IntrospectionEndpointAuthSigningAlgValuesSupported, found.RevocationEndpointAuthSigningAlgValuesSupported = nil, nil
	respond(w, metadata{found, true, []string{"query"}, []string{classOne, classTwo}, []string{"none", "login", "consent", "select_account"}}, http.StatusOK)
}

// grantTypes are the grants that there are.
var grantTypes = []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken, oidc.GrantTypeDeviceCode, oidc.GrantTypeClientCredentials, oidc.GrantTypeTokenExchange}

// rates are what strangers and clients share, on each replica apart.
type rates struct {
	// browsers are requests of one network at the authorization endpoint, requests those at
	// the others.
	browsers, requests *pool.Rates
	// wrong are wrong codes, tokens and secrets, by network and client.
	wrong *pool.Rates
	// devices are logins of devices that begin, of one network.
	devices *pool.Rates
	// clients are requests of a client that gave its secret.
	clients *pool.Rates
}

func newRates(pools *pool.Set, c clock.Clock) rates {
	make := func(name, of string, caller, project pool.Rate) *pool.Rates {
		return pools.Rates(pool.RateSpec{Name: name, Of: of, Caller: caller, Project: project, Clock: c})
	}
	each, site := pool.Rate{Burst: 120, Every: 100 * time.Millisecond}, pool.Rate{Burst: 1200, Every: 10 * time.Millisecond}
	return rates{
		browsers: make("signin_browsers", "sign-ins that begin", each, site),
		requests: make("signin_requests", "requests of applications", pool.Rate{Burst: 600, Every: 10 * time.Millisecond}, pool.Rate{Burst: 6000, Every: time.Millisecond}),
		wrong:    make("signin_wrong", "wrong codes, tokens and secrets", pool.Rate{Burst: 60, Every: time.Second}, pool.Rate{Burst: 600, Every: 100 * time.Millisecond}),
		devices:  make("signin_devices", "logins of devices", pool.Rate{Burst: 20, Every: 10 * time.Second}, pool.Rate{Burst: 200, Every: time.Second}),
		clients:  make("signin_clients", "requests of an application", pool.Rate{Burst: 600, Every: 10 * time.Millisecond}, pool.Rate{}),
	}
}
