package terraform

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	description "github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/terraform/shape"
)

// kind is a kind of object of the hub. Its attributes are the fields of the request of
// create, and those of the object in shows.
type kind struct {
	// of is the description of a kind with calls: it has what is not given here.
	of *description.Kind
	// name is that of the resource without axle_.
	name string
	// object is the message that describes one in answers.
	object proto.Message
	create *call
	// update is nil if nothing can be changed: then each attribute replaces the object.
	update *call
	remove *call
	// get reads one, list those of a scope. One of them is enough.
	get, list *call
	// keys are the attributes that name an object, also in the id of an import, joined
	// by slashes. scope are those that the request of list takes, as its fields are
	// called.
	keys  []string
	scope map[string]protoreflect.Name
	// also is another field of the object to import it by.
	also string
	// shows are fields of the object that nobody declares.
	shows []string
	// manager is the field with who manages it, managed_by by default.
	manager protoreflect.Name
	// creating, updating and removing complete a request.
	creating, updating, removing func(request proto.Message)
	// made is = and what the names of the services end in that the hub makes for an
	// object of this name; empty if it makes none.
	made string
	// upserts is set if create would change an object that exists.
	upserts bool
	// takes is set if an update is a create that takes over.
	takes bool
	// exists is false for an object that the hub has without what is declared.
	exists func(object proto.Message) bool
	// rows makes an object of the rows of a list. want is what a create would ask for.
	rows func(rows []proto.Message, want proto.Message, by *hubv1.Manager) (object proto.Message, manager *hubv1.Manager)
	// change replaces update for an object of rows.
	change func(ctx context.Context, c *sdk.Client, have, want proto.Message, m *hubv1.Management) error
	// formerly is the type of the existing provider whose state can be moved here.
	formerly string
	// installs is set for clusters, whose agent the provider installs. destroy removes the
	// machines of one from a template.
	installs bool
	destroy  *call

	attributes []*shape.Node
}

// all are the kinds that need more than their description; init adds the others.
var all = []*kind{
	{
		name: "project_limits", object: &hubv1.Project{},
		create: via("Projects/Update"), update: via("Projects/Update"), remove: via("Projects/Update"), get: via("Projects/Get"), list: via("Projects/List"), keys: []string{"project"}, manager: "limits_managed_by",
		updating: withLimits, creating: withLimits,
		removing: func(r proto.Message) { r.(*hubv1.UpdateProjectRequest).Limits = &hubv1.ProjectLimits{} },
	},
	{of: &description.Cluster, installs: true, destroy: via("Clusters/Destroy")},
	{
		name: "service", object: &hubv1.Service{}, formerly: "plural_service_deployment",
		create: via("Services/Create"), update: via("Services/Update"), remove: via("Services/Delete"), get: via("Services/Get"), list: via("Services/List"),
		keys: []string{"cluster", "name"}, scope: map[string]protoreflect.Name{"cluster": "cluster"},
	},
	{of: &description.GlobalService, made: "="},
	{of: &description.ManagedNamespace, made: "=-core"},
	{
		name: "agent_upgrade", object: &hubv1.AgentUpgrade{}, create: via("Agents/StartUpgrade"), update: via("Agents/StartUpgrade"), get: via("Agents/UpgradeStatus"),
		exists: func(o proto.Message) bool { return o.(*hubv1.AgentUpgrade).GetPhase() != "" },
	},
	{
		name: "hub_settings", object: &hubv1.SyncWindowList{},
		create: via("Hub/SetSyncWindows"), update: via("Hub/SetSyncWindows"), remove: via("Hub/SetSyncWindows"), get: via("Hub/GetSyncWindows"),
	},
	{of: &description.User, exists: func(o proto.Message) bool { return o.(*hubv1.User).GetKind() == "user" }},
	{
		name: "admin_grant", object: &hubv1.User{}, create: via("Users/SetAdmin"), remove: via("Users/SetAdmin"), list: via("Users/List"), keys: []string{"user"}, manager: "admin_managed_by",
		creating: func(r proto.Message) { r.(*hubv1.SetAdminRequest).Admin = true },
		exists:   func(o proto.Message) bool { return o.(*hubv1.User).GetAdmin() },
	},
	{
		name: "group_member", object: &hubv1.AddMemberRequest{}, formerly: "plural_group_member", create: via("Groups/AddMember"), remove: via("Groups/RemoveMember"), list: via("Groups/Get"),
		keys: []string{"group", "user"}, scope: map[string]protoreflect.Name{"group": "name"}, rows: memberOf,
	},
	{
		name: "access_binding", object: &hubv1.CreateBindingRequest{}, create: via("Bindings/Create"), remove: via("Bindings/Delete"), list: via("Bindings/List"),
		keys:  []string{"subject_kind", "subject", "project", "cluster", "service"},
		scope: map[string]protoreflect.Name{"project": "at.project", "cluster": "at.cluster", "service": "at.service"}, rows: boundTo, change: rebind,
	},
}

// withLimits makes the limits present: without any set, they are removed.
func withLimits(r proto.Message) {
	if u := r.(*hubv1.UpdateProjectRequest); u.Limits == nil {
		u.Limits = &hubv1.ProjectLimits{}
	}
}

// text is a sentence about the kind.
func (k *kind) text() string {
	described, _ := description.Of(string(k.create.in.ProtoReflect().Descriptor().Name()))
	return described.Text
}

// describe fills in what the description of a kind has.
func (k *kind) describe() {
	c := k.of.Calls
	method := func(name string) *call {
		if name == "" {
			return nil
		}
		return via(c.Path(name))
	}
	k.name, k.shows, k.also, k.formerly, k.upserts, k.takes = k.of.Snake(), k.of.Shows, k.of.Also, k.of.Formerly, c.Upserts(), c.Replaces
	k.create, k.update, k.remove, k.get, k.list = method(c.Create), method(c.Update), method(c.Delete), method(c.Get), method(c.List)
	k.updating = sdk.Complete
	k.object = sdk.NewMessage(sdk.Rows(k.list.out.ProtoReflect().Descriptor()).Message())
	if c.Brief {
		k.list = nil
	}
}

func init() {
	described := description.Described()
	for _, d := range description.All {
		if d.Calls.Service != "" && !slices.ContainsFunc(all, func(k *kind) bool { return k.of != nil && k.of.Name == d.Name }) {
			all = append(all, &kind{of: &d})
		}
	}
	for _, k := range all {
		if k.of != nil {
			k.describe()
		}
		k.attributes = shape.Of(k.create.in.ProtoReflect().Descriptor(), described)
		for _, n := range k.attributes {
			if k.of != nil && (n.Name == k.of.Calls.Names() || n.Other == k.of.Calls.Names()) {
				k.keys = []string{n.Name}
			}
		}
		shown := shape.Of(k.object.ProtoReflect().Descriptor(), nil)
		for _, n := range k.attributes {
			// What no update can say makes another object.
			if n.VersionOf == "" && !n.WriteOnly && k.change == nil && (k.update == nil || !n.Has(k.update.in.ProtoReflect().Descriptor())) {
				n.Immutable = true
			}
		}
		for _, name := range k.shows {
			n := shape.Find(shown, name)
			n.ReadOnly, n.Computed = true, true
			k.attributes = append(k.attributes, n)
		}
	}
}

// ImportID returns the form of the id that a resource is imported by, for its page.
func ImportID(name string) string {
	for _, k := range all {
		if k.name == name {
			id := strings.ToUpper(strings.Join(k.keys, "/"))
			if id == "" {
				id = k.name
			}
			return id
		}
	}
	return ""
}
