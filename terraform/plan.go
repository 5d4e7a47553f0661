package terraform

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/terraform/agent"
	"github.com/axle-cd/axle/terraform/shape"
)

// ModifyPlan implements resource.ResourceWithModifyPlan: it says who will manage the
// object, and asks the hub what it would say.
func (o *object) ModifyPlan(ctx context.Context, r resource.ModifyPlanRequest, answer *resource.ModifyPlanResponse) {
	if r.Plan.Raw.IsNull() || o.session == nil {
		return
	}
	ours := managerText(o.session.by)
	v := values(r.Plan.Raw, r.Config.Raw, r.State.Raw)
	if settings := shape.Fields(v.Plan["agent"]); o.installs && settings != nil && agent.Known(settings) {
		o.planAgent(ctx, v, settings, answer)
	}
	adopting, diags := r.Private.GetKey(ctx, adopts)
	answer.Diagnostics.Append(diags...)
	current := shape.TextOf(v.State["managed_by"])
	changes := r.State.Raw.IsNull() || o.differs(v)
	switch {
	case changes, len(adopting) > 0:
		answer.Diagnostics.Append(answer.Plan.SetAttribute(ctx, path.Root("managed_by"), ours)...)
	default:
		answer.Diagnostics.Append(answer.Plan.SetAttribute(ctx, path.Root("managed_by"), current)...)
		return
	}
	if o.replaced(v) {
		return // Terraform plans the new object next, and the hub is asked about that
	}
	o.ask(ctx, v, r, len(adopting) > 0, &answer.Diagnostics)
	if r.State.Raw.IsNull() {
		o.session.plan(o.idOf(v.Plan))
	}
}

// differs reports whether the plan changes an attribute beside those of the provider.
func (o *object) differs(v shape.Values) bool {
	for name, plan := range v.Plan {
		if name != "managed_by" && !plan.Equal(v.State[name]) {
			return true
		}
	}
	return false
}

// ask lets the hub check a plan whose values are all known, where it can without writing.
func (o *object) ask(ctx context.Context, v shape.Values, r resource.ModifyPlanRequest, takeOver bool, d *diag.Diagnostics) {
	c, complete := o.create, o.creating
	if v.State != nil {
		c, complete = o.update, o.updating
	}
	if c == nil || !r.Config.Raw.IsFullyKnown() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	request, err := o.request(c, v, takeOver, complete)
	if err != nil {
		o.fail(d, "plan", o.idOf(v.Plan), err)
		return
	}
	if !sdk.Set(request, "dry_run", protoreflect.ValueOfBool(true)) {
		return
	}
	switch _, err = c.do(ctx, o.session.client, request); {
	case err == nil, errcode.Is(err, errcode.Unavailable):
	case errcode.Is(err, errcode.Conflict) && v.State == nil && o.session.ours(ctx, o.kind, v.Plan):
		// The same run deletes it first, with terraform apply -replace. Otherwise the
		// apply says that it exists.
	case errcode.Is(err, errcode.NotFound) && o.session.plans("%s", errcode.Text(err)), errcode.Is(err, errcode.Invalid) && o.session.plans("%q", errcode.Text(err)):
		// The same run creates what is missing. A template's repository is Invalid, and
		// quoted.
	case errcode.Is(err, errcode.NotFound):
		d.AddWarning("The plan may fail", errcode.Text(err)+". If something else in this configuration creates it, refer to that resource or name it in depends_on.")
	default:
		o.fail(d, "plan", o.idOf(v.Plan), err)
	}
}

// reach returns the cluster that an agent is installed in, nil without one.
func (o *object) reach(ctx context.Context, v shape.Values) (*kubeapply.Applier, error) {
	if !o.installs || shape.Fields(v.Plan["agent"]) == nil {
		return nil, nil
	}
	return agent.Reach(ctx, shape.Fields(v.Config["agent"]))
}

// uninstall removes an agent. What stays does not stop the deletion of the cluster.
func (o *object) uninstall(ctx context.Context, state map[string]tftypes.Value, d *diag.Diagnostics) {
	settings := shape.Fields(state["agent"])
	if settings == nil {
		return
	}
	if text := o.session.agents.Remove(ctx, o.idOf(state), settings); text != "" {
		d.AddWarning("The agent may still be in the cluster", text)
	}
}

// planAgent shows whether the agent's objects differ from those that were installed.
func (o *object) planAgent(ctx context.Context, v shape.Values, settings map[string]tftypes.Value, answer *resource.ModifyPlanResponse) {
	digest, err := o.session.agents.Digest(ctx, settings)
	if err != nil {
		if !errcode.Is(err, errcode.Unavailable) {
			o.fail(&answer.Diagnostics, "plan the agent of", o.idOf(v.Plan), err)
		}
		return
	}
	answer.Diagnostics.Append(answer.Plan.SetAttribute(ctx, path.Root("agent").AtName("manifests"), digest)...)
	v.Plan["agent"] = shape.With(v.Plan["agent"], "manifests", tftypes.NewValue(tftypes.String, digest))
}
