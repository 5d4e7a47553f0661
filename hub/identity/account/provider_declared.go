package account

import (
	"context"
	"maps"
	"slices"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// CheckProvider returns what is wrong with a provider before it is stored. Invalid.
func CheckProvider(p Provider) error {
	_, err := p.checked()
	return err
}

// DeclareProvider makes a provider equal to its declaration, with its secret,
// and creates the groups that it maps to where they are missing: a group without
// bindings gives no rights. It reports whether anything changed. Invalid;
// Conflict when another replica was faster, which the next call resolves.
func (ps *providers) DeclareProvider(ctx context.Context, by identity.Principal, p Provider, secret string) (changed bool, err error) {
	if p, err = p.checked(); err != nil {
		return false, err
	}
	for _, group := range slices.Sorted(maps.Values(p.Groups)) {
		_, err := ps.stores.Members.GroupByName(ctx, group)
		if errcode.Is(err, errcode.NotFound) {
			_, err = ps.directory.CreateGroup(ctx, by.By(), group, "of login provider "+p.Name)
		}
		if err != nil {
			return false, err
		}
	}
	present, kept, err := ps.ProviderByName(ctx, p.Name)
	if errcode.Is(err, errcode.NotFound) {
		_, err = ps.CreateProvider(ctx, by, p, secret)
		return err == nil, err
	}
	if err != nil {
		return false, err
	}
	if kept == secret && p.same(present) {
		return false, nil
	}
	_, err = ps.UpdateProvider(ctx, by, p.Name, &secret, func(stored *Provider) {
		p.ID, p.CreatedAt = stored.ID, stored.CreatedAt
		*stored = p
	})
	return err == nil, err
}

// same compares the fields of a provider that can be chosen.
func (p Provider) same(o Provider) bool {
	return p.Name == o.Name && p.Title == o.Title && p.Issuer == o.Issuer && p.ClientID == o.ClientID && slices.Equal(p.Scopes, o.Scopes) &&
		p.GroupsClaim == o.GroupsClaim && maps.Equal(p.Groups, o.Groups) && slices.Equal(p.EmailDomains, o.EmailDomains) &&
		p.AllowUnverified == o.AllowUnverified && p.CAPEM == o.CAPEM
}
