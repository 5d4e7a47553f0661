package application

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/internal/email"
	"github.com/axle-cd/axle/internal/errcode"
)

// Client is the client of an application as the identity provider sees it.
type Client struct {
	Settings
	// ApplicationID is that of the object, ID what the protocol calls the client.
	ApplicationID, ID string
	// Name is that of the application, and Title what people see.
	Name, Title string
	// ProjectID is the project that a person must be able to read.
	ProjectID string
	// DeclaredBy is who declared the application last, whom people ask for access.
	DeclaredBy string
	// Access, Identity and Refresh are how long tokens live.
	Access, Identity, Refresh time.Duration
	// Algorithm signs tokens.
	Algorithm string
}

// errNoClient is the same for an id that does not exist and for a wrong secret.
var errNoClient = errcode.New(errcode.Unauthorized, "the client id or the client secret is wrong")

// Client returns the client of an id. NotFound.
func (a *Applications) Client(ctx context.Context, clientID string) (Client, error) {
	r, o, found, err := a.find(ctx, clientID)
	if err == nil && !found {
		err = errcode.New(errcode.NotFound, "there is no client %.80q", clientID)
	}
	if err != nil {
		return Client{}, err
	}
	return clientOf(r, o)
}

// find returns a client with its application.
func (a *Applications) find(ctx context.Context, clientID string) (r Record, o objects.Object, found bool, err error) {
	if r, found, err = a.config.Store.Client(ctx, clientID); err != nil || !found {
		return r, o, false, err
	}
	o, found, err = a.config.Store.ObjectByID(ctx, r.ApplicationID)
	return r, o, found, err
}

func clientOf(r Record, o objects.Object) (Client, error) {
	s, err := parse(o.Spec)
	if err != nil {
		return Client{}, err
	}
	c := Client{
		Settings: s, ApplicationID: o.ID, ID: r.ClientID, Name: o.Name, Title: cmp.Or(s.Title, o.Name), ProjectID: o.ProjectID, DeclaredBy: o.DeclaredBy,
		Algorithm: cmp.Or(s.SigningAlgorithm, "RS256"),
	}
	c.Access, c.Identity, c.Refresh, err = s.lifetimes()
	return c, err
}

// Authenticate returns the client of an id whose secret is valid. Unauthorized, with the same
// text for all that can be wrong. A public client has none, and is never authenticated.
func (a *Applications) Authenticate(ctx context.Context, clientID, secret string) (Client, error) {
	r, o, found, err := a.find(ctx, clientID)
	if err != nil {
		return Client{}, err
	}
	var all []Secret
	if found {
		if all, err = a.config.Store.Secrets(ctx, o.ID); err != nil {
			return Client{}, err
		}
	}
	hash, now, valid := a.hash(o.ID, secret), a.now(), false
	for _, s := range all {
		valid = hmac.Equal([]byte(hash), []byte(s.Hash)) && !s.ended(now) || valid
	}
	if !valid {
		return Client{}, errNoClient
	}
	return clientOf(r, o)
}

// hash is that of a client's secret. It is keyed, because a secret that was taken over may be
// guessed.
func (a *Applications) hash(applicationID, secret string) string {
	h := hmac.New(sha256.New, a.config.Key)
	h.Write([]byte("client secret\x00" + applicationID + "\x00" + secret))
	return hex.EncodeToString(h.Sum(nil))
}

// Admits reports whether a person is one of those who may log in: by their e-mail address or
// one of their groups. Whether they may read the project is asked of hub/identity.
func (c Client) Admits(address string, groups []string) bool {
	bound := func(group string) bool { return slices.Contains(c.Groups, group) }
	is := func(user string) bool { return email.Lower(user) == email.Lower(address) }
	return slices.ContainsFunc(c.Users, is) || slices.ContainsFunc(groups, bound)
}

// GroupsFor are those of a person's groups that tokens for the client have, in their order.
func (c Client) GroupsFor(groups []string) (some []string) {
	for _, g := range groups {
		if strings.HasPrefix(g, c.GroupsPrefix) && (!c.BoundGroupsOnly || slices.Contains(c.Groups, g)) {
			some = append(some, g)
		}
	}
	return some
}

// ReturnsTo reports whether a redirect URI of a request is one of the client's.
func (c Client) ReturnsTo(uri string) bool { return matches(c.RedirectURIs, uri, c.Public) }

// LeavesTo reports whether a URI is one to which people may return after a logout.
func (c Client) LeavesTo(uri string) bool { return matches(c.PostLogoutRedirectURIs, uri, c.Public) }
