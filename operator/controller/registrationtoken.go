package controller

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/secreterror"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/operator/tenancy"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// registrationTokens and bootstrapTokens make a token for new clusters, once, and write it
// to a Secret that did not exist. What was used up or has ended is not made again.
func registrationTokens() kind {
	at := func(o client.Object) types.NamespacedName {
		return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.(*axlev1alpha1.RegistrationToken).Spec.TokenSecretRef.Name}
	}
	k := oneToken(at, func(o client.Object, t *hubv1.Token) {
		status := &o.(*axlev1alpha1.RegistrationToken).Status
		ends := metav1.NewTime(time.UnixMicro(t.GetExpiresAt()).Truncate(time.Second))
		status.UsesLeft, status.ExpiresAt = t.GetUsesLeft(), &ends
	})
	k.name, k.group, k.protection = "RegistrationToken", kinds.Axle, "registrationtoken"
	k.object, k.list = &axlev1alpha1.RegistrationToken{}, &axlev1alpha1.RegistrationTokenList{}
	return k
}

func bootstrapTokens() kind {
	at := func(o client.Object) types.NamespacedName {
		ref := o.(*v1alpha1.BootstrapToken).Spec.TokenSecretRef
		if ref.Namespace == "" {
			ref.Namespace = o.GetNamespace()
		}
		return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	}
	k := oneToken(at, nil)
	k.name, k.protection = "BootstrapToken", "bootstraptoken"
	k.object, k.list = &v1alpha1.BootstrapToken{}, &v1alpha1.BootstrapTokenList{}
	secret := k.references
	k.references = func(o client.Object) []reference.Reference {
		return append(reference.ToGlobal("spec.projectRef", "Project", &o.(*v1alpha1.BootstrapToken).Spec.ProjectRef), secret(o)...)
	}
	k.refersTo = []string{"Project"}
	k.resolve = func(o client.Object, r reference.Resolved) { r.Project(&o.(*v1alpha1.BootstrapToken).Spec.ProjectRef) }
	return k
}

// oneToken is a kind of a token that is made once and written to the Secret at a place.
func oneToken(at func(client.Object) types.NamespacedName, show func(client.Object, *hubv1.Token)) kind {
	return kind{
		hub: bootstrapCalls{},
		references: func(o client.Object) []reference.Reference {
			return []reference.Reference{{Field: "spec.tokenSecretRef", Kind: reference.Secret, At: at(o), Written: true}}
		},
		keep: func(ctx context.Context, p *pass) error { return keepToken(ctx, p, at(p.object), show) },
		release: func(ctx context.Context, p *pass, _ string) (bool, error) {
			if id := value(p.common(p.object).status.ID); id != "" {
				_, err := p.hub.Tokens.Revoke(ctx, connect.NewRequest(&hubv1.RevokeTokenRequest{Id: id}))
				if err := ignoreNotFound(err); err != nil {
					return false, err
				}
			}
			return true, (&wantedToken{at: at(p.object)}).withdraw(ctx, p)
		},
	}
}

// bootstrapCalls find the token that the object made. keepToken makes it, because its
// secret, which nobody can read again, must be stored first of all.
type bootstrapCalls struct{}

func (bootstrapCalls) read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*found, error) {
	all, err := c.Tokens.List(ctx, connect.NewRequest(&hubv1.ListTokensRequest{}))
	if err != nil {
		return nil, err
	}
	for _, t := range all.Msg.GetTokens() {
		if t.GetKind() == "bootstrap" && proto.Equal(t.GetManagedBy(), item.Management.GetBy()) {
			return &found{id: t.GetId(), message: t, managed: true, by: t.GetManagedBy()}, nil
		}
	}
	return nil, nil
}

func (bootstrapCalls) same(context.Context, *sdk.Client, *manifest.Item, *found) (bool, error) {
	return true, nil
}

func (bootstrapCalls) write(_ context.Context, _ *sdk.Client, item *manifest.Item, have *found) (*found, error) {
	if have == nil {
		have = &found{managed: true, by: item.Management.GetBy()}
	}
	return have, nil
}

func (bootstrapCalls) remove(context.Context, *sdk.Client, client.Object, string, *hubv1.Manager) (bool, error) {
	return true, nil
}

// keepToken makes the token unless the object has had one. A kill before the status is
// written leaves a Secret that says which token it has; a kill before the Secret is
// filled, a token that nobody knows, and that goes.
func keepToken(ctx context.Context, p *pass, at types.NamespacedName, show func(client.Object, *hubv1.Token)) error {
	status := p.common(p.object).status
	if value(status.ID) != "" {
		p.wrote = false
		if p.have.id == "" {
			p.have.id = *status.ID // it was used up, or has ended
		}
		return showBootstrap(p, show)
	}
	state, err := (&wantedToken{at: at}).look(ctx, p)
	if err != nil {
		return err
	}
	if state.secret != nil && p.have.id != "" && state.secret.Annotations[tokenID] == p.have.id {
		return showBootstrap(p, show)
	}
	secret, err := reserve(ctx, p, state.secret, at)
	if err != nil {
		return err
	}
	if p.have.id != "" {
		_, err := p.hub.Tokens.Revoke(ctx, connect.NewRequest(&hubv1.RevokeTokenRequest{Id: p.have.id}))
		if err := ignoreNotFound(err); err != nil {
			return err
		}
	}
	request := proto.CloneOf(p.item.Request.(*hubv1.CreateBootstrapTokenRequest))
	request.Management = p.item.Management
	made, err := p.hub.Tokens.CreateBootstrap(ctx, connect.NewRequest(request))
	if err != nil {
		return absent(err)
	}
	t := made.Msg.GetToken()
	p.have = &found{id: t.GetId(), message: t, managed: true, by: p.manager()}
	secret.Annotations[tokenID] = t.GetId()
	secret.Data = map[string][]byte{tenancy.TokenKey: []byte(made.Msg.GetSecret())}
	if err := p.cluster.Update(ctx, secret); err != nil {
		return unwritable(err, tokenField, at)
	}
	return showBootstrap(p, show)
}

// reserve makes the Secret of a token, unless there is one: first of all, so that no token is
// made that cannot be stored.
func reserve(ctx context.Context, p *pass, have *corev1.Secret, at types.NamespacedName) (*corev1.Secret, error) {
	if have != nil {
		return have, nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name, Annotations: map[string]string{writtenBy: p.manager().GetId()}}}
	if err := p.cluster.Create(ctx, secret); err != nil {
		return nil, unwritable(err, tokenField, at)
	}
	return secret, nil
}

// unwritable says what to do about a Secret of a field that the operator may not write.
func unwritable(err error, field string, at types.NamespacedName) error {
	err = secreterror.Of(err)
	if apierrors.IsForbidden(err) {
		return errcode.New(errcode.Forbidden, "the operator may not write Secret %s of %s: bind the ClusterRole axle-operator-secrets to its ServiceAccount in namespace %s (%w)", at, field, at.Namespace, err)
	}
	return err
}

func showBootstrap(p *pass, show func(client.Object, *hubv1.Token)) error {
	if t, ok := p.have.message.(*hubv1.Token); ok && show != nil {
		p.have.show = func(o client.Object) { show(o, t) }
	}
	return nil
}
