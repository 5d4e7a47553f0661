package login

import (
	"encoding/json"
	"net/http"
)

// home shows who is logged in, with links to continue.
func (s *Server) home(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	s.render(w, r, http.StatusOK, "home", view{Title: "Axle", Person: &p})
	return nil
}

// session tells a program in the browser who is logged in, when they last gave
// a proof, and the token that its calls need.
func (s *Server) session(w http.ResponseWriter, r *http.Request) error {
	p, err := s.who(r)
	if err != nil {
		return err
	}
	at, err := s.identity.ProvedAt(r.Context(), p)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(map[string]any{
		"name": p.Name, "groups": append([]string{}, p.Groups...), "admin": p.Admin, "provedAt": at, "csrf": FormToken(s.cookie(r.Header, cookieSession)),
	})
}
