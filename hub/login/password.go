package login

import (
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/email"
	"github.com/axle-cd/axle/internal/errcode"
)

// half is a login with a right password whose second factor is missing.
type half struct {
	UserID string `json:"u"`
	Name   string `json:"n"`
	Next   string `json:"x"`
}

// showLogin shows the login page.
func (s *Server) showLogin(w http.ResponseWriter, r *http.Request) error {
	next := safeNext(r.URL.Query().Get("next"))
	if _, ok := s.person(r); ok {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	return s.loginPage(w, r, http.StatusOK, view{Next: next})
}

func (s *Server) loginPage(w http.ResponseWriter, r *http.Request, status int, v view) error {
	v.Title, v.Next, v.Passkeys = "Log in", safeNext(v.Next), s.keys.possible()
	all, err := s.providers.all(r.Context())
	if err != nil {
		return err
	}
	for _, p := range all {
		v.Providers = append(v.Providers, button{Name: p.Name, Title: p.Title, URL: withNext("/login/oidc/"+p.Name, v.Next), Down: s.providers.down(p.Name)})
	}
	if v.Fresh, err = s.accounts.Fresh(r.Context()); err != nil {
		return err
	}
	s.render(w, r, status, "login", v)
	return nil
}

// passwordLogin checks an e-mail and a password.
func (s *Server) passwordLogin(w http.ResponseWriter, r *http.Request) error {
	email, next := strings.TrimSpace(r.PostFormValue("email")), safeNext(r.PostFormValue("next"))
	user, factor, err := s.checkPassword(r, email, r.PostFormValue("password"))
	if err != nil {
		if code := errcode.Of(err); code != errcode.Unauthorized && code != errcode.Exhausted {
			return err
		}
		errcode.SetRetryAfter(w.Header(), err)
		return s.loginPage(w, r, errcode.HTTPStatus(errcode.Of(err)), view{Error: errcode.Message(err), Email: email, Next: next})
	}
	if factor.Needed() {
		if !factor.TOTP {
			return s.loginPage(w, r, http.StatusUnauthorized, view{Error: "this account has a passkey; use it instead of the password", Email: email, Next: next})
		}
		if err := s.seal(w, cookieHalf, half{user.ID, user.Name, next}, flowLifetime/2); err != nil {
			return err
		}
		http.Redirect(w, r, "/login/code", http.StatusSeeOther)
		return nil
	}
	return s.passwordDone(w, r, user, next)
}

func (s *Server) checkPassword(r *http.Request, email, password string) (identity.User, account.SecondFactor, error) {
	ctx, right, err := s.guess(r, email)
	if err != nil {
		return identity.User{}, account.SecondFactor{}, s.refused(r, account.MethodPassword, email, err)
	}
	user, factor, err := s.accounts.CheckPassword(ctx, email, password)
	if err != nil {
		return user, factor, s.refused(r, account.MethodPassword, email, err)
	}
	right()
	return user, factor, nil
}

// passwordDone begins the session, and marks the browser as one that has logged
// in to the account before.
func (s *Server) passwordDone(w http.ResponseWriter, r *http.Request, user identity.User, next string) error {
	if err := s.begin(w, r, user, account.SessionTerms{Method: account.MethodPassword}, ""); err != nil {
		return err
	}
	if err := s.seal(w, cookieKnown, known{email.Lower(user.Name), rand.Text()}, knownLifetime); err != nil {
		return err
	}
	s.goOn(w, r, next)
	return nil
}

// showCode asks for the one-time code.
func (s *Server) showCode(w http.ResponseWriter, r *http.Request) error {
	var h half
	if !s.open(r, cookieHalf, &h) {
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return nil
	}
	s.render(w, r, http.StatusOK, "code", view{Title: "One-time code", Email: h.Name})
	return nil
}

// codeLogin checks the one-time code.
func (s *Server) codeLogin(w http.ResponseWriter, r *http.Request) error {
	var h half
	if !s.open(r, cookieHalf, &h) {
		return errcode.New(errcode.Unauthorized, "the login took too long; begin again")
	}
	_, right, err := s.guess(r, h.Name)
	if err == nil {
		err = s.accounts.CheckTOTP(r.Context(), h.UserID, strings.ReplaceAll(r.PostFormValue("code"), " ", ""))
	}
	if err != nil {
		err = s.refused(r, "totp", h.Name, err)
		if code := errcode.Of(err); code != errcode.Unauthorized && code != errcode.Exhausted {
			return err
		}
		errcode.SetRetryAfter(w.Header(), err)
		s.render(w, r, errcode.HTTPStatus(errcode.Of(err)), "code", view{Title: "One-time code", Email: h.Name, Error: errcode.Message(err)})
		return nil
	}
	right()
	user, err := s.identity.User(r.Context(), h.UserID)
	if err != nil {
		return err
	}
	return s.passwordDone(w, r, user, h.Next)
}
