package login

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/routes"
)

// maxForm limits a form, in bytes.
const maxForm = 64 << 10

// Audit records logins, failed logins, and what people changed in their own
// account; audit.Log implements it.
type Audit interface {
	Add(ctx context.Context, r audit.Record)
	AddNow(ctx context.Context, r audit.Record) error
	// Refused records a request of somebody who is not known, as many as one network may
	// have, and counts the others.
	Refused(ctx context.Context, remote string, r audit.Record) (kept bool)
}

// Transport creates the transport to a provider. It trusts the PEM certificates
// instead of the system's; empty trusts the system's.
type Transport func(caPEM string) (http.RoundTripper, error)

// Config configures a Server. Identity, Accounts, Sealer, Transport and Origin
// are required.
type Config struct {
	Identity *identity.Directory
	Accounts *account.Accounts
	// Sealer encrypts the content of cookies.
	Sealer identity.Sealer
	// Origin is the hub's URL as browsers see it.
	Origin string
	// Ready returns nil once sessions can be checked.
	Ready func() error
	// Audit may be nil.
	Audit Audit
	// Transport creates the transport to a provider.
	Transport Transport
	// Font is the console's font for text; nil leaves it to the browser's machine.
	Font []byte
	// Tokens is the console's style sheet that names every colour, size and font; nil leaves
	// the pages plain.
	Tokens []byte
	// Pools has the pools; nil has them without metrics.
	Pools *pool.Set
	Clock clock.Clock
	Log   *slog.Logger
}

// Server answers browsers.
type Server struct {
	identity  *identity.Directory
	accounts  *account.Accounts
	sealer    identity.Sealer
	origin    string
	host      string
	secure    bool
	ready     func() error
	audit     Audit
	clock     clock.Clock
	log       *slog.Logger
	limits    limits
	providers *providers
	keys      *passkeys
	guard     *http.CrossOriginProtection
	files     map[string][]byte
}

// New returns an error when a required part is missing.
func New(c Config) (*Server, error) {
	if c.Identity == nil || c.Accounts == nil || c.Sealer == nil || c.Transport == nil {
		return nil, errors.New("login: a part is missing")
	}
	origin, err := url.Parse(c.Origin)
	if err != nil || origin.Host == "" {
		return nil, errcode.New(errcode.Invalid, "%q is not the URL of a hub", c.Origin)
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Ready == nil {
		c.Ready = func() error { return nil }
	}
	if c.Audit == nil {
		c.Audit = silent{}
	}
	s := &Server{
		identity: c.Identity, accounts: c.Accounts, sealer: c.Sealer, origin: strings.TrimSuffix(c.Origin, "/"), host: origin.Host, secure: origin.Scheme == "https",
		ready: c.Ready, audit: c.Audit, clock: c.Clock, log: c.Log, limits: newLimits(c.Pools, c.Clock),
		providers: newProviders(c.Accounts, c.Transport, c.Clock), guard: http.NewCrossOriginProtection(), files: map[string][]byte{fontFile: c.Font, tokensFile: c.Tokens},
	}
	if err := s.guard.AddTrustedOrigin(origin.Scheme + "://" + origin.Host); err != nil {
		return nil, errcode.New(errcode.Invalid, "the hub's URL is not an origin: %w", err)
	}
	s.providers.discovered = s.tellOfLogouts
	s.keys, err = newPasskeys(origin)
	return s, err
}

type silent struct{}

func (silent) Add(context.Context, audit.Record)          {}
func (silent) AddNow(context.Context, audit.Record) error { return nil }

func (silent) Refused(context.Context, string, audit.Record) bool { return true }

// page answers one request. A returned error is shown as a page.
type page func(w http.ResponseWriter, r *http.Request) error

// Register adds the pages to mux.
func (s *Server) Register(mux routes.Adder) {
	own, once, trials := &accountPages{s}, &again{s}, &Trials{s}
	first := func(w http.ResponseWriter, r *http.Request) error { return s.toNamed(w, r, flow{}) }
	for pattern, p := range map[string]page{
		"GET /setup":                       s.showSetup,
		"POST /setup":                      s.setUp,
		"GET /login":                       s.showLogin,
		"POST /login":                      s.passwordLogin,
		"GET /login/reset":                 s.showReset,
		"POST /login/reset":                s.reset,
		"GET /login/code":                  s.showCode,
		"POST /login/code":                 s.codeLogin,
		"GET /login/oidc/{provider}":       first,
		"GET /login/callback/{provider}":   s.fromProvider,
		"GET /login/try/{trial}":           trials.toTrial,
		"POST /login/passkey/options":      s.passkeyOptions,
		"POST /login/passkey":              s.passkeyLogin,
		"GET /login/session":               s.session,
		"GET /login/account":               own.show,
		"POST /login/account/password":     own.changePassword,
		"POST /login/account/totp":         own.beginTOTP,
		"POST /login/account/totp/confirm": own.confirmTOTP,
		"POST /login/account/totp/drop":    own.dropTOTP,
		"POST /login/account/key/options":  own.newKeyOptions,
		"POST /login/account/key":          own.addKey,
		"POST /login/account/key/drop":     own.dropKey,
		"POST /login/account/token":        own.createToken,
		"POST /login/account/token/revoke": own.revokeToken,
		"POST /login/account/end":          own.endSession,
		"GET /login/again":                 once.show,
		"POST /login/again":                once.password,
		"POST /login/again/passkey":        once.passkey,
		"GET /login/again/{provider}":      once.toProvider,
		"GET /login/cli":                   s.showCLI,
		"POST /login/cli":                  s.answerCLI,
		"GET /device":                      s.showDevice,
		"POST /device":                     s.answerDevice,
		"GET /logout":                      s.showLogout,
		"POST /logout":                     s.logout,
		"GET /logout/done":                 s.loggedOut,
	} {
		mux.Handle(pattern, s.guard.Handler(s.serve(p)))
	}
	mux.Handle("GET /login/assets/{file}", assets(s.files))
	mux.Handle("POST /login/backchannel/{provider}", http.HandlerFunc(s.backChannel))
}

// serve limits a request, sets the headers that every answer has, and turns
// errors into pages.
func (s *Server) serve(p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		s.protect(w)
		err := s.ready()
		if err == nil && r.Method == http.MethodPost {
			if err = r.ParseForm(); err != nil {
				err = errcode.New(errcode.Invalid, "the form cannot be read")
			} else if !s.formIsOurs(r) {
				err = errcode.New(errcode.Forbidden, "this form does not come from this hub, or is too old; allow cookies, go back, load the page again and repeat")
			}
		}
		if err == nil {
			err = p(w, r)
		}
		switch {
		case errors.Is(err, identity.ErrProve):
			s.proveFirst(w, r)
		case err != nil:
			s.sorry(w, r, err)
		}
	})
}

// sorry shows an error. It shows only errors that are meant for people, and
// logs internal ones.
func (s *Server) sorry(w http.ResponseWriter, r *http.Request, err error) {
	if errcode.Of(err) == errcode.Internal && r.Context().Err() == nil {
		s.log.LogAttrs(r.Context(), slog.LevelError, "a login page failed with an internal error", slog.String(logkey.Path, r.Pattern), slog.Any(logkey.Error, err))
	}
	errcode.SetRetryAfter(w.Header(), err)
	v := view{Title: "This did not work", Error: errcode.Message(err), Back: "/"}
	if errcode.Is(err, errcode.Unauthorized) {
		v.Back = "/login"
	}
	s.render(w, r, errcode.HTTPStatus(errcode.Of(err)), "message", v)
}

// who returns the person whose session a request has. Unauthorized without one.
func (s *Server) who(r *http.Request) (identity.Principal, error) {
	bearer := s.cookie(r.Header, cookieSession)
	if bearer == "" {
		return identity.Principal{}, errcode.New(errcode.Unauthorized, "nobody is logged in")
	}
	return s.identity.AuthenticateSession(r.Context(), bearer)
}

// person is who for pages that need no session.
func (s *Server) person(r *http.Request) (identity.Principal, bool) {
	p, err := s.who(r)
	return p, err == nil
}

// needPerson returns the person of the session, or redirects the browser to log
// in and come back. For a POST it returns an error instead, because the typed
// data would be lost.
func (s *Server) needPerson(w http.ResponseWriter, r *http.Request) (identity.Principal, bool, error) {
	p, err := s.who(r)
	switch {
	case err == nil:
		return p, true, nil
	case !errcode.Is(err, errcode.Unauthorized):
		return p, false, err
	case r.Method != http.MethodGet:
		return p, false, errcode.New(errcode.Unauthorized, "the session has ended; log in again")
	}
	http.Redirect(w, r, withNext("/login", r.URL.RequestURI()), http.StatusSeeOther)
	return p, false, nil
}

// Session returns the person whose session an API call has. ok is false when it
// has none. A cookie counts only together with the header that no other origin
// can send. Forbidden, Unauthorized.
func (s *Server) Session(ctx context.Context, header http.Header) (p identity.Principal, ok bool, err error) {
	bearer := s.cookie(header, cookieSession)
	if bearer == "" {
		return p, false, nil
	}
	if site := header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return p, true, errcode.New(errcode.Forbidden, "a call with a session's cookie came from another site")
	}
	if origin := header.Get("Origin"); origin != "" && !strings.EqualFold(origin, originOf(s.origin)) {
		return p, true, errcode.New(errcode.Forbidden, "a call with a session's cookie came from another origin")
	}
	if !sameToken(bearer, header.Get(CSRFHeader)) {
		return p, true, errcode.New(errcode.Forbidden, "a call with a session's cookie needs the header %s; GET /login/session returns its value", CSRFHeader)
	}
	p, err = s.identity.AuthenticateSession(ctx, bearer)
	return p, true, err
}

// begin opens a session for a person who has authenticated, in place of the
// browser's previous one.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, user identity.User, terms account.SessionTerms, idToken string) error {
	if old, ok := s.person(r); ok {
		if err := s.accounts.EndSession(r.Context(), old, old.TokenID); err != nil && !errcode.Is(err, errcode.NotFound) {
			return err
		}
	}
	terms.Source, terms.Agent = source(r), r.UserAgent()
	if terms.Method != account.MethodOIDC {
		terms.ProvedAt = clock.Micros(s.clock.Now())
	}
	made, err := s.accounts.StartSession(r.Context(), user, terms, idToken)
	if err != nil {
		return err
	}
	s.setCookie(w, cookieSession, made.Secret, clock.FromMicros(made.ExpiresAt).Sub(s.clock.Now()))
	for _, name := range []string{cookieFlow, cookieHalf, cookieForm} {
		if s.cookie(r.Header, name) != "" {
			s.dropCookie(w, name)
		}
	}
	s.record(r, audit.Record{Actor: user.Name, ActorKind: string(user.Kind), ActorID: user.ID, TokenID: made.ID, Action: "login", Verb: terms.Method, Result: audit.ResultOK})
	return nil
}

// record records a login, or a logout, in the audit log.
func (s *Server) record(r *http.Request, a audit.Record) {
	s.audit.Add(context.WithoutCancel(r.Context()), s.ofSession(r, a))
}

func (s *Server) ofSession(r *http.Request, a audit.Record) audit.Record {
	a.At, a.Source, a.Kind = clock.Micros(s.clock.Now()), source(r), "session"
	return a
}

// refused records a login that failed, of which anybody can make many, and returns its error.
func (s *Server) refused(r *http.Request, method, account string, err error) error {
	a := audit.Record{Actor: account, Action: "login", Verb: method, Result: string(errcode.Of(err)), Detail: map[string]string{"reason": errcode.Message(err)}}
	if s.audit.Refused(context.WithoutCancel(r.Context()), r.RemoteAddr, s.ofSession(r, a)) {
		s.log.LogAttrs(r.Context(), slog.LevelInfo, "a login was refused", slog.String(logkey.Kind, method), slog.String(logkey.Reason, errcode.Message(err)), slog.String(logkey.Address, source(r)))
	}
	return err
}
