package declare

import (
	"context"
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/assertion"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// FederatedCredentials are trusts of the kind of that name.
var FederatedCredentials Kind = credentials{described{"FederationTrust"}}

// credentials are trusts too, for the operator alone. Unlike those of
// FederationTrust, their audience is the hub's URL by default, and they are replaced
// when they differ, because their kind allows a change.
type credentials struct{ described }

// wanted is what is declared, with the default of the audience.
func (credentials) wanted(c *sdk.Client, item *manifest.Item) *manifest.Item {
	want := proto.CloneOf(item.Request.(*hubv1.CreateTrustRequest))
	if want.GetAudience() == "" {
		want.Audience = c.URL
	}
	return &manifest.Item{Kind: item.Kind, Name: item.Name, Request: want, Management: item.Management}
}

// Same implements Kind.
func (f credentials) Same(c *sdk.Client, item *manifest.Item, have *Found) bool {
	return f.described.Same(c, f.wanted(c, item), have)
}

// Write replaces a trust that differs: the hub cannot change one, and what was
// exchanged under the terms before ends with it.
func (f credentials) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error) {
	want := f.wanted(c, item)
	if have == nil || f.described.Same(c, want, have) {
		return f.described.Write(ctx, c, want, have)
	}
	if err := assertion.CheckPatterns(want.Request.(*hubv1.CreateTrustRequest).GetClaims()); err != nil {
		return nil, err // the hub would say so after the deletion
	}
	_, err := c.Federation.Delete(ctx, connect.NewRequest(&hubv1.DeleteTrustRequest{Name: item.Name, Management: item.Management}))
	if err := ignoreNotFound(err); err != nil {
		return nil, err
	}
	made, err := f.described.Write(ctx, c, want, nil)
	if err != nil {
		return nil, errors.Join(err, restore(ctx, c, have, item.Management))
	}
	return made, nil
}

// restore makes the trust again that a refused one was to replace, so that a mistake
// locks nobody out.
func restore(ctx context.Context, c *sdk.Client, have *Found, by *hubv1.Management) error {
	was := have.Message.(*hubv1.Trust)
	_, err := c.Federation.Create(ctx, connect.NewRequest(&hubv1.CreateTrustRequest{
		Name: was.GetName(), Issuer: was.GetIssuer(), Audience: was.GetAudience(), Claims: was.GetClaims(), Account: was.GetAccount(),
		Scopes: was.GetScopes(), LifetimeMicros: was.GetLifetimeMicros(), CaPem: was.GetCaPem(), Management: by,
	}))
	return err
}
