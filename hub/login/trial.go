package login

import (
	"context"
	"net/http"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/errcode"
)

// Trials are login providers that people try before they are saved.
type Trials struct{ *Server }

// Try reads the issuer of a provider that is not saved, or of a changed one, and keeps it
// for its person to log in there. The errors are those of account.StartTrial, and
// Unavailable when the issuer does not answer as one.
func (s *Trials) Try(ctx context.Context, by identity.Principal, p account.Provider, secret *string) (account.TrialLink, error) {
	id, expires, err := s.accounts.StartTrial(ctx, by, p, secret)
	if err != nil {
		return account.TrialLink{}, err
	}
	tried, err := s.trial(ctx, by, id)
	if err != nil {
		return account.TrialLink{}, err
	}
	if _, err := tried.discover(ctx); err != nil {
		return account.TrialLink{}, err
	}
	return account.TrialLink{URL: s.origin + "/login/try/" + id, Callback: s.origin + p.CallbackPath(), ExpiresAt: expires}, nil
}

// trial returns the provider that a person tries. NotFound.
func (s *Trials) trial(ctx context.Context, by identity.Principal, id string) (*provider, error) {
	p, secret, err := s.accounts.Trial(ctx, by, id)
	if err != nil {
		return nil, err
	}
	return s.providers.unknown(p, secret)
}

// toTrial sends the browser of the person who tries a provider to log in there.
func (s *Trials) toTrial(w http.ResponseWriter, r *http.Request) error {
	if err := s.try(r); err != nil {
		return err
	}
	by, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	p, err := s.trial(r.Context(), by, r.PathValue("trial"))
	if err != nil {
		return err
	}
	return s.send(w, r, p, flow{Trial: r.PathValue("trial")})
}

// trialView is what the page of a trial shows.
type trialView struct {
	Title string
	// Refused says why a login would be refused; empty when it would not.
	Refused string
	account.Outcome
	// GroupsClaim is the claim that holds groups, and Lacking is set when the answer has
	// no such claim.
	GroupsClaim string
	Lacking     bool
	Claims      []account.Claim
}

// tried handles the answer of a provider that is tried: it shows the claims and what a
// login would do, and does nothing.
func (s *Trials) tried(w http.ResponseWriter, r *http.Request, f flow) error {
	by, err := s.who(r)
	if err != nil {
		return err
	}
	p, err := s.trial(r.Context(), by, f.Trial)
	if err != nil {
		return err
	}
	v := view{Title: "Trial of " + p.Title, Back: "/login/try/" + f.Trial, Trial: &trialView{Title: p.Title, GroupsClaim: p.GroupsClaim}}
	status := http.StatusOK
	claims, err := s.claimed(r.Context(), p, f, r.URL.Query(), &answer{})
	if err == nil {
		v.Trial.Claims = claims.Shown()
		_, has := p.groups(claims.All)
		v.Trial.Lacking = p.GroupsClaim != "" && !has
		v.Trial.Outcome, err = s.accounts.Preview(r.Context(), p.Provider, claims)
	}
	switch errcode.Of(err) {
	case "":
	case errcode.Internal:
		return err
	default:
		status, v.Trial.Refused = errcode.HTTPStatus(errcode.Of(err)), errcode.Message(err)
	}
	s.render(w, r, status, "trial", v)
	return nil
}
