package controller

import (
	"context"
	"reflect"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/operator/tenancy"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/declare"
	"github.com/axle-cd/axle/sdk/manifest"
)

// kind is how one kind is read in the cluster, and written to the hub.
type kind struct {
	name string
	// group is the API group; empty is kinds.Deployments.
	group string
	// protection is the finalizer's part before "-protection"; empty for a kind whose
	// deletion deletes nothing.
	protection string
	// guards reports whether an object gets the finalizer; nil is every one.
	guards func(client.Object) bool
	// instead is what to do where the hub lacks what the kind only refers to, given its name.
	instead func(name string) string
	object  client.Object
	list    client.ObjectList
	// references returns what an object names in the cluster.
	references func(client.Object) []reference.Reference
	// more returns what only the objects that were read name: Secrets of the namespace.
	more func(client.Object, reference.Resolved) []reference.Reference
	// obsolete deletes an object that nobody needs any more, and reports whether it did.
	obsolete func(ctx context.Context, p *pass) (bool, error)
	// idle reports whether a reconcile ends after the references, with nothing written.
	idle func(ctx context.Context, p *pass) (bool, error)
	// refersTo are the kinds that may appear in references.
	refersTo []string
	// resolve replaces references in an object by what the hub calls them.
	resolve func(client.Object, reference.Resolved)
	// release deletes what must go before the object of that name in the hub; false
	// means to wait for it, and *ofOthers that nothing is deleted.
	release func(ctx context.Context, p *pass, name string) (bool, error)
	// token returns the token that an object wants in a Secret, nil for none.
	token func(client.Object) (*wantedToken, error)
	// prepare makes what an object names and may not exist yet.
	prepare func(ctx context.Context, p *pass) error
	// keep does the rest of a write, for kinds of tokens that are made once.
	keep func(ctx context.Context, p *pass) error
	// hub is nil for what only other objects use, and is nothing in the hub.
	hub upstream
}

// common are the parts of an object that every kind has.
type common struct {
	status         *v1alpha1.Status
	reconciliation *v1alpha1.Reconciliation
}

// common returns the parts of an object that every kind has: its status is a Status or embeds
// one, and its spec may have a field Reconciliation.
func (kind) common(o client.Object) (c common) {
	of := reflect.ValueOf(o).Elem()
	status := of.FieldByName("Status")
	if inner := status.FieldByName("Status"); inner.IsValid() {
		status = inner
	}
	c.status = status.Addr().Interface().(*v1alpha1.Status)
	if often := of.FieldByName("Spec").FieldByName("Reconciliation"); often.IsValid() {
		c.reconciliation, _ = often.Interface().(*v1alpha1.Reconciliation)
	}
	return c
}

// upstream are the calls of the hub for one kind.
type upstream interface {
	// read returns nil for an object that the hub does not have.
	read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*found, error)
	// same reports whether the hub has it as the item declares it, its manager aside.
	same(ctx context.Context, c *sdk.Client, item *manifest.Item, have *found) (bool, error)
	// write creates it if have is nil, and changes it otherwise.
	write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *found) (*found, error)
	// remove deletes it, and reports whether it is gone: false means to ask again.
	// NotFound is success, and so is *ofOthers, which deletes nothing.
	remove(ctx context.Context, c *sdk.Client, object client.Object, name string, by *hubv1.Manager) (bool, error)
}

// found is an object of the hub.
type found struct {
	id string
	// message is the hub's answer.
	message proto.Message
	// managed says that the hub records managers of this kind; by is the object's.
	managed bool
	by      *hubv1.Manager
	// waits is what the object waits for; empty means that it is ready.
	waits string
	// notActing are fields that the hub keeps and does not act on.
	notActing []string
	// show writes the rest of the status; nil writes nothing.
	show func(client.Object)
	// declared is what sdk/declare found, for kinds of that package.
	declared *declare.Found
}

// objectOf is what a reference names.
func objectOf(r reference.Reference) tenancy.Object {
	group := ""
	if r.Flux {
		group = manifest.FluxGroup
	} else if k, ok := kindNamed(r.Kind); ok {
		group = k.gvk().Group
	}
	return tenancy.Object{Group: group, Kind: r.Kind, NamespacedName: r.At}
}

// value returns what a pointer points to, or the zero value for nil.
func value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// all are the kinds that the operator acts on.
func all() []kind {
	return append(append(ownKinds(), describedKinds()...),
		projects(), deploymentSettings(), scmConnections(), gitRepositories(), helmRepositories(), clusters(), providers(), serviceContexts(), serviceDeployments(), globalServices(), managedNamespaces(), notificationSinks(), notificationRouters(), groups(), serviceAccounts(),
		federatedCredentials(), oidcProviders(), registrationTokens(), bootstrapTokens(), webhooks(),
	)
}

// gvk is the kind with its group and version.
func (k kind) gvk() schema.GroupVersionKind {
	if k.group == kinds.Axle {
		return axlev1alpha1.GroupVersion.WithKind(k.name)
	}
	return v1alpha1.GroupVersion.WithKind(k.name)
}
