package controller

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/declare"
)

// clusterRegistrations create clusters of the hub before their agents exist: from a template,
// or as a row, whose token is then written to a Secret.
func clusterRegistrations() kind {
	return kind{
		name: "ClusterRegistration", group: kinds.Axle, protection: "clusterregistration",
		object: &axlev1alpha1.ClusterRegistration{}, list: &axlev1alpha1.ClusterRegistrationList{},
		hub: registrationCalls{declared{Kind: declare.Registrations, show: showRegistration}},
		references: func(o client.Object) []reference.Reference {
			at := registrationSecret(o)
			if at.Name == "" {
				return nil
			}
			return []reference.Reference{{Field: "spec.tokenSecretRef", Kind: reference.Secret, At: at, Written: true}}
		},
		keep: keepRegistration,
		release: func(ctx context.Context, p *pass, _ string) (bool, error) {
			if at := registrationSecret(p.object); at.Name != "" {
				return true, (&wantedToken{at: at}).withdraw(ctx, p)
			}
			return true, nil
		},
	}
}

// registrationSecret is where the token of a cluster is written to, without a name for one
// that connects by itself.
func registrationSecret(o client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: value(o.(*axlev1alpha1.ClusterRegistration).Spec.TokenSecretRef).Name}
}

func showRegistration(o client.Object, m proto.Message) {
	c, status := m.(*hubv1.Cluster), &o.(*axlev1alpha1.ClusterRegistration).Status
	status.Registered, status.ClusterAPI = c.GetRegistered(), clusterAPI(c)
	if status.Registered {
		status.TokenExpiresAt = nil
	}
}

// registrationCalls are those of declared, except that a cluster leaves the hub with its
// object.
type registrationCalls struct{ declared }

func (registrationCalls) remove(ctx context.Context, c *sdk.Client, o client.Object, name string, by *hubv1.Manager) (bool, error) {
	return leave(ctx, c, name, by, value(o.(*axlev1alpha1.ClusterRegistration).Spec.Detach), "with spec.detach: true")
}

// leave removes a cluster from the hub. The hub refuses it for one with machines that it made,
// and names the command that destroys them, unless they are to stay, which how says; once that
// command was given, the object waits until they are gone.
func leave(ctx context.Context, c *sdk.Client, name string, by *hubv1.Manager, detach bool, how string) (bool, error) {
	have, err := c.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: name}))
	if err == nil && have.Msg.GetOrigin().GetDestroying() {
		return false, nil // whoever gave the command
	}
	if err := others(have, err, by); err != nil {
		return false, err
	}
	_, err = c.Clusters.Delete(ctx, connect.NewRequest(&hubv1.DeleteClusterRequest{Name: name, Detach: detach, Management: &hubv1.Management{By: by}}))
	if errcode.Is(err, errcode.Conflict) && have.Msg.GetOrigin() != nil && !detach {
		err = errcode.New(errcode.Conflict, "%w, or delete this object %s", err, how)
	}
	return err == nil, err
}

// lifeOfBootstrapToken is that of a token which the hub makes with a cluster.
const lifeOfBootstrapToken = time.Hour

// keepRegistration writes the token of a cluster without an agent to its Secret, and another
// one before that ends or when the Secret is gone.
func keepRegistration(ctx context.Context, p *pass) error {
	at, c := registrationSecret(p.object), p.have.message.(*hubv1.Cluster)
	if at.Name == "" || c.GetRegistered() {
		return nil
	}
	token := &wantedToken{at: at, lifetime: lifeOfBootstrapToken}
	state, err := token.look(ctx, p)
	if err != nil {
		return err
	}
	if !state.good {
		secret, err := reserve(ctx, p, state.secret, at)
		if err != nil {
			return err
		}
		made := p.have.declared.Registration
		if made == nil {
			answer, err := p.hub.Clusters.Create(ctx, connect.NewRequest(&hubv1.CreateClusterRequest{Name: c.GetName(), RenewToken: true, Management: p.item.Management}))
			if err != nil {
				return err
			}
			made = answer.Msg
		}
		token.beside = map[string]string{"hubURL": made.GetHubUrl(), "ca.pem": made.GetCaPem()}
		ends := made.GetBootstrapExpiresAt()
		if err := token.store(ctx, p, secret, &hubv1.CreatedToken{Token: &hubv1.Token{ExpiresAt: ends}, Secret: made.GetBootstrapToken()}); err != nil {
			return err
		}
		state.renew = time.UnixMicro(ends).Add(-token.lifetime / 3)
	}
	renewal(p, state.renew)
	p.have.show = func(o client.Object) {
		showRegistration(o, c)
		ends := metav1.NewTime(state.renew.Add(token.lifetime / 3).Truncate(time.Second))
		o.(*axlev1alpha1.ClusterRegistration).Status.TokenExpiresAt = &ends
	}
	return nil
}
