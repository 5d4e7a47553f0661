package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

// maxParameters limits the parameters of a request, each of which may stand once.
const maxParameters = 32

// inFlight is what a request at an endpoint of applications has shown.
type inFlight struct {
	client application.Client
	// grant is the one that is used, for the claims of its ID token.
	grant Grant
}

type flightKey struct{}

// flight returns what the request of a context has shown; an empty one outside of one.
func flight(ctx context.Context) *inFlight {
	if f, ok := ctx.Value(flightKey{}).(*inFlight); ok {
		return f
	}
	return &inFlight{}
}

// endpoint serves one that applications call directly. It checks what the library does not:
// parameters of the URL, which logs keep, repeated ones, two secrets at once; and who the
// client is before anything is used up.
func (p *Provider) endpoint(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, ok := p.enter(w, r)
		if !ok {
			return
		}
		client, err := p.authenticated(r)
		if err != nil {
			p.sayNo(w, err)
			_ = p.rates.wrong.Take(from)
			return
		}
		if err := p.rates.clients.Take(pool.Caller{Name: client.ID}); err != nil {
			busy(w, err)
			return
		}
		r = p.issued(r.WithContext(context.WithValue(r.Context(), flightKey{}, &inFlight{client: client})))
		counted := &statusWriter{ResponseWriter: w}
		next(counted, r)
		if counted.status >= 400 {
			_ = p.rates.wrong.Take(from)
		}
	})
}

// enter begins the answer to an application that nobody knows yet; ok is false where its share
// is used up, and the answer given.
func (p *Provider) enter(w http.ResponseWriter, r *http.Request) (from pool.Caller, ok bool) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Cache-Control", "no-store")
	from = pool.Stranger(r.RemoteAddr)
	err := p.rates.requests.Take(from)
	if err == nil {
		err = p.rates.wrong.Look(from)
	}
	if err != nil {
		busy(w, err)
	}
	return from, err == nil
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// sayNo answers in OAuth's form. An internal error has no text.
func (p *Provider) sayNo(w http.ResponseWriter, err error) {
	known, status := p.told(err), http.StatusBadRequest
	switch known.ErrorType {
	case oidc.ServerError:
		status = http.StatusInternalServerError
	case oidc.InvalidClient:
		status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", `Basic realm="axle"`)
	}
	respond(w, known, status)
}

// told returns an error as an application learns of it: the library would send the text of
// any other.
func (p *Provider) told(err error) *oidc.Error {
	var known *oidc.Error
	if errors.As(err, &known) {
		return known
	}
	p.config.Log.Error("a request of an application failed", logkey.Error, err)
	return oidc.ErrServerError().WithDescription("the hub could not answer; try again")
}

// respond writes an answer in JSON.
func respond(w http.ResponseWriter, answer any, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The caller may be gone; the error can be ignored.
	_ = json.NewEncoder(w).Encode(answer)
}

// busy answers that a share is used up.
func busy(w http.ResponseWriter, err error) {
	errcode.SetRetryAfter(w.Header(), err)
	respond(w, &oidc.Error{ErrorType: "temporarily_unavailable", Description: errcode.Message(err)}, http.StatusTooManyRequests)
}

// authenticated reads the form of a request, and returns its client; a confidential one must
// have given its secret.
func (p *Provider) authenticated(r *http.Request) (application.Client, error) {
	if r.URL.RawQuery != "" {
		return application.Client{}, oidc.ErrInvalidRequest().WithDescription("parameters belong in the body: what is in a URL, logs keep; change a secret that was sent so")
	}
	if err := r.ParseForm(); err != nil {
		return application.Client{}, oidc.ErrInvalidRequest().WithDescription("the form cannot be read")
	}
	if err := single(r.PostForm); err != nil {
		return application.Client{}, oidc.ErrInvalidRequest().WithDescription("%s", err.Error())
	}
	if r.PostForm.Has("client_assertion") {
		return application.Client{}, oidc.ErrInvalidClient().WithDescription("clients have a secret here, and no key")
	}
	_, plain, basic := r.BasicAuth()
	id, secret, err := credentials(r)
	if err != nil {
		return application.Client{}, err
	}
	var c application.Client
	if secret != "" {
		c, err = p.config.Clients.Authenticate(r.Context(), id, secret)
		// Many applications do not encode what they send by Basic, and a secret that was
		// taken over may have + or %.
		if errcode.Is(err, errcode.Unauthorized) && basic && plain != secret {
			c, err = p.config.Clients.Authenticate(r.Context(), id, plain)
		}
		if basic {
			r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret)) // what the library can read
		}
	} else if c, err = p.config.Clients.Client(r.Context(), id); err == nil && !c.Public {
		err = errClient
	}
	if code := errcode.Of(err); code == errcode.NotFound || code == errcode.Unauthorized {
		err = errClient
	}
	return c, err
}

var errClient = oidc.ErrInvalidClient().WithDescription("the client is not known, or its secret is wrong")

// credentials returns a client's id and secret, and sends those of the form on in the header,
// where all of the library reads them.
func credentials(r *http.Request) (id, secret string, err error) {
	id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	user, password, basic := r.BasicAuth()
	if !basic {
		if r.Header.Get("Authorization") != "" {
			return "", "", oidc.ErrInvalidClient().WithDescription("a client shows its id and secret by Basic")
		}
		if secret != "" {
			r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
		}
		return id, secret, nil
	}
	if secret != "" {
		return "", "", oidc.ErrInvalidRequest().WithDescription("the secret was sent twice")
	}
	name, err := url.QueryUnescape(user)
	if secret, _ = url.QueryUnescape(password); secret == "" {
		secret = password // as it is: it does not read as encoded
	}
	if err != nil || id != "" && id != name {
		return "", "", oidc.ErrInvalidClient().WithDescription("the header of the client cannot be read, or is another one's than client_id")
	}
	return name, secret, nil
}

// single returns an error for too many parameters, or one that stands twice: two readers of
// a request may take different ones.
func single(form url.Values) error {
	if len(form) > maxParameters {
		return errcode.New(errcode.Invalid, "there are more than %d parameters", maxParameters)
	}
	for name, values := range form {
		if len(values) > 1 {
			return errcode.New(errcode.Invalid, "the parameter %.40q stands twice", name)
		}
	}
	return nil
}

// bearer serves what needs an access token of a person.
func (p *Provider) bearer(next func(w http.ResponseWriter, r *http.Request, s Secret, g Grant)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, ok := p.enter(w, r)
		if !ok {
			return
		}
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			token = ""
		}
		s, g, err := p.grants.live(r.Context(), token, prefixAccess, kindAccess)
		if errcode.Is(err, errcode.Unauthorized) {
			_ = p.rates.wrong.Take(from)
			w.Header().Set("WWW-Authenticate", `Bearer realm="axle", error="invalid_token"`)
			respond(w, &oidc.Error{ErrorType: "invalid_token", Description: "the access token is not valid, or has expired"}, http.StatusUnauthorized)
			return
		}
		if err != nil {
			p.sayNo(w, err)
			return
		}
		next(w, p.issued(r), s, g)
	})
}

var _ op.Exchanger = (*Provider)(nil)
