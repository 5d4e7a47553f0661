package terraform

import (
	"context"
	"encoding/json"
	"time"

	"connectrpc.com/connect"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/terraform/shape"
)

// closing bounds the call that revokes a token.
const closing = 30 * time.Second

// opened is an ephemeral resource.
type opened struct {
	session    *session
	name, text string
	attributes map[string]schema.Attribute
	open       func(context.Context, *session, ephemeral.OpenRequest, *ephemeral.OpenResponse)
}

// Metadata implements ephemeral.EphemeralResource.
func (o *opened) Metadata(_ context.Context, _ ephemeral.MetadataRequest, answer *ephemeral.MetadataResponse) {
	answer.TypeName = Type + "_" + o.name
}

// Schema implements ephemeral.EphemeralResource.
func (o *opened) Schema(_ context.Context, _ ephemeral.SchemaRequest, answer *ephemeral.SchemaResponse) {
	answer.Schema = schema.Schema{MarkdownDescription: o.text, Attributes: o.attributes}
}

// Configure implements ephemeral.EphemeralResourceWithConfigure.
func (o *opened) Configure(_ context.Context, r ephemeral.ConfigureRequest, _ *ephemeral.ConfigureResponse) {
	o.session, _ = r.ProviderData.(*session)
}

// Open implements ephemeral.EphemeralResource.
func (o *opened) Open(ctx context.Context, r ephemeral.OpenRequest, answer *ephemeral.OpenResponse) {
	if o.session.known(&answer.Diagnostics) {
		o.open(ctx, o.session, r, answer)
	}
}

// Close implements ephemeral.EphemeralResourceWithClose: it revokes the token whose id is
// in the private data.
func (o *opened) Close(ctx context.Context, r ephemeral.CloseRequest, answer *ephemeral.CloseResponse) {
	id, diags := r.Private.GetKey(ctx, "id")
	answer.Diagnostics.Append(diags...)
	var text string
	if o.session == nil || json.Unmarshal(id, &text) != nil || text == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	_, err := o.session.client.Tokens.Revoke(ctx, connect.NewRequest(&hubv1.RevokeTokenRequest{Id: text}))
	if err = sdk.Error(err, o.session.client.URL); err != nil && !sdk.IsNotFound(err) {
		answer.Diagnostics.AddWarning("A token was not revoked", "It ends by itself when its time is over: "+errcode.Text(err))
	}
}

// lifetime is how long a token lives, in microseconds; an hour unless it is given.
func lifetime(v types.String) int64 {
	d, err := time.ParseDuration(v.ValueString())
	if err != nil {
		d = time.Hour
	}
	return d.Microseconds()
}

func stamp(micros int64) types.String {
	return types.StringValue(time.UnixMicro(micros).UTC().Format(time.RFC3339))
}

func texts(ctx context.Context, v types.Set, d *diag.Diagnostics) (out []string) {
	if !v.IsNull() && !v.IsUnknown() {
		d.Append(v.ElementsAs(ctx, &out, false)...)
	}
	return out
}

var lasting = []validator.String{shape.Checked(shape.Duration)}

type tokenModel struct {
	Account  types.String `tfsdk:"service_account"`
	Name     types.String `tfsdk:"name"`
	Scopes   types.Set    `tfsdk:"scopes"`
	Lifetime types.String `tfsdk:"lifetime"`
	ID       types.String `tfsdk:"id"`
	Token    types.String `tfsdk:"token"`
	Expires  types.String `tfsdk:"expires_at"`
}

// newToken is an API token for the time of one run.
func newToken() ephemeral.EphemeralResource {
	return &opened{name: "token", open: openToken, text: "An API token for the time of one run. It is in no state and no plan, and is revoked when the run ends.", attributes: map[string]schema.Attribute{
		"service_account": schema.StringAttribute{Optional: true, MarkdownDescription: "The service account that it acts as. The default is the caller."},
		"name":            schema.StringAttribute{Required: true, MarkdownDescription: "A name for lists and the audit log."},
		"scopes":          schema.SetAttribute{ElementType: types.StringType, Optional: true, MarkdownDescription: "read, write or admin. The default is read for a service account, and those of the caller's token otherwise."},
		"lifetime":        schema.StringAttribute{Optional: true, Validators: lasting, MarkdownDescription: "How long it is valid if nobody revokes it. The default is `1h`."},
		"id":              schema.StringAttribute{Computed: true, MarkdownDescription: "The hub's id of the token."},
		"token":           schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "The secret."},
		"expires_at":      schema.StringAttribute{Computed: true, MarkdownDescription: "When it ends."},
	}}
}

func openToken(ctx context.Context, s *session, r ephemeral.OpenRequest, answer *ephemeral.OpenResponse) {
	var m tokenModel
	answer.Diagnostics.Append(r.Config.Get(ctx, &m)...)
	scopes := texts(ctx, m.Scopes, &answer.Diagnostics)
	if answer.Diagnostics.HasError() {
		return
	}
	var made *connect.Response[hubv1.CreatedToken]
	var err error
	if account := m.Account.ValueString(); account != "" {
		made, err = s.client.ServiceAccounts.CreateToken(ctx, connect.NewRequest(&hubv1.CreateServiceAccountTokenRequest{
			Account: account, Name: m.Name.ValueString(), Scopes: scopes, LifetimeMicros: lifetime(m.Lifetime), Management: &hubv1.Management{By: s.by},
		}))
	} else {
		made, err = s.client.Tokens.Create(ctx, connect.NewRequest(&hubv1.CreateTokenRequest{Name: m.Name.ValueString(), Scopes: scopes, LifetimeMicros: lifetime(m.Lifetime)}))
	}
	if err != nil {
		answer.Diagnostics.AddError("Cannot create a token", errcode.Text(sdk.Error(err, s.client.URL)))
		return
	}
	m.ID, m.Token, m.Expires = types.StringValue(made.Msg.GetToken().GetId()), types.StringValue(made.Msg.GetSecret()), stamp(made.Msg.GetToken().GetExpiresAt())
	answer.Diagnostics.Append(answer.Result.Set(ctx, &m)...)
	answer.Diagnostics.Append(answer.Private.SetKey(ctx, "id", []byte(toJSON(made.Msg.GetToken().GetId())))...)
}

type bootstrapModel struct {
	Project  types.String `tfsdk:"project"`
	Pattern  types.String `tfsdk:"name_pattern"`
	Tags     types.Map    `tfsdk:"allowed_tags"`
	Uses     types.Int64  `tfsdk:"max_uses"`
	Lifetime types.String `tfsdk:"lifetime"`
	Approved types.Bool   `tfsdk:"approved"`
	ID       types.String `tfsdk:"id"`
	Token    types.String `tfsdk:"token"`
	Expires  types.String `tfsdk:"expires_at"`
}

// newBootstrapToken is a token for new clusters.
func newBootstrapToken() ephemeral.EphemeralResource {
	return &opened{name: "bootstrap_token", open: openBootstrapToken, text: "A token with which new clusters register. It is in no state and no plan. It is not revoked when the run ends, because clusters may use it later: give it a lifetime.", attributes: map[string]schema.Attribute{
		"project":      schema.StringAttribute{Optional: true, MarkdownDescription: "The project of the clusters."},
		"name_pattern": schema.StringAttribute{Optional: true, MarkdownDescription: "Glob that their names must match."},
		"allowed_tags": schema.MapAttribute{ElementType: types.StringType, Optional: true, MarkdownDescription: "Allowed tags; a value of `*` allows any."},
		"max_uses":     schema.Int64Attribute{Optional: true, MarkdownDescription: "How many clusters may use it. The default is 1."},
		"lifetime":     schema.StringAttribute{Optional: true, Validators: lasting, MarkdownDescription: "How long it is valid. The default is `1h`."},
		"approved":     schema.BoolAttribute{Optional: true, MarkdownDescription: "Clusters need no approval, also with more than one use."},
		"id":           schema.StringAttribute{Computed: true, MarkdownDescription: "The hub's id of the token."},
		"token":        schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "The secret."},
		"expires_at":   schema.StringAttribute{Computed: true, MarkdownDescription: "When it ends."},
	}}
}

func openBootstrapToken(ctx context.Context, s *session, r ephemeral.OpenRequest, answer *ephemeral.OpenResponse) {
	var m bootstrapModel
	answer.Diagnostics.Append(r.Config.Get(ctx, &m)...)
	tags := map[string]string{}
	if !m.Tags.IsNull() {
		answer.Diagnostics.Append(m.Tags.ElementsAs(ctx, &tags, false)...)
	}
	if answer.Diagnostics.HasError() {
		return
	}
	made, err := s.client.Tokens.CreateBootstrap(ctx, connect.NewRequest(&hubv1.CreateBootstrapTokenRequest{
		Project: m.Project.ValueString(), NamePattern: m.Pattern.ValueString(), AllowedTags: tags, MaxUses: int32(min(m.Uses.ValueInt64(), 1<<30)),
		LifetimeMicros: lifetime(m.Lifetime), Approved: m.Approved.ValueBool(), Management: &hubv1.Management{By: s.by},
	}))
	if err != nil {
		answer.Diagnostics.AddError("Cannot create a bootstrap token", errcode.Text(sdk.Error(err, s.client.URL)))
		return
	}
	m.ID, m.Token, m.Expires = types.StringValue(made.Msg.GetToken().GetId()), types.StringValue(made.Msg.GetSecret()), stamp(made.Msg.GetToken().GetExpiresAt())
	answer.Diagnostics.Append(answer.Result.Set(ctx, &m)...)
}

type kubeconfigModel struct {
	Cluster  types.String `tfsdk:"cluster"`
	Lifetime types.String `tfsdk:"lifetime"`
	Host     types.String `tfsdk:"host"`
	Token    types.String `tfsdk:"token"`
	CA       types.String `tfsdk:"cluster_ca_certificate"`
	Raw      types.String `tfsdk:"raw"`
	Expires  types.String `tfsdk:"expires_at"`
}

// newKubeconfig reaches a cluster through the hub, for at most an hour.
func newKubeconfig() ephemeral.EphemeralResource {
	return &opened{name: "kubeconfig", open: openKubeconfig, text: "Access to a cluster's API through the hub, under the caller's own name. It is in no state and no plan, and ends after at most an hour.", attributes: map[string]schema.Attribute{
		"cluster":                schema.StringAttribute{Required: true, MarkdownDescription: "The cluster, by name."},
		"lifetime":               schema.StringAttribute{Optional: true, Validators: lasting, MarkdownDescription: "How long it is valid, at most and by default `1h`."},
		"host":                   schema.StringAttribute{Computed: true, MarkdownDescription: "The server, for a provider such as kubernetes or helm."},
		"token":                  schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "The bearer token."},
		"cluster_ca_certificate": schema.StringAttribute{Computed: true, MarkdownDescription: "The authority of the server's certificate; empty is the system's."},
		"raw":                    schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "A kubeconfig with all of it."},
		"expires_at":             schema.StringAttribute{Computed: true, MarkdownDescription: "When it ends."},
	}}
}

func openKubeconfig(ctx context.Context, s *session, r ephemeral.OpenRequest, answer *ephemeral.OpenResponse) {
	var m kubeconfigModel
	answer.Diagnostics.Append(r.Config.Get(ctx, &m)...)
	if answer.Diagnostics.HasError() {
		return
	}
	made, err := s.client.ClusterAPI.CreateCredential(ctx, connect.NewRequest(&hubv1.CreateClusterCredentialRequest{Cluster: m.Cluster.ValueString(), LifetimeMicros: lifetime(m.Lifetime)}))
	if err != nil {
		answer.Diagnostics.AddError("Cannot reach cluster "+m.Cluster.ValueString(), errcode.Text(sdk.Error(err, s.client.URL)))
		return
	}
	c := made.Msg
	m.Host, m.Token, m.CA, m.Expires = types.StringValue(c.GetServer()), types.StringValue(c.GetToken()), types.StringValue(c.GetCaPem()), stamp(c.GetExpiresAt())
	raw, err := kubeconfigText(m.Cluster.ValueString(), c)
	if err != nil {
		answer.Diagnostics.AddError("Cannot write the kubeconfig", err.Error())
		return
	}
	m.Raw = types.StringValue(raw)
	answer.Diagnostics.Append(answer.Result.Set(ctx, &m)...)
}

func kubeconfigText(cluster string, c *hubv1.ClusterCredential) (string, error) {
	server := map[string]any{"server": c.GetServer()}
	if c.GetCaPem() != "" {
		server["certificate-authority-data"] = []byte(c.GetCaPem())
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": cluster,
		"clusters": []any{map[string]any{"name": cluster, "cluster": server}},
		"users":    []any{map[string]any{"name": cluster, "user": map[string]any{"token": c.GetToken()}}},
		"contexts": []any{map[string]any{"name": cluster, "context": map[string]any{"cluster": cluster, "user": cluster}}},
	})
	return string(text), err
}
