package oidc

import (
	"cmp"
	"context"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxLogins limits the lists of logins.
const maxLogins = 200

// Logins returns the people who logged in to an application last, with what they agreed to.
func (p *Provider) Logins(ctx context.Context, c application.Client) ([]application.Login, error) {
	given, err := p.config.Stores.Consents.Consents(ctx, c.ID, maxLogins)
	if err != nil {
		return nil, err
	}
	var people []string
	for _, g := range given {
		people = append(people, g.UserID)
	}
	return p.logins(ctx, given, people, c.ID)
}

// LoginsOf returns the applications that a person agreed to log in to.
func (p *Provider) LoginsOf(ctx context.Context, userID string) ([]application.Login, error) {
	given, err := p.config.Stores.Consents.ConsentsOf(ctx, userID, maxLogins)
	if err != nil {
		return nil, err
	}
	return p.logins(ctx, given, []string{userID}, "")
}

func (p *Provider) logins(ctx context.Context, given []Consent, people []string, clientID string) ([]application.Login, error) {
	live, err := p.config.Stores.Consents.LiveGrants(ctx, people, clientID, p.now())
	if err != nil {
		return nil, err
	}
	clients := map[string]application.Client{}
	var all []application.Login
	for _, g := range given {
		c, read := clients[g.ClientID]
		if !read {
			if c, err = p.config.Clients.Client(ctx, g.ClientID); err != nil && !errcode.Is(err, errcode.NotFound) {
				return nil, err
			}
			clients[g.ClientID] = c
		}
		if c.ID == "" {
			continue // it is being deleted
		}
		who, _ := p.config.Identity.Standing(g.UserID)
		all = append(all, application.Login{
			Client: g.ClientID, Name: c.Name, Title: c.Title, UserID: g.UserID, User: cmp.Or(who.Name, g.UserID),
			Scopes: g.Scopes, AgreedAt: g.GivenAt, LastAt: g.LastAt, Live: live[Pair{g.ClientID, g.UserID}],
		})
	}
	return all, nil
}

// EndLogins ends all logins of a person to a client, refresh tokens included, notifies the
// application, and returns how many there were. With forget the person is asked again.
func (p *Provider) EndLogins(ctx context.Context, by, clientID, userID string, forget bool) (n int, err error) {
	c, err := p.config.Clients.Client(ctx, clientID)
	if err != nil {
		return 0, err
	}
	err = p.config.Stores.Writer.Write(ctx, func(ctx context.Context) error {
		grants, err := p.config.Stores.Ended.GrantsOf(ctx, Pair{clientID, userID})
		if err != nil {
			return err
		}
		if n = len(grants); forget {
			if err := p.config.Stores.Consents.DeleteConsent(ctx, userID, clientID); err != nil {
				return err
			}
		}
		return p.endGrants(ctx, grants, &c, func(Grant) bool { return true })
	})
	if err != nil {
		return 0, err
	}
	p.noticed()
	p.loggedOut(ctx, by, Pair{clientID, userID}, &c, "ended by "+by)
	return n, nil
}

// loggedOut records that somebody's logins ended.
func (p *Provider) loggedOut(ctx context.Context, by string, pair Pair, c *application.Client, why string) {
	name := pair.ClientID
	if c != nil {
		name = c.Name
	}
	p.config.Audit.Add(ctx, audit.Record{At: p.now(), Actor: by, ActorID: pair.UserID, Action: "application.logout", Kind: "application", Name: name, Result: audit.ResultOK, Detail: map[string]string{"reason": why}})
}
