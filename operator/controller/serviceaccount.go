package controller

import (
	"context"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

func serviceAccounts() kind {
	return kind{
		name: "ServiceAccount", protection: "serviceaccount", object: &v1alpha1.ServiceAccount{}, list: &v1alpha1.ServiceAccountList{}, hub: accountCalls{},
		references: func(o client.Object) []reference.Reference {
			refs := reference.ToSecret("spec.tokenSecretRef", o.(*v1alpha1.ServiceAccount).Spec.TokenSecretRef, "")
			for i := range refs {
				refs[i].Written = true
			}
			return refs
		},
		refersTo: []string{reference.Secret},
		token:    tokenOfAccount,
		release: func(ctx context.Context, p *pass, _ string) (bool, error) {
			want, err := tokenOfAccount(p.object)
			if err != nil || want == nil {
				return err == nil, err
			}
			return true, want.withdraw(ctx, p)
		},
	}
}

// tokenOfAccount returns the token that the object wants, nil for none. A scope that
// the hub does not know narrows the token to reading, if it is about reading.
func tokenOfAccount(o client.Object) (*wantedToken, error) {
	account := o.(*v1alpha1.ServiceAccount)
	ref := account.Spec.TokenSecretRef
	if ref == nil {
		return nil, nil
	}
	if ref.Name == "" || ref.Namespace == "" {
		return nil, errcode.New(errcode.Invalid, "spec.tokenSecretRef needs a name and a namespace: a ServiceAccount has none of its own")
	}
	length, err := lifetime(value(account.Spec.TokenExpiry))
	if err != nil {
		return nil, err
	}
	return &wantedToken{
		at: types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, account: manifest.AccountName(account.Spec.Email), scopes: scopesOf(account.Spec.Scopes), lifetime: length,
	}, nil
}

func scopesOf(scopes []v1alpha1.ServiceAccountScope) []string {
	reading := len(scopes) > 0
	for _, scope := range scopes {
		calls := slices.Clone(scope.APIs)
		if scope.API != nil {
			calls = append(calls, *scope.API)
		}
		reading = reading && len(calls) > 0 && !slices.ContainsFunc(calls, func(call string) bool { return !strings.HasSuffix(call, ".read") })
	}
	if reading {
		return []string{"read"}
	}
	return []string{"read", "write"}
}

type accountCalls struct{}

func foundAccount(a *hubv1.ServiceAccount) *found {
	return &found{id: a.GetId(), message: a, managed: true, by: a.GetManagedBy()}
}

func (accountCalls) read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*found, error) {
	all, err := c.ServiceAccounts.List(ctx, connect.NewRequest(&hubv1.ListServiceAccountsRequest{}))
	if err != nil {
		return nil, err
	}
	for _, one := range all.Msg.GetAccounts() {
		if one.GetName() == item.Name {
			return foundAccount(one), guarded(one)
		}
	}
	return nil, nil
}

// guarded refuses the accounts of administrators, such as the operator's own:
// otherwise the right to create a ServiceAccount would be the right to become one of
// them, or to delete it.
func guarded(a *hubv1.ServiceAccount) error {
	if a.GetAdmin() {
		return errcode.New(errcode.Forbidden, "service account %s is an administrator of the hub: a custom resource neither changes it nor gets its token", a.GetName())
	}
	return nil
}

// same is true: an account has nothing that a custom resource could change.
func (accountCalls) same(context.Context, *sdk.Client, *manifest.Item, *found) (bool, error) {
	return true, nil
}

func (accountCalls) write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *found) (*found, error) {
	if have != nil && !item.Management.GetTakeOver() {
		return have, nil
	}
	request := proto.CloneOf(item.Request.(*hubv1.CreateServiceAccountRequest))
	request.Management = item.Management
	answer, err := c.ServiceAccounts.Create(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	return foundAccount(answer.Msg), nil
}

func (a accountCalls) remove(ctx context.Context, c *sdk.Client, _ client.Object, name string, by *hubv1.Manager) (bool, error) {
	have, err := a.read(ctx, c, &manifest.Item{Name: name})
	if have == nil || err != nil {
		return err == nil, err
	}
	if !proto.Equal(have.by, by) {
		return false, &ofOthers{have.by}
	}
	_, err = c.ServiceAccounts.Delete(ctx, connect.NewRequest(&hubv1.DeleteServiceAccountRequest{Name: name, Management: &hubv1.Management{By: by}}))
	return err == nil, err
}
