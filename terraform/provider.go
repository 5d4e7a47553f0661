package terraform

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/settings"
	"github.com/axle-cd/axle/terraform/agent"
)

// Address is what the provider is called in required_providers, as <hub>/axle-cd/axle.
const (
	Namespace = "axle-cd"
	Type      = "axle"
)

// New returns the provider. getenv is os.Getenv, or a test's.
func New(getenv func(string) string) provider.Provider {
	if getenv == nil {
		getenv = os.Getenv
	}
	return &axle{getenv: getenv}
}

type axle struct{ getenv func(string) string }

// session is what resources get: a client for the hub, and who they write as.
type session struct {
	client *sdk.Client
	by     *hubv1.Manager
	reads  *reads
	agents *agent.Agents
	mu     sync.Mutex
	// planned are the names of objects that this run plans to create.
	planned map[string]bool
}

func (s *session) plan(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.planned[name] = true
}

// plans reports whether a text names, in a format, what this run plans to create.
func (s *session) plans(format, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.planned {
		if name != "" && strings.Contains(text, fmt.Sprintf(format, name)) {
			return true
		}
	}
	return false
}

// Metadata implements provider.Provider.
func (*axle) Metadata(_ context.Context, _ provider.MetadataRequest, answer *provider.MetadataResponse) {
	answer.TypeName, answer.Version = Type, buildinfo.Version
}

type settingsModel struct {
	URL       types.String `tfsdk:"url"`
	Token     types.String `tfsdk:"token"`
	TokenFile types.String `tfsdk:"token_file"`
	CA        types.String `tfsdk:"ca"`
	Context   types.String `tfsdk:"context"`
	Manager   types.String `tfsdk:"manager"`
	Workload  types.Object `tfsdk:"workload_identity"`
}

// Schema implements provider.Provider.
func (*axle) Schema(_ context.Context, _ provider.SchemaRequest, answer *provider.SchemaResponse) {
	text := func(says string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: says}
	}
	token := text("An API token. Also `AXLE_TOKEN`.")
	token.Sensitive = true
	answer.Schema = schema.Schema{
		MarkdownDescription: "Objects of an Axle hub. Without any setting, the provider uses the hub that `axle login` logged in to last.",
		Attributes: map[string]schema.Attribute{
			"url":        text("The hub, such as `https://axle.example.com`. Also `AXLE_HUB_URL`. Without it, the hub of `context`."),
			"token":      token,
			"token_file": text("A file with an API token. Also `AXLE_TOKEN_FILE`."),
			"ca":         text("The certificate authority of the hub: PEM, or a file with it. Also `AXLE_CA_FILE`."),
			"context":    text("The hub by its name in the file that `axle login` writes (`AXLE_CONFIG`). Also `AXLE_CONTEXT`. The default is the current one."),
			"manager":    text("The name that distinguishes this configuration from others that write to the same hub. The hub refuses that two managers write one object. The default is `default`."),
			"workload_identity": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Log in with the token of a CI system or a cluster in place of an API token: the hub trusts its issuer by `axle_federation_trust`.",
				Attributes: map[string]schema.Attribute{
					"token_file": schema.StringAttribute{Required: true, MarkdownDescription: "The file with the issuer's token. It is read at each start."},
					"trust":      text("The trust to use, by name. The default is the one that fits."),
				},
			},
		},
	}
}

// Configure implements provider.Provider.
func (p *axle) Configure(ctx context.Context, r provider.ConfigureRequest, answer *provider.ConfigureResponse) {
	var m settingsModel
	answer.Diagnostics.Append(r.Config.Get(ctx, &m)...)
	if answer.Diagnostics.HasError() {
		return
	}
	for name, v := range map[string]types.String{"url": m.URL, "token": m.Token, "token_file": m.TokenFile, "ca": m.CA, "context": m.Context, "manager": m.Manager} {
		if v.IsUnknown() {
			// What needs the hub says so; what does not is planned.
			answer.Diagnostics.AddAttributeWarning(path.Root(name), "The hub is not known yet",
				"The value of "+name+" is known only after apply. Objects of this hub are planned without a look at it.")
			return
		}
	}
	s, err := p.session(ctx, m)
	if err != nil {
		answer.Diagnostics.AddError("Cannot log in to the hub", errcode.Text(err))
		return
	}
	answer.ResourceData, answer.DataSourceData, answer.EphemeralResourceData = s, s, s
}

// session logs in. Settings win over the environment, and that over the file of axle
// login.
func (p *axle) session(ctx context.Context, m settingsModel) (*session, error) {
	target := settings.Target{URL: cmp.Or(m.URL.ValueString(), p.getenv("AXLE_HUB_URL"))}
	if target.URL == "" {
		known, err := settings.Load(p.getenv)
		if err != nil {
			return nil, err
		}
		name := cmp.Or(m.Context.ValueString(), p.getenv("AXLE_CONTEXT"), known.Current)
		if name == "" {
			return nil, errcode.New(errcode.Unauthorized, "no hub is given: set url and token of the provider, or AXLE_HUB_URL and AXLE_TOKEN, or run axle login")
		}
		var ok bool
		if target, ok = known.Contexts[name]; !ok {
			return nil, errcode.New(errcode.Invalid, "axle login knows no context %q", name)
		}
	}
	if err := p.token(&target, m); err != nil {
		return nil, err
	}
	ca := cmp.Or(m.CA.ValueString(), p.getenv("AXLE_CA_FILE"))
	if ca != "" && !strings.Contains(ca, "-----BEGIN") {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, errcode.New(errcode.Invalid, "read the certificate authority: %w", err)
		}
		ca = string(text)
	}
	target.CA = cmp.Or(ca, target.CA)
	config := sdk.Config{URL: target.URL, CAPEM: []byte(target.CA), UserAgent: "terraform-provider-axle/" + buildinfo.Version}
	if !m.Workload.IsNull() {
		token, err := p.exchange(ctx, config, m.Workload)
		if err != nil {
			return nil, err
		}
		target.Token = token
	}
	if target.Token == "" {
		return nil, errcode.New(errcode.Unauthorized, "no token for the hub at %s is given: set token or workload_identity of the provider, or AXLE_TOKEN, or run axle login", target.URL)
	}
	config.Token = target.Token
	client, err := sdk.New(config)
	if err != nil {
		return nil, err
	}
	by := &hubv1.Manager{Tool: "terraform", Id: cmp.Or(m.Manager.ValueString(), "default")}
	return &session{client: client, by: by, reads: newReads(client, by), agents: &agent.Agents{Client: client, By: by}, planned: map[string]bool{}}, nil
}

func (p *axle) token(target *settings.Target, m settingsModel) error {
	file := cmp.Or(m.TokenFile.ValueString(), p.getenv("AXLE_TOKEN_FILE"))
	switch {
	case m.Token.ValueString() != "":
		target.Token = m.Token.ValueString()
	case file != "":
		text, err := os.ReadFile(file)
		if err != nil {
			return errcode.New(errcode.Invalid, "read the token: %w", err)
		}
		target.Token = strings.TrimSpace(string(text))
	case p.getenv("AXLE_TOKEN") != "":
		target.Token = p.getenv("AXLE_TOKEN")
	}
	return nil
}

// Resources implements provider.Provider.
func (*axle) Resources(context.Context) []func() resource.Resource {
	out := []func() resource.Resource{newServiceWait}
	for _, k := range all {
		out = append(out, func() resource.Resource { return &object{kind: k} })
	}
	return out
}

// DataSources implements provider.Provider.
func (*axle) DataSources(context.Context) []func() datasource.DataSource {
	var out []func() datasource.DataSource
	for _, k := range all {
		if len(k.keys) > 0 && k.rows == nil {
			out = append(out, func() datasource.DataSource { return &one{kind: k} })
		}
	}
	for _, l := range lists {
		out = append(out, func() datasource.DataSource { return &many{list: l} })
	}
	return out
}

// EphemeralResources implements provider.ProviderWithEphemeralResources.
func (*axle) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{newToken, newBootstrapToken, newKubeconfig}
}

// Functions implements provider.ProviderWithFunctions.
func (*axle) Functions(context.Context) []func() function.Function {
	return []func() function.Function{newHandle, newServiceID}
}
