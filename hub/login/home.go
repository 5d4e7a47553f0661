package login

import (
	"encoding/json"
	"net/http"

	"github.com/axle-cd/axle/internal/errcode"
)

// home says who is logged in and how to go on.
func (s *Server) home(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	s.render(w, r, http.StatusOK, "home", view{Title: "Axle", Person: &p})
	return nil
}

// session tells a program in the browser who is logged in, and the token that
// its calls need.
func (s *Server) session(w http.ResponseWriter, r *http.Request) error {
	p, ok := s.person(r)
	if !ok {
		return errcode.New(errcode.Unauthorized, "nobody is logged in")
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(map[string]any{
		"name": p.Name, "groups": append([]string{}, p.Groups...), "admin": p.Admin, "csrf": FormToken(s.cookie(r.Header, cookieSession)),
	})
}
