package declare

import (
	"context"
	"maps"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/email"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// userNamed returns a user or service account, nil for none.
func userNamed(ctx context.Context, c *sdk.Client, name string) (*hubv1.User, error) {
	list, err := c.Users.List(ctx, connect.NewRequest(&hubv1.ListUsersRequest{Name: name}))
	if err != nil {
		return nil, err
	}
	u, _ := named(list.Msg.GetUsers(), name)
	return u, nil
}

// users are people. Of a user, nothing can be changed.
type users struct{}

// Read implements Kind.
func (users) Read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*Found, error) {
	u, err := userNamed(ctx, c, item.Name)
	if u == nil {
		return nil, err
	}
	return &Found{ID: u.GetId(), Message: u, By: u.GetManagedBy()}, nil
}

// Same implements Kind.
func (users) Same(*sdk.Client, *manifest.Item, *Found) bool { return true }

// Write implements Kind.
func (users) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error) {
	if have != nil && !item.Management.GetTakeOver() {
		return have, nil
	}
	request := proto.CloneOf(item.Request.(*hubv1.CreateUserRequest))
	request.Management = item.Management
	answer, err := c.Users.Create(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	u := answer.Msg.GetUser()
	return &Found{ID: u.GetId(), Message: u, By: u.GetManagedBy()}, nil
}

// Remove implements Kind.
func (users) Remove(ctx context.Context, c *sdk.Client, name string, by *hubv1.Manager) error {
	u, err := userNamed(ctx, c, name)
	if u == nil {
		return err
	}
	if err := ours(u.GetManagedBy(), by); err != nil {
		return err
	}
	_, err = c.Users.Delete(ctx, connect.NewRequest(&hubv1.DeleteUserRequest{Name: name, Management: &hubv1.Management{By: by}}))
	return ignoreNotFound(err)
}

// Managed implements Kind.
func (users) Managed(ctx context.Context, c *sdk.Client, by *hubv1.Manager) ([]string, error) {
	list, err := c.Users.List(ctx, connect.NewRequest(&hubv1.ListUsersRequest{}))
	if err != nil {
		return nil, err
	}
	people := slices.DeleteFunc(list.Msg.GetUsers(), func(u *hubv1.User) bool { return u.GetKind() != "user" })
	return managedBy(people, by), nil
}

// admins are the administrator rights of users and service accounts.
type admins struct{}

// Read implements Kind.
func (admins) Read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*Found, error) {
	u, err := userNamed(ctx, c, item.Name)
	switch {
	case err != nil:
		return nil, err
	case u == nil:
		return nil, errcode.New(errcode.NotFound, "the hub has no user or service account %s", item.Name)
	case !u.GetAdmin():
		return nil, nil
	}
	return &Found{ID: u.GetId(), Message: u, By: u.GetAdminManagedBy()}, nil
}

// Same implements Kind.
func (admins) Same(*sdk.Client, *manifest.Item, *Found) bool { return true }

// Write implements Kind.
func (admins) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error) {
	if have != nil && !item.Management.GetTakeOver() {
		return have, nil
	}
	answer, err := c.Users.SetAdmin(ctx, connect.NewRequest(&hubv1.SetAdminRequest{Name: item.Name, Admin: true, Management: item.Management}))
	if err != nil {
		return nil, err
	}
	return &Found{ID: answer.Msg.GetId(), Message: answer.Msg, By: answer.Msg.GetAdminManagedBy()}, nil
}

// Remove implements Kind.
func (admins) Remove(ctx context.Context, c *sdk.Client, name string, by *hubv1.Manager) error {
	u, err := userNamed(ctx, c, name)
	if u == nil || !u.GetAdmin() {
		return err
	}
	if err := ours(u.GetAdminManagedBy(), by); err != nil {
		return err
	}
	_, err = c.Users.SetAdmin(ctx, connect.NewRequest(&hubv1.SetAdminRequest{Name: name, Management: &hubv1.Management{By: by}}))
	return ignoreNotFound(err)
}

// Managed implements Kind.
func (admins) Managed(ctx context.Context, c *sdk.Client, by *hubv1.Manager) (names []string, _ error) {
	list, err := c.Users.List(ctx, connect.NewRequest(&hubv1.ListUsersRequest{}))
	if err != nil {
		return nil, err
	}
	for _, u := range list.Msg.GetUsers() {
		if u.GetAdmin() && proto.Equal(u.GetAdminManagedBy(), by) {
			names = append(names, u.GetName())
		}
	}
	return names, nil
}

// providers are login providers.
type providers struct{ described }

// providerFields are the fields that can be changed, with the hub's defaults.
func providerFields(p *hubv1.Provider) *hubv1.Provider {
	out := &hubv1.Provider{
		Issuer: p.GetIssuer(), Title: p.GetTitle(), ClientId: p.GetClientId(), Scopes: slices.Clone(p.GetScopes()), GroupsClaim: p.GetGroupsClaim(), Groups: maps.Clone(p.GetGroups()),
		AllowUnverified: p.GetAllowUnverified(), CaPem: p.GetCaPem(),
	}
	if out.GetTitle() == "" {
		out.Title = p.GetName()
	}
	if len(out.GetScopes()) == 0 {
		out.Scopes = []string{"email", "profile"}
	}
	out.Scopes = slices.DeleteFunc(out.GetScopes(), func(s string) bool { return s == "openid" })
	for _, domain := range p.GetEmailDomains() {
		out.EmailDomains = append(out.EmailDomains, email.Lower(strings.TrimPrefix(domain, "@")))
	}
	return out
}

// Same cannot see the client secret.
func (providers) Same(_ *sdk.Client, item *manifest.Item, have *Found) bool {
	return proto.Equal(providerFields(have.Message.(*hubv1.Provider)), providerFields(item.Request.(*hubv1.CreateProviderRequest).GetProvider()))
}
