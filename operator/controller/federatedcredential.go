package controller

import (
	"context"
	"errors"
	"maps"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/assertion"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

func federatedCredentials() kind {
	return kind{
		name: "FederatedCredential", protection: "federatedcredential", object: &v1alpha1.FederatedCredential{}, list: &v1alpha1.FederatedCredentialList{}, hub: trustCalls{},
		common: func(o client.Object) common {
			c := o.(*v1alpha1.FederatedCredential)
			return common{&c.Status, c.Spec.Reconciliation}
		},
	}
}

type trustCalls struct{}

func foundTrust(t *hubv1.Trust) *found { return &found{id: t.GetId(), message: t} }

// trustOf is what is declared, with the hub's defaults.
func trustOf(c *sdk.Client, item *manifest.Item) *hubv1.CreateTrustRequest {
	want := proto.CloneOf(item.Request.(*hubv1.CreateTrustRequest))
	if want.GetAudience() == "" {
		want.Audience = c.URL
	}
	if len(want.GetScopes()) == 0 {
		want.Scopes = []string{"read"}
	}
	return want
}

func (trustCalls) read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*found, error) {
	all, err := c.Federation.List(ctx, connect.NewRequest(&hubv1.ListTrustsRequest{}))
	if err != nil {
		return nil, err
	}
	for _, one := range all.Msg.GetTrusts() {
		if one.GetName() == item.Name {
			return foundTrust(one), nil
		}
	}
	return nil, nil
}

func (trustCalls) same(_ context.Context, c *sdk.Client, item *manifest.Item, f *found) (bool, error) {
	have, want := f.message.(*hubv1.Trust), trustOf(c, item)
	return have.GetIssuer() == want.GetIssuer() && have.GetAudience() == want.GetAudience() && have.GetAccount() == want.GetAccount() &&
		maps.Equal(have.GetClaims(), want.GetClaims()) && slices.Equal(have.GetScopes(), want.GetScopes()), nil
}

// write replaces a trust that differs: the hub cannot change one, and what was
// exchanged under the terms before ends with it.
func (t trustCalls) write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *found) (*found, error) {
	if have != nil {
		if same, err := t.same(ctx, c, item, have); same || err != nil {
			return have, err
		}
		if err := assertion.CheckPatterns(trustOf(c, item).GetClaims()); err != nil {
			return nil, err // the hub would say so after the deletion
		}
		_, err := c.Federation.Delete(ctx, connect.NewRequest(&hubv1.DeleteTrustRequest{Name: item.Name}))
		if err := ignoreNotFound(err); err != nil {
			return nil, err
		}
	}
	answer, err := c.Federation.Create(ctx, connect.NewRequest(trustOf(c, item)))
	if err != nil {
		return nil, errors.Join(err, restore(ctx, c, have))
	}
	return foundTrust(answer.Msg), nil
}

// restore makes the trust again that a refused one was to replace, so that a mistake
// locks nobody out.
func restore(ctx context.Context, c *sdk.Client, have *found) error {
	if have == nil {
		return nil
	}
	was := have.message.(*hubv1.Trust)
	_, err := c.Federation.Create(ctx, connect.NewRequest(&hubv1.CreateTrustRequest{
		Name: was.GetName(), Issuer: was.GetIssuer(), Audience: was.GetAudience(), Claims: was.GetClaims(), Account: was.GetAccount(),
		Scopes: was.GetScopes(), LifetimeMicros: was.GetLifetimeMicros(),
	}))
	return err
}

func (trustCalls) remove(ctx context.Context, c *sdk.Client, _ client.Object, name string, _ *hubv1.Manager) (bool, error) {
	_, err := c.Federation.Delete(ctx, connect.NewRequest(&hubv1.DeleteTrustRequest{Name: name}))
	return err == nil, err
}
