package login

import (
	"bytes"
	"encoding/base64"
	"html/template"
	"image/png"
	"net/http"
	"net/url"

	"github.com/pquerna/otp"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// accountView is what somebody sees of his own account.
type accountView struct {
	New      bool
	Local    bool
	Factor   identity.SecondFactor
	Passkeys []identity.Passkey
	Sessions []identity.Session
	Current  string
	// Secret and Picture are those of new one-time codes.
	Secret  string
	Picture template.URL
}

// account shows the sessions and second factors of whoever is logged in.
func (s *Server) account(w http.ResponseWriter, r *http.Request) error {
	return s.accountPage(w, r, http.StatusOK, view{}, nil)
}

func (s *Server) accountPage(w http.ResponseWriter, r *http.Request, status int, v view, totp *otp.Key) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	a := &accountView{New: r.URL.Query().Get("new") != "", Current: p.TokenID}
	if a.Local, err = s.identity.HasPassword(r.Context(), p.ID); err != nil {
		return err
	}
	if a.Factor, err = s.identity.SecondFactor(r.Context(), p.ID); err != nil {
		return err
	}
	if a.Passkeys, err = s.identity.Passkeys(r.Context(), p.ID); err != nil {
		return err
	}
	if a.Sessions, err = s.identity.Sessions(r.Context(), p, ""); err != nil {
		return err
	}
	if totp != nil {
		if a.Secret, a.Picture, err = showTOTP(totp); err != nil {
			return err
		}
		v.Picture = true
	}
	v.Title, v.Person, v.Account, v.Passkeys = "Your account", &p, a, a.Local && s.keys.possible()
	s.render(w, r, status, "account", v)
	return nil
}

// showTOTP is the secret as text and as a picture for a phone.
func showTOTP(key *otp.Key) (string, template.URL, error) {
	picture, err := key.Image(200, 200)
	if err != nil {
		return "", "", err
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		return "", "", err
	}
	return key.Secret(), template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())), nil
}

// done goes back to the account, or shows what was wrong there.
func (s *Server) done(w http.ResponseWriter, r *http.Request, err error) error {
	switch errcode.Of(err) {
	case errcode.Invalid, errcode.Unauthorized, errcode.Exhausted, errcode.NotFound:
		if err != nil {
			retryAfter(w, err)
			return s.accountPage(w, r, errcode.HTTPStatus(errcode.Of(err)), view{Error: errcode.Message(err)}, nil)
		}
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, "/login/account", http.StatusSeeOther)
	return nil
}

// changePassword needs the present one: an open browser must not be enough to
// take an account over.
func (s *Server) changePassword(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	if r.PostFormValue("password") != r.PostFormValue("again") {
		return s.done(w, r, errcode.New(errcode.Invalid, "the two passwords differ"))
	}
	right, err := s.guess(r, p.Name)
	if err == nil {
		if err = s.identity.ChangePassword(r.Context(), p, r.PostFormValue("present"), r.PostFormValue("password")); !errcode.Is(err, errcode.Unauthorized) {
			right()
		}
	}
	return s.done(w, r, err)
}

// pendingTOTP is a secret whose first code is still to come.
type pendingTOTP struct {
	UserID string `json:"u"`
	URL    string `json:"k"`
}

// beginTOTP shows a new secret.
func (s *Server) beginTOTP(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	local, err := s.identity.HasPassword(r.Context(), p.ID)
	if err == nil && !local {
		err = errcode.New(errcode.Invalid, "you log in through a provider, which looks after your second factors")
	}
	if err != nil {
		return s.done(w, r, err)
	}
	key, err := s.identity.NewTOTP(p, s.host)
	if err != nil {
		return err
	}
	if err := s.seal(w, cookieTOTP, pendingTOTP{p.ID, key.URL()}, flowLifetime); err != nil {
		return err
	}
	return s.accountPage(w, r, http.StatusOK, view{}, key)
}

// confirmTOTP keeps the secret once its first code is right.
func (s *Server) confirmTOTP(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	var pending pendingTOTP
	if !s.open(r, cookieTOTP, &pending) || pending.UserID != p.ID {
		return s.done(w, r, errcode.New(errcode.Invalid, "this took too long; begin again with one-time codes"))
	}
	key, err := otp.NewKeyFromURL(pending.URL)
	if err != nil {
		return err
	}
	err = s.identity.SetTOTP(r.Context(), p, key.Secret(), r.PostFormValue("code"))
	if errcode.Is(err, errcode.Invalid) {
		return s.accountPage(w, r, http.StatusUnprocessableEntity, view{Error: errcode.Message(err)}, key)
	}
	s.dropCookie(w, cookieTOTP)
	return s.done(w, r, err)
}

// dropTOTP and dropKey need the password: they make the account weaker.
func (s *Server) dropTOTP(w http.ResponseWriter, r *http.Request) error {
	return s.weaken(w, r, func(p identity.Principal) error { return s.identity.DropTOTP(r.Context(), p) })
}

func (s *Server) dropKey(w http.ResponseWriter, r *http.Request) error {
	return s.weaken(w, r, func(p identity.Principal) error { return s.identity.DropPasskey(r.Context(), p, r.PostFormValue("id")) })
}

func (s *Server) weaken(w http.ResponseWriter, r *http.Request, drop func(identity.Principal) error) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	right, err := s.guess(r, p.Name)
	if err == nil {
		_, _, err = s.identity.CheckPassword(r.Context(), p.Name, r.PostFormValue("password"))
	}
	if err == nil {
		right()
		err = drop(p)
	}
	return s.done(w, r, err)
}

// endSession ends one session of one's own.
func (s *Server) endSession(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	return s.done(w, r, s.identity.EndSession(r.Context(), p, r.PostFormValue("id")))
}

// endAll logs somebody out everywhere, here too.
func (s *Server) endAll(w http.ResponseWriter, r *http.Request) error {
	r.PostForm = url.Values{"everywhere": {"1"}}
	r.Form = r.PostForm
	return s.logout(w, r)
}
