package oidc

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/zitadel/oidc/v3/pkg/oidc"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/login"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

// tryOut shows the person of a browser what an application would get of them, or why it would
// not let them in. It decides as a login does, and gives nothing to the application.
func (p *Provider) tryOut(w http.ResponseWriter, r *http.Request) error {
	if err := p.rates.browsers.Take(pool.Stranger(r.RemoteAddr)); err != nil {
		return err
	}
	v, ok, err := p.visitor(w, r)
	if err != nil || !ok {
		return err
	}
	id := r.URL.Query().Get("client_id")
	c, err := p.config.Clients.Client(r.Context(), id)
	if errcode.Is(err, errcode.NotFound) {
		err = errcode.New(errcode.NotFound, "this hub has no application with the client_id %.80q: who runs the application corrects it there, or declares the application here", id)
	}
	if err != nil {
		return err
	}
	trial := login.SignInTrial{Application: c.Title, Person: v.Name}
	err = p.mayUse(r.Context(), c, v, scopes)
	switch code := errcode.Of(err); {
	case err == nil:
		trial.Claims, err = p.would(r, c, v)
	case code != errcode.Internal && code != errcode.Unavailable:
		trial.Refused, err = errcode.Message(err), nil
	}
	if err == nil {
		p.config.Pages.ShowTrial(w, r, trial)
	}
	return err
}

// would are the claims of an ID token with all scopes.
func (p *Provider) would(r *http.Request, c application.Client, v login.Visitor) ([]login.Claim, error) {
	person, err := p.gate.person(r.Context(), c, v.ID)
	if err != nil {
		return nil, err
	}
	info := new(oidc.UserInfo)
	if err := p.fill(info, c, person, scopes); err != nil {
		return nil, err
	}
	g := p.grantFor(c, v, scopes)
	info.AppendClaims("iss", p.issuer)
	info.AppendClaims("aud", c.ID)
	info.AppendClaims("acr", g.Class)
	info.AppendClaims("amr", g.Methods)
	text, err := json.Marshal(info)
	var all map[string]any
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, errcode.New(errcode.Internal, "show the claims of a sign-in: %w", err)
	}
	var shown []login.Claim
	for _, name := range slices.Sorted(maps.Keys(all)) {
		shown = append(shown, login.Claim{Name: name, Value: claimText(all[name])})
	}
	return shown, nil
}

// claimText is a claim as people read it.
func claimText(value any) string {
	list, is := value.([]any)
	if !is {
		return fmt.Sprint(value)
	}
	var texts []string
	for _, one := range list {
		texts = append(texts, fmt.Sprint(one))
	}
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ", ")
}
