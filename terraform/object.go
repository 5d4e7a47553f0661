package terraform

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/terraform/agent"
	"github.com/axle-cd/axle/terraform/shape"
)

const (
	// callLimit is how long an operation may take without a timeouts block, and
	// goneLimit how long a destroyed object may take to go from its clusters.
	callLimit = 5 * time.Minute
	goneLimit = 10 * time.Minute
)

// Keys of the private state. adopts is set by an import: the next apply takes the object
// over. hidden is what the hub says about secrets instead of showing them.
const (
	adopts = "adopts"
	hidden = "hidden"
)

// object is the resource of a kind.
type object struct {
	*kind
	session *session
}

// Metadata implements resource.Resource.
func (o *object) Metadata(_ context.Context, _ resource.MetadataRequest, answer *resource.MetadataResponse) {
	answer.TypeName = Type + "_" + o.name
}

// Schema implements resource.Resource.
func (o *object) Schema(ctx context.Context, _ resource.SchemaRequest, answer *resource.SchemaResponse) {
	attributes := shape.Resource(o.attributes)
	attributes["id"] = schema.StringAttribute{Computed: true, MarkdownDescription: "The hub's id.", PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}}
	attributes["managed_by"] = schema.StringAttribute{Computed: true, MarkdownDescription: "The manager of the object, such as `terraform/default`."}
	if o.installs {
		attributes["agent"] = agent.Attribute()
		attributes[protection] = schema.BoolAttribute{Optional: true, MarkdownDescription: "Of a cluster with `template`: only `false`, applied before, lets a destroy remove the cluster with its machines."}
	}
	answer.Schema = schema.Schema{
		MarkdownDescription: o.text(), Attributes: attributes,
		Blocks: map[string]schema.Block{"timeouts": timeouts.Block(ctx, timeouts.Opts{Create: true, Update: true, Delete: true})},
	}
}

// Configure implements resource.ResourceWithConfigure.
func (o *object) Configure(_ context.Context, r resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	o.session, _ = r.ProviderData.(*session)
}

// known adds an error without a session: the provider's settings are not known.
func (s *session) known(d *diag.Diagnostics) bool {
	if s == nil {
		d.AddError("The hub is not known", "The provider's settings depend on values that are not known yet. Create what they depend on first: terraform apply -target.")
	}
	return s != nil
}

// values are the planned, configured and former ones.
func values(plan, config, state tftypes.Value) shape.Values {
	return shape.Values{Plan: shape.Fields(plan), Config: shape.Fields(config), State: shape.Fields(state)}
}

// limited returns a context with the time that a timeouts block gives.
func limited(ctx context.Context, v tftypes.Value, operation string, otherwise time.Duration) (context.Context, context.CancelFunc) {
	if text := shape.TextOf(shape.Fields(shape.Fields(v)["timeouts"])[operation]); text != "" {
		if d, err := time.ParseDuration(text); err == nil {
			otherwise = d
		}
	}
	return context.WithTimeout(ctx, otherwise)
}

// fail says what the hub says, and for an object of another manager how to go on.
func (o *object) fail(d *diag.Diagnostics, doing, id string, err error) {
	text := errcode.Text(err)
	if errcode.Is(err, errcode.Internal) {
		text = err.Error()
	}
	switch {
	case errcode.Is(err, errcode.Conflict) && doing == "create":
		text += fmt.Sprintf("\n\nTo manage the existing object here, import it and apply, which takes it over:\n\n  terraform import %s_%s.NAME %s", Type, o.name, id)
	case errcode.Is(err, errcode.Conflict) && doing == "destroy" && strings.Contains(text, "managed by"):
		text += "\n\nTo leave the object to who manages it now:\n\n  terraform state rm ADDRESS"
	case errcode.Is(err, errcode.Unauthorized):
		text += "\n\nThe token was revoked or has expired: give the provider another one, and run terraform again. All that was made until now is in the state."
	}
	d.AddError(fmt.Sprintf("Cannot %s %s %s", doing, strings.ReplaceAll(o.name, "_", " "), id), text)
}

// result is the state after the hub's answer.
func (o *object) result(t tftypes.Type, message proto.Message, by *hubv1.Manager, guide map[string]tftypes.Value) tftypes.Value {
	got := shape.Read(message.ProtoReflect(), o.attributes, guide)
	out := map[string]tftypes.Value{}
	for name, attribute := range t.(tftypes.Object).AttributeTypes {
		v, ok := got[name]
		if !ok {
			if v, ok = guide[name]; !ok || !v.IsKnown() {
				v = tftypes.NewValue(attribute, nil)
			}
		}
		out[name] = v
	}
	id := o.name // there is one of it, such as the hub's settings
	if len(o.keys) > 0 {
		id = cmp.Or(sdk.Text(message, "id"), o.idOf(got))
	}
	out["id"] = tftypes.NewValue(tftypes.String, id)
	out["managed_by"] = tftypes.NewValue(tftypes.String, managerText(by))
	return tftypes.NewValue(t, out)
}

func managerText(by *hubv1.Manager) string {
	return strings.Trim(by.GetTool()+"/"+by.GetId(), "/")
}

// request fills a request of a call.
func (o *object) request(c *call, v shape.Values, takeOver bool, complete func(proto.Message)) (proto.Message, error) {
	request := c.request()
	if err := shape.Fill(request.ProtoReflect(), o.attributes, v); err != nil {
		return nil, err
	}
	if complete != nil {
		complete(request)
	}
	sdk.SetManagement(request, &hubv1.Management{By: o.session.by, TakeOver: takeOver})
	return request, nil
}

// Create implements resource.Resource.
func (o *object) Create(ctx context.Context, r resource.CreateRequest, answer *resource.CreateResponse) {
	if !o.session.known(&answer.Diagnostics) {
		return
	}
	ctx, cancel := limited(ctx, r.Plan.Raw, "create", callLimit)
	defer cancel()
	v := values(r.Plan.Raw, r.Config.Raw, tftypes.Value{})
	id := o.idOf(v.Plan)
	to, err := o.reach(ctx, v)
	var made, request proto.Message
	if err == nil {
		made, request, err = o.make(ctx, v)
	}
	if err != nil {
		o.fail(&answer.Diagnostics, "create", id, err)
		return
	}
	object, by := o.after(made, request)
	answer.State.Raw = o.result(r.Plan.Raw.Type(), object, by, v.Plan)
	o.taken("create", v.Plan, answer.State.Raw, &answer.Diagnostics)
	o.remember(ctx, answer.Private, object, &answer.Diagnostics)
	if to != nil {
		first, _ := made.(*hubv1.CreateClusterResponse) // nil if the answer was lost: Install asks for a token
		if err := o.session.agents.Install(ctx, to, id, shape.Fields(v.Plan["agent"]), first.GetBootstrapToken()); err != nil {
			// The plan after terraform untaint shows it again.
			err = errcode.New(errcode.Of(err), "%w\n\nThe next apply makes the cluster anew at the hub. To go on with the one that is there:\n\n  terraform untaint ADDRESS", err)
			answer.Diagnostics.Append(answer.State.SetAttribute(ctx, path.Root("agent").AtName("manifests"), "")...)
			o.fail(&answer.Diagnostics, "install the agent of", id, err)
		}
	}
}

// make creates an object, and never changes one that exists. Its Conflict says who
// manages that one.
func (o *object) make(ctx context.Context, v shape.Values) (made, request proto.Message, err error) {
	request, err = o.request(o.create, v, false, o.creating)
	if err != nil {
		return nil, nil, err
	}
	exists := func() (string, bool) {
		have, by, err := o.session.reads.find(ctx, o.kind, v.Plan)
		if err != nil || have == nil {
			return "", false
		}
		return "it exists already, managed by " + cmp.Or(managerText(by), "nobody"), true
	}
	if o.upserts {
		if text, there := exists(); there {
			return nil, nil, errcode.New(errcode.Conflict, "%s", text)
		}
	}
	made, lost, err := o.session.send(ctx, o.create, request)
	switch {
	case errcode.Is(err, errcode.Unavailable):
		err = errcode.New(errcode.Unavailable, "%s\n\nThe hub may have made it. If the next apply reports that it exists, take it over:\n\n  terraform import %s_%s.NAME %s", errcode.Text(err), Type, o.name, o.idOf(v.Plan))
	case errcode.Is(err, errcode.Conflict) && len(o.keys) > 0:
		if lost {
			if have, by, err := o.session.reads.find(ctx, o.kind, v.Plan); err == nil && have != nil && managerText(by) == managerText(o.session.by) && len(o.otherwise(v.Plan, shape.Read(have.ProtoReflect(), o.attributes, v.Plan))) == 0 {
				return have, request, nil
			}
		}
		if text, there := exists(); there {
			err = errcode.New(errcode.Conflict, "%s\n\n%s", errcode.Text(err), text)
		}
	}
	return made, request, err
}

// after is the object in the answer to a write.
func (o *object) after(made, request proto.Message) (proto.Message, *hubv1.Manager) {
	if o.rows != nil {
		return request, o.session.by
	}
	message := sdk.Single(made, o.object)
	if by := managerOf(message, o.managerField()); by != nil {
		return message, by
	}
	return message, o.session.by // the hub forgets who emptied settings
}

// Read implements resource.Resource.
func (o *object) Read(ctx context.Context, r resource.ReadRequest, answer *resource.ReadResponse) {
	if !o.session.known(&answer.Diagnostics) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	guide := shape.Fields(r.State.Raw)
	if note, diags := r.Private.GetKey(ctx, adopts); len(note) > 0 {
		answer.Diagnostics.Append(diags...)
		if err := o.moved(ctx, note, guide); err != nil {
			o.fail(&answer.Diagnostics, "move the state of", o.formerly, err)
			return
		}
		answer.Diagnostics.Append(answer.Private.SetKey(ctx, adopts, []byte(`"import"`))...)
	}
	message, by, err := o.session.reads.find(ctx, o.kind, guide)
	if err != nil {
		o.fail(&answer.Diagnostics, "read", o.idOf(guide), err)
		return
	}
	if message == nil || isDeleting(message) {
		answer.State.RemoveResource(ctx)
		return
	}
	before, diags := r.Private.GetKey(ctx, hidden)
	answer.Diagnostics.Append(diags...)
	if len(before) > 0 {
		now, err := o.secrets(ctx, message)
		if err != nil {
			o.fail(&answer.Diagnostics, "read the secrets of", o.idOf(guide), err)
			return
		}
		if same, known := sameSecrets(string(before), now); !known {
			answer.Diagnostics.Append(answer.Private.SetKey(ctx, hidden, []byte(now))...)
		} else if !same {
			// Somebody changed a secret: the plan sends ours again.
			for _, n := range o.attributes {
				if n.VersionOf != "" {
					guide[n.Name] = tftypes.NewValue(tftypes.Number, nil)
				}
			}
		}
	}
	answer.State.Raw = o.result(r.State.Raw.Type(), message, by, guide)
}

func isDeleting(m proto.Message) bool {
	f := m.ProtoReflect().Descriptor().Fields().ByName("deleting")
	return f != nil && m.ProtoReflect().Get(f).Bool()
}

// Update implements resource.Resource.
func (o *object) Update(ctx context.Context, r resource.UpdateRequest, answer *resource.UpdateResponse) {
	if !o.session.known(&answer.Diagnostics) {
		return
	}
	ctx, cancel := limited(ctx, r.Plan.Raw, "update", callLimit)
	defer cancel()
	v := values(r.Plan.Raw, r.Config.Raw, r.State.Raw)
	id := o.idOf(v.Plan)
	adopting, diags := r.Private.GetKey(ctx, adopts)
	answer.Diagnostics.Append(diags...)
	agentChanges := o.installs && !v.Plan["agent"].Equal(v.State["agent"])
	var to *kubeapply.Applier
	var err error
	if agentChanges {
		to, err = o.reach(ctx, v)
	}
	var object proto.Message
	var by *hubv1.Manager
	if err == nil {
		object, by, err = o.write(ctx, v, len(adopting) > 0)
		o.session.reads.wrote()
	}
	if err != nil {
		o.fail(&answer.Diagnostics, "update", id, err)
		return
	}
	answer.State.Raw = o.result(r.Plan.Raw.Type(), object, by, v.Plan)
	o.taken("update", v.Plan, answer.State.Raw, &answer.Diagnostics)
	answer.Diagnostics.Append(answer.Private.SetKey(ctx, adopts, nil)...)
	o.remember(ctx, answer.Private, object, &answer.Diagnostics)
	switch {
	case to != nil:
		if err := o.session.agents.Install(ctx, to, id, shape.Fields(v.Plan["agent"]), ""); err != nil {
			// The next plan shows it again.
			answer.Diagnostics.Append(answer.State.SetAttribute(ctx, path.Root("agent").AtName("manifests"), "")...)
			o.fail(&answer.Diagnostics, "install the agent of", id, err)
		}
	case agentChanges:
		o.uninstall(ctx, v.State, &answer.Diagnostics)
	}
}

// write changes an object, or only takes it over.
func (o *object) write(ctx context.Context, v shape.Values, takeOver bool) (proto.Message, *hubv1.Manager, error) {
	if o.change != nil {
		want, err := o.request(o.create, v, takeOver, o.creating)
		if err != nil {
			return nil, nil, err
		}
		have := o.create.request()
		if err := shape.Fill(have.ProtoReflect(), o.attributes, shape.Values{Plan: v.State}); err != nil {
			return nil, nil, err
		}
		return want, o.session.by, o.change(ctx, o.session.client, have, want, &hubv1.Management{By: o.session.by, TakeOver: takeOver})
	}
	update, complete := o.update, o.updating
	if update == nil {
		if update, complete = o.create, o.creating; !takeOver {
			// Only attributes of the provider itself changed.
			message, by, err := o.session.reads.find(ctx, o.kind, v.Plan)
			if err == nil && message == nil {
				err = errcode.New(errcode.NotFound, "%s is gone", o.idOf(v.Plan))
			}
			return message, by, err
		}
	}
	if o.takes && !takeOver {
		if have := shape.TextOf(v.State["managed_by"]); have != managerText(o.session.by) {
			return nil, nil, errcode.New(errcode.Conflict, "it is managed by %s: change it there, or take it over with terraform import", have)
		}
		takeOver = true
	}
	request, err := o.request(update, v, takeOver, complete)
	if err != nil {
		return nil, nil, err
	}
	o.emptied(request, v)
	made, _, err := o.session.send(ctx, update, request)
	if err != nil {
		return nil, nil, err
	}
	object, by := o.after(made, request)
	return object, by, nil
}

// emptied sets the messages and texts of an update that the configuration no longer has:
// a field that is not set is left as it is.
func (o *object) emptied(request proto.Message, v shape.Values) {
	m := request.ProtoReflect()
	for _, n := range o.attributes {
		if len(n.Path) != 1 || n.WriteOnly || !shape.IsSet(v.State[n.Name]) || shape.IsSet(v.Plan[n.Name]) {
			continue
		}
		f := m.Descriptor().Fields().ByName(n.Path[0])
		switch {
		case f == nil || f.IsList() || f.IsMap():
		case f.Message() != nil:
			m.Mutable(f)
		case f.HasOptionalKeyword():
			m.Set(f, f.Default())
		}
	}
}

// secrets is what the hub says about the secrets of an object: it differs when one
// differs. Empty is nothing.
func (o *object) secrets(ctx context.Context, message proto.Message) (string, error) {
	switch m := message.(type) {
	case *hubv1.Service:
		if len(m.GetSpec().GetSecrets()) > 0 {
			return secretsOf(ctx, o.session, m)
		}
	case *hubv1.Context:
		if len(m.GetSecrets()) > 0 {
			return fmt.Sprintf("%q", fmt.Sprint(m.GetVersion())), nil
		}
	}
	return "", nil
}

// private is where a resource keeps what is no attribute.
type private interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// remember keeps what the hub says about the secrets that were just written.
func (o *object) remember(ctx context.Context, p private, message proto.Message, d *diag.Diagnostics) {
	text, err := o.secrets(ctx, message)
	if err != nil {
		d.AddWarning("Drift of secrets is not seen", "The hub did not report what it stored: "+errcode.Text(err))
	}
	if text == "" {
		d.Append(p.SetKey(ctx, hidden, nil)...)
		return
	}
	d.Append(p.SetKey(ctx, hidden, []byte(text))...)
}
