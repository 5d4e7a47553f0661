package terraform

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/terraform/shape"
)

func agentAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{Optional: true, Attributes: map[string]schema.Attribute{}}
}

func (o *object) install(ctx context.Context, v shape.Values, made *hubv1.CreateClusterResponse, state *tfsdk.State, d *diag.Diagnostics) {
}

func (o *object) uninstall(ctx context.Context, state map[string]tftypes.Value, p any, d *diag.Diagnostics) {
}
