// Package declare reads and writes what manifests declare: objects of a kind whose
// description (api/object) has calls by that description, and those of the other kinds in
// one file for a topic. The operator and axle apply call it, so both give the same result.
// sdk/manifest reads the manifests.
//
// It decides nothing about managers: the hub does, by the Management of the item. It
// keeps nothing between calls.
//
// Invariants: a write makes at most one call for each row that differs, and none if
// nothing differs. What has rows deletes only rows of its own manager, and only if that
// one declares objects; people's rows stay.
package declare

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// Found is an object of the hub.
type Found struct {
	// ID is the hub's id, or for what has rows the place that they are at.
	ID string
	// Message is the hub's answer.
	Message proto.Message
	// By is who manages it; nil is nobody.
	By *hubv1.Manager
	// Waits is what it waits for; empty means that it is ready.
	Waits string
	// NotActing are fields of the object that the hub cannot change.
	NotActing []string
	// Registration is the hub's answer to the creation of a cluster, with the token of its
	// agent; nil for everything else.
	Registration *hubv1.CreateClusterResponse
	// rows are those of what has rows.
	rows []row
}

// Kind has the calls for the objects of one kind. Name is that of the item.
type Kind interface {
	// Read returns nil for an object that the hub does not have. NotFound is the
	// absence of something that the object names.
	Read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*Found, error)
	// Same reports whether the hub has it as declared, its manager aside, as far as
	// the hub shows it.
	Same(c *sdk.Client, item *manifest.Item, have *Found) bool
	// Write creates it if have is nil, and changes it otherwise.
	Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error)
	// Remove deletes the object of that name or ID. NotFound is success, and so is
	// *OfOthers, which deletes nothing.
	Remove(ctx context.Context, c *sdk.Client, name string, by *hubv1.Manager) error
	// Managed returns the IDs, or for kinds without rows the names, of what a manager has.
	Managed(ctx context.Context, c *sdk.Client, by *hubv1.Manager) ([]string, error)
}

// byHand are the kinds that a description is not enough for.
var byHand = map[string]Kind{
	"AccessBinding": bindings{}, "GroupMembership": members{}, "User": users{}, "AdminGrant": admins{}, "LoginProvider": providers{described{"LoginProvider"}},
	"ProjectLimits": limits{}, "HubSettings": windows{}, "AgentUpgrade": upgrades{},
	"Repository": repositories{described{"Repository"}, true}, "GitRepository": repositories{described{"Repository"}, false}, "HelmRepository": repositories{described{"Repository"}, false},
}

// Of returns the calls of a kind of a manifest, and whether it has some.
func Of(kind string) (Kind, bool) {
	if k, ok := byHand[kind]; ok {
		return k, true
	}
	k, ok := object.Named(kind)
	return described{kind}, ok && k.Calls.Service != "" && !k.Operator
}

// ofServices are the kinds of services and of what they use. axle apply --prune deletes them
// by a list of its own, between the others.
var ofServices = []string{"Project", "Repository", "Cluster", "ServiceContext", "Outputs", "ManagedNamespace", "GlobalService", "ServiceDeployment", "AgentUpgrade"}

// Rights are the kinds of Of about people, webhooks and settings, in the order in which what names
// others is deleted first. The others are those of services.
func Rights() (kinds []string) {
	for _, k := range slices.Backward(object.All) {
		if _, ok := Of(k.Name); ok && !slices.Contains(ofServices, k.Name) {
			kinds = append(kinds, k.Name)
		}
	}
	return kinds
}

// Hides reports whether an item has values that the hub does not show, so that nobody
// can say that they are the same.
func Hides(item *manifest.Item) bool {
	return item.Request != nil && hides(item.Request.ProtoReflect())
}

// OfOthers is the reason why a deletion leaves an object: another manager has it.
type OfOthers struct{ By *hubv1.Manager }

// Error says who has it.
func (o *OfOthers) Error() string {
	return "the object is managed by " + o.By.GetTool() + " " + o.By.GetId()
}

// ours returns *OfOthers unless the manager has the object.
func ours(have, by *hubv1.Manager) error {
	if proto.Equal(have, by) {
		return nil
	}
	return &OfOthers{have}
}

// Declares reports whether a manager writes its objects again when they differ; people
// and nobody do not.
func Declares(by *hubv1.Manager) bool {
	return by.GetTool() != "" && by.GetTool() != "cli" && by.GetTool() != "console"
}

func ignoreNotFound(err error) error {
	if sdk.IsNotFound(err) {
		return nil
	}
	return err
}

// named returns the one of a list with a name, nil for none.
func named[T interface{ GetName() string }](all []T, name string) (found T, ok bool) {
	for _, one := range all {
		if one.GetName() == name {
			return one, true
		}
	}
	return found, false
}

// managedBy are the names of those of a list that a manager has.
func managedBy[T interface {
	GetName() string
	GetManagedBy() *hubv1.Manager
}](all []T, by *hubv1.Manager) (names []string) {
	for _, one := range all {
		if proto.Equal(one.GetManagedBy(), by) {
			names = append(names, one.GetName())
		}
	}
	return names
}
