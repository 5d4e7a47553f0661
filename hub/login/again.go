package login

import (
	"net/http"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// again asks a logged-in person for a new proof: a cookie alone must not be
// enough to create what lasts longer than a session.
type again struct{ *Server }

const againPath = "/login/again"

// proveFirst redirects a browser to the proof, and back afterwards.
func (s *Server) proveFirst(w http.ResponseWriter, r *http.Request) {
	next := "/login/account"
	switch {
	case r.Method == http.MethodGet:
		next = r.URL.RequestURI()
	case r.URL.Path == "/login/cli" || r.URL.Path == "/device":
		r.PostForm.Del("csrf")
		r.PostForm.Del("answer")
		next = r.URL.Path + "?" + r.PostForm.Encode()
	}
	http.Redirect(w, r, withNext(againPath, next), http.StatusSeeOther)
}

// againView holds the proofs that the person can give.
type againView struct {
	Local bool
	// Provider is the provider that the session came through, empty for none.
	Provider, Title string
}

func (s *again) show(w http.ResponseWriter, r *http.Request) error {
	return s.page(w, r, http.StatusOK, view{Next: r.URL.Query().Get("next")})
}

func (s *again) page(w http.ResponseWriter, r *http.Request, status int, v view) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	a := &againView{}
	if a.Local, err = s.accounts.HasPassword(r.Context(), p.ID); err != nil {
		return err
	}
	keys, err := s.accounts.Passkeys(r.Context(), p.ID)
	if err != nil {
		return err
	}
	// A session that ended meanwhile has none; its next use returns the error.
	id, _, err := s.accounts.LogoutHint(r.Context(), p.TokenID)
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return err
	}
	all, err := s.providers.all(r.Context())
	if err != nil {
		return err
	}
	for _, known := range all {
		if known.ID == id && id != "" {
			a.Provider, a.Title = known.Name, known.Title
		}
	}
	v.Title, v.Person, v.Again, v.Next, v.Passkeys = "Is it you?", &p, a, safeNext(v.Next), len(keys) > 0 && s.keys.possible()
	s.render(w, r, status, "again", v)
	return nil
}

// password checks the password of the logged-in person.
func (s *again) password(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	next := r.PostFormValue("next")
	if _, _, err := s.checkPassword(r, p.Name, r.PostFormValue("password")); err != nil {
		if code := errcode.Of(err); code != errcode.Unauthorized && code != errcode.Exhausted {
			return err
		}
		errcode.SetRetryAfter(w.Header(), err)
		message := errcode.Message(err)
		if errcode.Is(err, errcode.Unauthorized) {
			message = "the password is wrong"
		}
		return s.page(w, r, errcode.HTTPStatus(errcode.Of(err)), view{Error: message, Next: next})
	}
	if err := s.proved(w, r, p, account.MethodPassword, clock.Micros(s.clock.Now())); err != nil {
		return err
	}
	s.goOn(w, r, next)
	return nil
}

// passkey checks a passkey of the logged-in person; its options are those of a
// login.
func (s *again) passkey(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return s.scripted(w, err)
	}
	user, next, err := s.passkeyAnswer(w, r)
	if err == nil && user.ID != p.ID {
		err = s.refused(r, account.MethodPasskey, p.Name, errcode.New(errcode.Unauthorized, "this is a passkey of another account"))
	}
	if err != nil {
		return s.scripted(w, err)
	}
	if err := s.proved(w, r, p, account.MethodPasskey, clock.Micros(s.clock.Now())); err != nil {
		return err
	}
	return answerJSON(w, http.StatusOK, map[string]string{"next": next})
}

// toProvider sends the logged-in person to log in again at the provider.
func (s *again) toProvider(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	return s.toNamed(w, r, flow{Session: p.TokenID, Begun: clock.Micros(s.clock.Now())})
}

// fromProvider handles the provider's answer. The same person must have logged
// in there after the request: where the provider reports when its session
// began, an older session is not enough.
func (s *again) fromProvider(w http.ResponseWriter, r *http.Request, asked flow, a answer, err error) error {
	p, ok := s.person(r)
	if err == nil {
		switch {
		case !ok || p.TokenID != asked.Session:
			err = errFlow
		case p.ID != a.user.ID:
			err = errcode.New(errcode.Unauthorized, "you are logged in as %s here and logged in as %s there", p.Name, a.user.Name)
		case a.at != 0 && a.at < asked.Begun-skew.Microseconds():
			err = errcode.New(errcode.Unauthorized, "the provider did not ask you to log in again; log out there and repeat it")
		}
	}
	if err != nil {
		err = s.refused(r, account.MethodOIDC, p.Name, err)
		if errcode.Of(err) == errcode.Internal {
			return err
		}
		errcode.SetRetryAfter(w.Header(), err)
		return s.page(w, r, errcode.HTTPStatus(errcode.Of(err)), view{Error: errcode.Message(err), Next: asked.Next})
	}
	if err := s.proved(w, r, p, account.MethodOIDC, clock.Micros(s.clock.Now())); err != nil {
		return err
	}
	http.Redirect(w, r, safeNext(asked.Next), http.StatusSeeOther)
	return nil
}

// proved records the proof, and gives the browser the session's new cookie value.
func (s *again) proved(w http.ResponseWriter, r *http.Request, p identity.Principal, method string, at int64) error {
	made, err := s.accounts.Prove(r.Context(), p, at)
	if err != nil {
		return err
	}
	s.setCookie(w, cookieSession, made.Secret, clock.FromMicros(made.ExpiresAt).Sub(s.clock.Now()))
	s.record(r, audit.Record{Actor: p.Name, ActorKind: string(p.Kind), ActorID: p.ID, TokenID: p.TokenID, Action: "login.again", Verb: method, Result: audit.ResultOK})
	return nil
}
