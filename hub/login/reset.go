package login

import (
	"net/http"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// ResetPath is the page to choose a new password; axle-hub admin reset prints
// its URL.
const ResetPath = "/login/reset"

const resetTitle = "Choose a new password"

// showReset asks for the new password of a reset token.
func (s *Server) showReset(w http.ResponseWriter, r *http.Request) error {
	if err := s.try(r); err != nil {
		return err
	}
	token := r.URL.Query().Get("token")
	user, err := s.accounts.CheckReset(r.Context(), token)
	if err != nil {
		return err
	}
	s.render(w, r, http.StatusOK, "reset", view{Title: resetTitle, Token: token, Email: user.Name})
	return nil
}

// reset sets the new password. It logs nobody in: a second factor is still required.
func (s *Server) reset(w http.ResponseWriter, r *http.Request) error {
	if err := s.try(r); err != nil {
		return err
	}
	token, password := r.PostFormValue("token"), r.PostFormValue("password")
	user, err := s.accounts.CheckReset(r.Context(), token)
	if err != nil {
		return s.refused(r, "reset", "", err)
	}
	if password != r.PostFormValue("again") {
		err = errcode.New(errcode.Invalid, "the two passwords differ")
	} else {
		_, err = s.accounts.ResetPassword(r.Context(), token, password)
	}
	switch {
	case errcode.Is(err, errcode.Invalid):
		s.render(w, r, http.StatusUnprocessableEntity, "reset", view{Title: resetTitle, Token: token, Email: user.Name, Error: errcode.Message(err)})
		return nil
	case err != nil:
		return s.refused(r, "reset", user.Name, err)
	}
	s.dropCookie(w, cookieSession)
	s.record(r, audit.Record{Actor: user.Name, ActorKind: string(identity.KindUser), ActorID: user.ID, Action: "login.reset", Name: user.Name, Result: audit.ResultOK})
	s.render(w, r, http.StatusOK, "message", view{Title: "The password is set", Note: "Log in with it, and with your second factor if you have one. Every browser and command line of " + user.Name + " was logged out, and the API tokens have ended.", Back: "/login"})
	return nil
}
