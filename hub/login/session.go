package login

import (
	"encoding/json"
	"net/http"
)

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
		"id": p.ID, "name": p.Name, "groups": append([]string{}, p.Groups...), "admin": p.Admin, "provedAt": at, "csrf": FormToken(s.cookie(r.Header, cookieSession)),
	})
}
