package login

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/errcode"
)

// showLogout asks whether to log out: a link on another page must not log
// anybody out.
func (s *Server) showLogout(w http.ResponseWriter, r *http.Request) error {
	p, ok := s.person(r)
	if !ok {
		http.Redirect(w, r, "/logout/done", http.StatusSeeOther)
		return nil
	}
	v := view{Title: "Log out", Person: &p}
	if end := s.providerLogout(r, p); end != "" {
		v.FormTo = originOf(end)
	}
	s.render(w, r, http.StatusOK, "logout", v)
	return nil
}

// logout ends the session here, and at the provider where it supports that.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) error {
	to := "/logout/done"
	if p, ok := s.person(r); ok {
		if end := s.providerLogout(r, p); end != "" {
			to = end
		}
		if err := s.leave(w, r, p); err != nil {
			return err
		}
	}
	s.dropCookie(w, cookieSession)
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// leave ends the session of a person.
func (s *Server) leave(w http.ResponseWriter, r *http.Request, p identity.Principal) error {
	if err := s.end(r, p); err != nil {
		return err
	}
	s.record(r, audit.Record{Actor: p.Name, ActorKind: string(p.Kind), ActorID: p.ID, TokenID: p.TokenID, Action: "logout", Result: audit.ResultOK, Detail: scopeOf(r)})
	s.dropCookie(w, cookieSession)
	return nil
}

// scopeOf records how much a logout ended.
func scopeOf(r *http.Request) map[string]string {
	if r.PostFormValue("everywhere") == "" {
		return nil
	}
	detail := ended(r.PostFormValue("tokens") != "")
	detail["everywhere"] = "yes"
	return detail
}

func (s *Server) end(r *http.Request, p identity.Principal) error {
	if r.PostFormValue("everywhere") != "" {
		_, err := s.accounts.EndSessions(r.Context(), p, "", r.PostFormValue("tokens") != "")
		return err
	}
	err := s.accounts.EndSession(r.Context(), p, p.TokenID)
	if errcode.Is(err, errcode.NotFound) {
		return nil
	}
	return err
}

// providerLogout returns the logout URL of a session's provider. It is empty
// when there is none, or when the provider does not answer: the session here
// ends in any case.
func (s *Server) providerLogout(r *http.Request, by identity.Principal) string {
	id, idToken, err := s.accounts.LogoutHint(r.Context(), by.TokenID)
	if err != nil || id == "" {
		return ""
	}
	all, err := s.providers.all(r.Context())
	at := slices.IndexFunc(all, func(p account.Provider) bool { return p.ID == id })
	if err != nil || at < 0 {
		return ""
	}
	p, err := s.providers.provider(r.Context(), all[at].Name)
	if err != nil {
		return ""
	}
	found, err := p.discover(r.Context())
	if err != nil || found.EndSession == "" || s.providers.down(p.Name) != "" {
		return ""
	}
	u, err := url.Parse(found.EndSession)
	if err != nil {
		return ""
	}
	query := u.Query()
	query.Set("id_token_hint", idToken)
	query.Set("client_id", p.ClientID)
	query.Set("post_logout_redirect_uri", s.origin+"/logout/done")
	u.RawQuery = query.Encode()
	return u.String()
}

// loggedOut shows that the person is logged out.
func (s *Server) loggedOut(w http.ResponseWriter, r *http.Request) error {
	s.render(w, r, http.StatusOK, "message", view{Title: "Logged out", Note: "You are logged out of this hub, and so are the command lines that this browser let in.", Back: "/login"})
	return nil
}
