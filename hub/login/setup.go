package login

import (
	"net/http"
	"strings"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/errcode"
)

// SetupPath is the page that creates the first administrator, with ?token=.
const SetupPath = "/setup"

// showSetup asks for the first administrator; it requires the setup token.
func (s *Server) showSetup(w http.ResponseWriter, r *http.Request) error {
	if err := s.try(r); err != nil {
		return err
	}
	token := r.URL.Query().Get("token")
	if err := s.accounts.CheckSetup(r.Context(), token); err != nil {
		return err
	}
	s.render(w, r, http.StatusOK, "setup", view{Title: "Set up this hub", Token: token})
	return nil
}

// setUp creates the first administrator and logs them in.
func (s *Server) setUp(w http.ResponseWriter, r *http.Request) error {
	if err := s.try(r); err != nil {
		return err
	}
	token, email, password := r.PostFormValue("token"), strings.TrimSpace(r.PostFormValue("email")), r.PostFormValue("password")
	var err error
	if password != r.PostFormValue("again") {
		err = errcode.New(errcode.Invalid, "the two passwords differ")
	}
	var user identity.User
	if err == nil {
		user, err = s.accounts.SetupLocal(r.Context(), token, email, password)
	}
	switch {
	case errcode.Is(err, errcode.Invalid):
		s.render(w, r, http.StatusUnprocessableEntity, "setup", view{Title: "Set up this hub", Token: token, Email: email, Error: errcode.Message(err)})
		return nil
	case err != nil:
		return s.refused(r, account.MethodSetup, email, err)
	}
	if err := s.begin(w, r, user, account.SessionTerms{Method: account.MethodSetup}, ""); err != nil {
		return err
	}
	http.Redirect(w, r, "/login/account?new=1", http.StatusSeeOther)
	return nil
}
