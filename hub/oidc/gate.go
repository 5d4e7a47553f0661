package oidc

import (
	"context"
	"encoding/json"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/email"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxGroups limits the claim groups, in bytes: cookies and headers of applications hold not
// much more.
const maxGroups = 8 << 10

// gate decides who may log in to a client.
type gate struct{ identity *identity.Directory }

// person returns somebody by id as they are now, if they may log in to a client: its list has
// them or a group of theirs, and they may read its project. Forbidden, with whom to ask;
// NotFound when there is no such user.
func (g *gate) person(ctx context.Context, c application.Client, userID string) (identity.Principal, error) {
	who, ok := g.identity.Standing(userID)
	if !ok && userID != "" {
		// Another replica may have added them a moment ago.
		if err := g.identity.Reload(ctx, userID); err != nil {
			return who, err
		}
		who, ok = g.identity.Standing(userID)
	}
	if !ok || who.Kind != identity.KindUser {
		return who, errcode.New(errcode.NotFound, "the account does not exist")
	}
	// Applications know people by addresses, in which letters have no case.
	if small := email.Lower(who.Name); small != who.Name {
		if _, err := g.identity.UserByName(ctx, small); !errcode.Is(err, errcode.NotFound) {
			if err == nil {
				err = refusal(c, "another account has your address, in other letters")
			}
			return who, err
		}
	}
	if !c.Admits(who.Name, who.Groups) {
		return who, refusal(c, "its list of those who may log in does not have you or a group of yours")
	}
	if g.identity.Authorize(ctx, who, identity.ActionRead, identity.Scope{Project: c.ProjectID}) != nil {
		return who, refusal(c, "you may not read the project that it belongs to")
	}
	return who, nil
}

func refusal(c application.Client, why string) error {
	ask := c.DeclaredBy
	if ask == "" {
		ask = "an administrator of this hub"
	}
	return errcode.New(errcode.Forbidden, "%s does not let you in: %s. Ask %s for access", c.Title, why, ask)
}

// groups returns the names of a person's groups that a client gets. Exhausted when they are
// too long.
func (g *gate) groups(c application.Client, who identity.Principal) ([]string, error) {
	names := append([]string{}, c.GroupsFor(who.Groups)...)
	text, err := json.Marshal(names)
	if err == nil && len(text) > maxGroups {
		err = errcode.New(errcode.Exhausted, "the names of your %d groups for %s have %d bytes, and at most %d fit into a login; an administrator limits them with a prefix of the application, or takes you out of some", len(names), c.Title, len(text), maxGroups)
	}
	return names, err
}
