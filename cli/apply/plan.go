package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/plan"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jsondiff"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/declare"
	"github.com/axle-cd/axle/sdk/manifest"
)

// Planner returns what makes plans: an apply with --dry-run, so that both always say the
// same.
func Planner(a *command.App) plan.Maker {
	return func(ctx context.Context, o plan.Options) (plan.Plan, error) {
		r := &applying{app: a, files: o.Files, set: o.Set, prune: o.Prune, skip: o.SkipOthers, dryRun: true, management: command.Management()}
		r.management.TakeOver = o.TakeOver
		items, err := r.open()
		if err != nil {
			return plan.Plan{}, err
		}
		r.plan = plan.Plan{Summary: map[plan.Action]int{}, Objects: []plan.Object{}, LeftOut: []string{}}
		for _, o := range r.others {
			r.plan.LeftOut = append(r.plan.LeftOut, errcode.Text(o))
		}
		r.apply(ctx, items)
		if err := r.pruneAll(ctx, items); err != nil {
			return r.plan, err
		}
		if r.prune && r.failed > 0 {
			r.plan.LeftOut = append(r.plan.LeftOut, "what --prune would delete, because objects are refused")
		}
		return r.plan, nil
	}
}

// one applies one object. A dry run also adds it to the plan, and refuses what the hub
// would: calls without a dry run of their own are checked here.
func (r *applying) one(ctx context.Context, item manifest.Item, view *appliedView) (err error) {
	var have proto.Message
	if r.dryRun || len(item.Stored) > 0 {
		if have, err = r.have(ctx, item); err == nil {
			err = item.Lacks(have)
		}
	}
	if err == nil {
		err = r.item(ctx, item, view)
	}
	if !r.dryRun {
		return err
	}
	if err == nil && view.Result != "unchanged" {
		err = r.admitted(ctx, item, have)
	}
	object := plan.Object{Kind: item.Kind, Name: item.Name, Where: item.Where, NotActing: view.NotActing, Action: actions[view.Result]}
	if err == nil && object.Action != plan.Unchanged && compared(item) {
		object.Fields, err = r.fields(ctx, item, have)
	}
	if err != nil {
		object.Action, object.Reason = plan.Refused, errcode.Text(err)
	}
	r.plan.Add(object)
	return err
}

// compared reports whether a plan shows the fields of an object. Of most kinds of
// sdk/declare it shows none.
func compared(item manifest.Item) bool { return item.Request == nil || wantTree(item, nil) != nil }

// repositoryOf is the request of an item that declares a repository, nil for another one.
func repositoryOf(item manifest.Item) *hubv1.CreateRepositoryRequest {
	request, _ := item.Request.(*hubv1.CreateRepositoryRequest)
	return request
}

var actions = map[string]plan.Action{"created": plan.Create, "updated": plan.Update, "unchanged": plan.Unchanged}

// planNew adds an object that the hub cannot check, because it refers to one that this
// apply would create.
func (r *applying) planNew(ctx context.Context, item manifest.Item, view appliedView) {
	object := plan.Object{Kind: item.Kind, Name: item.Name, Where: item.Where, NotActing: view.NotActing, Action: plan.Create, Reason: view.Result}
	have, err := r.have(ctx, item)
	if err == nil {
		err = item.Lacks(have)
	}
	if have != nil {
		object.Action = plan.Update
	}
	if err == nil && compared(item) {
		object.Fields = jsondiff.Of(haveTree(item, have), wantTree(item, have))
		object.Fields = append(object.Fields, given(have, secretsOf(item))...)
	}
	if err != nil {
		object.Action, object.Reason = plan.Refused, errcode.Text(err)
		r.failed++
	}
	r.plan.Add(object)
}

// have is the object of an item that the hub has, nil for none.
func (r *applying) have(ctx context.Context, item manifest.Item) (have proto.Message, err error) {
	kind, name := item.Kind, item.Name
	switch {
	case item.Service != nil:
		have, err = r.client.Call(ctx, "Services/Get", &hubv1.GetServiceRequest{Ref: item.Service.GetRef()})
	case repositoryOf(item) != nil:
		kind = object.Repository.Name
	case item.Cluster != nil:
		name = item.Cluster.GetName()
	case item.Request == nil:
		_, name, _ = strings.Cut(hubName(item), "/")
	}
	if objects, ok := r.client.Objects(kind); ok {
		have, err = objects.Get(ctx, name)
	}
	if sdk.IsNotFound(err) {
		return nil, nil
	}
	return have, err
}

// admitted refuses what the hub would refuse because of its manager or of the caller's
// rights, for the calls that have no dry run. The hub checks again when it is written.
func (r *applying) admitted(ctx context.Context, item manifest.Item, have proto.Message) error {
	action, place := "write", &hubv1.Place{}
	switch request := item.Request.(type) {
	case *hubv1.CreateProjectRequest:
		action = "admin"
	case *hubv1.CreateRepositoryRequest:
		place.Project = request.GetProject()
		if have, ok := have.(*hubv1.Repository); ok {
			place.Project = have.GetProject()
		}
	case *hubv1.CreateContextRequest:
		place.Project = request.GetContext().GetProject()
	default:
		if item.Cluster == nil {
			return nil
		}
		place.Cluster = item.Cluster.GetName()
		if made, ok := request.(*hubv1.CreateClusterRequest); ok && have == nil {
			action, place = "create", &hubv1.Place{Project: cmp.Or(made.GetProject(), "default")}
		}
	}
	if owned, ok := have.(interface{ GetManagedBy() *hubv1.Manager }); ok && have != nil {
		if err := r.mayManage(item, owned.GetManagedBy()); err != nil {
			return err
		}
	}
	answer, err := r.client.Access.CanI(ctx, connect.NewRequest(&hubv1.CanIRequest{Action: action, Place: place}))
	if err == nil && !answer.Msg.GetAllowed() {
		err = errcode.New(errcode.Forbidden, "you may not do this: %s", answer.Msg.GetReason())
	}
	return err
}

// mayManage is the rule of docs/management.md for a write that changes something.
func (r *applying) mayManage(item manifest.Item, have *hubv1.Manager) error {
	people := func(m *hubv1.Manager) bool { return !declare.Declares(m) }
	by := r.management.GetBy()
	switch {
	case people(have) && people(by), proto.Equal(have, by), r.management.GetTakeOver() && have.GetTool() != "hub":
		return nil
	}
	if people(have) {
		return errcode.New(errcode.Conflict, "%s %s is managed by people: take it over with --take-over", item.Kind, item.Name)
	}
	return errcode.New(errcode.Conflict, "%s %s is managed by %s: change it there, or take it over with --take-over", item.Kind, item.Name, managerText(have))
}

func managerText(m *hubv1.Manager) string {
	if text := command.NewManagerView(m).String(); text != "" && m.GetTool() != "cli" && m.GetTool() != "console" {
		return text
	}
	return "people"
}

// treeOf is a message as encoding/json has it.
func treeOf(m proto.Message) map[string]any {
	tree := map[string]any{}
	if text, err := protojson.Marshal(m); err == nil {
		// What protojson writes is a JSON object.
		_ = json.Unmarshal(text, &tree)
	}
	return tree
}

func jsonOf(text string) any {
	var v any
	if text == "" || json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	return v
}
