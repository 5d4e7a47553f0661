package terraform

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/sdk"
)

// toJSON is for texts and maps of texts, which always have one.
func toJSON(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// serviceWait waits until a service is synced and healthy. It changes nothing, and what
// depends on it comes after the service.
type serviceWait struct{ session *session }

func newServiceWait() resource.Resource { return &serviceWait{} }

type waitModel struct {
	Cluster  types.String `tfsdk:"cluster"`
	Service  types.String `tfsdk:"service"`
	Triggers types.Map    `tfsdk:"triggers"`
	Warmup   types.String `tfsdk:"warmup"`
	Timeout  types.String `tfsdk:"timeout"`
	ID       types.String `tfsdk:"id"`
	Revision types.String `tfsdk:"revision"`
}

// Metadata implements resource.Resource.
func (*serviceWait) Metadata(_ context.Context, _ resource.MetadataRequest, answer *resource.MetadataResponse) {
	answer.TypeName = Type + "_service_wait"
}

// Schema implements resource.Resource.
func (*serviceWait) Schema(_ context.Context, _ resource.SchemaRequest, answer *resource.SchemaResponse) {
	replaces := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	answer.Schema = schema.Schema{
		MarkdownDescription: "Waits until a service is synced and healthy; what depends on it is applied after that. It waits again when it is replaced, such as by `triggers`.",
		Attributes: map[string]schema.Attribute{
			"cluster":  schema.StringAttribute{Required: true, PlanModifiers: replaces, MarkdownDescription: "The cluster, by name."},
			"service":  schema.StringAttribute{Required: true, PlanModifiers: replaces, MarkdownDescription: "The service, by name."},
			"triggers": schema.MapAttribute{ElementType: types.StringType, Optional: true, PlanModifiers: []planmodifier.Map{mapplanmodifier.RequiresReplace()}, MarkdownDescription: "Any values; a change waits again."},
			"warmup":   schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("5m"), Validators: lasting, MarkdownDescription: "How long a service may be without a healthy state before a failure counts. The default is `5m`."},
			"timeout":  schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("10m"), Validators: lasting, MarkdownDescription: "How long to wait. The default is `10m`."},
			"id":       schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}, MarkdownDescription: "CLUSTER/SERVICE."},
			"revision": schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}, MarkdownDescription: "The revision of the source that ran when it was healthy."},
		},
	}
}

// Configure implements resource.ResourceWithConfigure.
func (w *serviceWait) Configure(_ context.Context, r resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	w.session, _ = r.ProviderData.(*session)
}

// Create implements resource.Resource.
func (w *serviceWait) Create(ctx context.Context, r resource.CreateRequest, answer *resource.CreateResponse) {
	var m waitModel
	answer.Diagnostics.Append(r.Plan.Get(ctx, &m)...)
	if answer.Diagnostics.HasError() || !w.session.known(&answer.Diagnostics) {
		return
	}
	warmup, _ := time.ParseDuration(m.Warmup.ValueString())
	timeout, _ := time.ParseDuration(m.Timeout.ValueString())
	s, err := waitFor(ctx, w.session.client, &hubv1.ServiceRef{Cluster: m.Cluster.ValueString(), Name: m.Service.ValueString()}, warmup, timeout)
	if err != nil {
		answer.Diagnostics.AddError(fmt.Sprintf("Service %s/%s is not healthy", m.Cluster.ValueString(), m.Service.ValueString()), errcode.Text(err))
		return
	}
	m.ID = types.StringValue(m.Cluster.ValueString() + "/" + m.Service.ValueString())
	m.Revision = types.StringValue(s.GetAppliedRevision())
	answer.Diagnostics.Append(answer.State.Set(ctx, &m)...)
}

// waitFor polls one service until it is synced and healthy. The deadlines are on the
// caller's machine: the hub answers with what it knows now.
func waitFor(ctx context.Context, c *sdk.Client, ref *hubv1.ServiceRef, warmup, timeout time.Duration) (*hubv1.Service, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	backoff := jitter.Backoff{Min: 500 * time.Millisecond, Max: 10 * time.Second}
	last := "the hub has not answered"
	for {
		answer, err := c.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: ref}))
		switch err = sdk.Error(err, c.URL); {
		case err == nil:
			s := answer.Msg
			if s.GetSync() == "Synced" && s.GetHealth() == "Healthy" {
				return s, nil
			}
			last = fmt.Sprintf("it is %s and %s: %s", s.GetSync(), s.GetHealth(), describe(s))
			if failed := s.GetSync() == "Failed" || s.GetHealth() == "Degraded"; failed && time.Since(began) > warmup {
				return nil, errcode.New(errcode.Unprocessable, "%s", last)
			}
		case errcode.Is(err, errcode.Unavailable), errcode.Is(err, errcode.NotFound): // a global service makes it in a moment
			last = errcode.Text(err)
		case ctx.Err() == nil:
			return nil, err
		}
		if jitter.Wait(ctx, 250*time.Millisecond+backoff.Next()) != nil {
			return nil, errcode.New(errcode.Unavailable, "after %s %s", timeout, last)
		}
	}
}

// describe is why a service is not healthy, in the words of the hub.
func describe(s *hubv1.Service) string {
	for _, e := range s.GetErrors() {
		return e.GetMessage()
	}
	if s.GetMessage() != "" {
		return s.GetMessage()
	}
	if s.GetReason() != "" {
		return s.GetReason()
	}
	return fmt.Sprintf("%d of %d objects are healthy", s.GetCounts().GetHealthy(), s.GetCounts().GetTotal())
}

// Read implements resource.Resource: that it was healthy once stays so.
func (*serviceWait) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Update implements resource.Resource; only the time to wait can change.
func (*serviceWait) Update(_ context.Context, r resource.UpdateRequest, answer *resource.UpdateResponse) {
	answer.State.Raw = r.Plan.Raw
}

// Delete implements resource.Resource.
func (*serviceWait) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
