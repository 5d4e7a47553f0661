package terraform

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	description "github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/terraform/shape"
	"github.com/axle-cd/axle/terraform/shape/data"
)

// list is a list of the hub's API as a data source.
type list struct {
	// name is that of the data source without axle_, and of its attribute with the rows.
	name, says string
	call       *call
	required   []string
}

var lists = []*list{
	{name: "projects", says: "All projects that the caller may read.", call: via(projects, hubv1connect.ProjectsClient.List)},
	{name: "clusters", says: "Clusters, with what their agents report.", call: via(clusters, hubv1connect.ClustersClient.List)},
	{name: "repositories", says: "Repositories, with their health.", call: via(repositories, hubv1connect.RepositoriesClient.List)},
	{name: "webhooks", says: "Webhooks, with their last delivery.", call: via(webhooks, hubv1connect.WebhooksClient.List)},
	{name: "services", says: "Services, with sync and health.", call: via(services, hubv1connect.ServicesClient.List)},
	{name: "service_revisions", says: "The revisions of a service, newest first.", call: via(services, hubv1connect.ServicesClient.ListRevisions), required: []string{"cluster", "name"}},
	{name: "service_tests", says: "The runs of a service's tests, newest revision first.", call: via(services, hubv1connect.ServicesClient.ListTests), required: []string{"cluster", "name"}},
	{name: "global_services", says: "Global services, without their templates.", call: via(globals, hubv1connect.GlobalServicesClient.List)},
	{name: "managed_namespaces", says: "Managed namespaces, without their services.", call: via(namespaces, hubv1connect.ManagedNamespacesClient.List)},
	{name: "service_contexts", says: "Contexts; secrets are keys with empty values.", call: via(contexts, hubv1connect.ContextsClient.List)},
	{name: "all_outputs", says: "Outputs; secrets are keys with empty values.", call: via(outputs, hubv1connect.OutputsClient.List)},
	{name: "backends", says: "The stores of secret values.", call: via(backends, hubv1connect.BackendsClient.List)},
	{name: "tokens", says: "Tokens of the caller, or of all for an administrator; never their secrets.", call: via(tokens, hubv1connect.TokensClient.List)},
	{name: "events", says: "What changed, newest first.", call: via(events, hubv1connect.EventsClient.List)},
	{name: "audit_records", says: "The audit log.", call: via(audit, hubv1connect.AuditClient.List)},
	{name: "users", says: "Users and service accounts.", call: via(users, hubv1connect.UsersClient.List)},
	{name: "groups", says: "Groups, without their members.", call: via(groups, hubv1connect.GroupsClient.List)},
	{name: "access_bindings", says: "Bindings: all for an administrator, those of the caller for others.", call: via(bindings, hubv1connect.BindingsClient.List)},
	{name: "service_accounts", says: "Service accounts.", call: via(accounts, hubv1connect.ServiceAccountsClient.List)},
	{name: "federation_trusts", says: "Trusts in the tokens of issuers.", call: via(trusts, hubv1connect.FederationClient.List)},
	{name: "login_providers", says: "The issuers that people log in with.", call: via(providers, hubv1connect.ProvidersClient.List)},
	{name: "notification_sinks", says: "Notification sinks, with their state.", call: via(sinks, hubv1connect.NotificationSinksClient.List)},
	{name: "notification_routers", says: "Notification routers.", call: via(routers, hubv1connect.NotificationRoutersClient.List)},
	{name: "notification_events", says: "The events that routers can name.", call: via(routers, hubv1connect.NotificationRoutersClient.ListEvents)},
}

// listOf is the list of a kind of objects, by the message of its rows.
func listOf(object proto.Message) *call {
	for _, l := range lists {
		if rowsField(l.call.out.ProtoReflect().Descriptor()).Message() == object.ProtoReflect().Descriptor() {
			return l.call
		}
	}
	return nil
}

// dataRules are those of requests and answers of reads.
var dataRules = description.Fields{
	"ListServicesRequest.page_size":           {Skip: true},
	"ListServicesRequest.page_token":          {Skip: true},
	"ListServicesRequest.brief":               {Skip: true},
	"ListClustersRequest.page_size":           {Skip: true},
	"ListClustersRequest.page_token":          {Skip: true},
	"ListRepositoriesRequest.page_size":       {Skip: true},
	"ListRepositoriesRequest.page_token":      {Skip: true},
	"ListGlobalServicesRequest.page_size":     {Skip: true},
	"ListGlobalServicesRequest.page_token":    {Skip: true},
	"ListManagedNamespacesRequest.page_size":  {Skip: true},
	"ListManagedNamespacesRequest.page_token": {Skip: true},
	// A root attribute cannot be called provider.
	"Webhook.provider":         {As: "scm_provider"},
	"ListRevisionsRequest.ref": {Flat: true},
	"ListTestsRequest.ref":     {Flat: true},
}

// many is the data source of a list. Its attributes are the fields of the request and
// the rows.
type many struct {
	*list
	session *session
}

func (l *list) filters() []*shape.Node {
	return shape.Of(l.call.in.ProtoReflect().Descriptor(), dataRules)
}

func (l *list) rows() *shape.Node {
	field := rowsField(l.call.out.ProtoReflect().Descriptor())
	return &shape.Node{Name: l.name, Kind: shape.Objects, Children: shape.Of(field.Message(), dataRules), Field: description.Field{Text: l.says}}
}

// Metadata implements datasource.DataSource.
func (m *many) Metadata(_ context.Context, _ datasource.MetadataRequest, answer *datasource.MetadataResponse) {
	answer.TypeName = Type + "_" + m.name
}

// Schema implements datasource.DataSource.
func (m *many) Schema(_ context.Context, _ datasource.SchemaRequest, answer *datasource.SchemaResponse) {
	var optional []string
	for _, n := range m.filters() {
		if !slices.Contains(m.required, n.Name) {
			optional = append(optional, n.Name)
		}
	}
	attributes := data.Attributes(m.filters(), optional, m.required)
	for name, a := range attributes {
		attributes[name] = given(a)
	}
	attributes[m.name] = data.Attributes([]*shape.Node{m.rows()}, nil, nil)[m.name]
	answer.Schema = schema.Schema{MarkdownDescription: m.says, Attributes: attributes}
}

// given makes an attribute one that only the configuration sets.
func given(a schema.Attribute) schema.Attribute {
	switch x := a.(type) {
	case schema.StringAttribute:
		x.Computed = false
		return x
	case schema.BoolAttribute:
		x.Computed = false
		return x
	case schema.Int64Attribute:
		x.Computed = false
		return x
	case schema.MapAttribute:
		x.Computed = false
		return x
	case schema.ListAttribute:
		x.Computed = false
		return x
	case schema.SingleNestedAttribute:
		x.Computed = false
		for name, inner := range x.Attributes {
			if text, ok := inner.(schema.StringAttribute); ok {
				text.Optional, text.Computed = true, false
				x.Attributes[name] = text
			}
		}
		return x
	}
	return a
}

// Configure implements datasource.DataSourceWithConfigure.
func (m *many) Configure(_ context.Context, r datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	m.session, _ = r.ProviderData.(*session)
}

// Read implements datasource.DataSource.
func (m *many) Read(ctx context.Context, r datasource.ReadRequest, answer *datasource.ReadResponse) {
	if !m.session.known(&answer.Diagnostics) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	config := shape.Fields(r.Config.Raw)
	request := m.call.request()
	err := shape.Fill(request.ProtoReflect(), m.filters(), shape.Values{Plan: config})
	var rows []proto.Message
	if err == nil {
		rows, err = m.call.all(ctx, m.session.client, request)
	}
	if err != nil {
		(&object{kind: &kind{name: m.name}}).fail(&answer.Diagnostics, "list", "", err)
		return
	}
	node := m.rows()
	values := make([]tftypes.Value, 0, len(rows))
	for _, row := range rows {
		values = append(values, tftypes.NewValue(shape.ObjectType(node.Children), shape.Read(row.ProtoReflect(), node.Children, nil)))
	}
	out := config
	out[m.name] = tftypes.NewValue(node.Type(), values)
	answer.State.Raw = tftypes.NewValue(r.Config.Raw.Type(), out)
}

// one is the data source of one object, with all that the hub says about it.
type one struct {
	*kind
	session *session
}

func (o *one) shown() []*shape.Node {
	keys := o.keyNodes()
	taken := map[string]bool{}
	for _, n := range keys {
		taken[n.Name] = true
		taken[n.Other] = true
		taken[string(n.Path[len(n.Path)-1])] = true
	}
	all := keys
	for _, n := range shape.Of(o.object.ProtoReflect().Descriptor(), dataRules) {
		if !taken[n.Name] {
			all = append(all, n)
		}
	}
	return all
}

// Metadata implements datasource.DataSource.
func (o *one) Metadata(_ context.Context, _ datasource.MetadataRequest, answer *datasource.MetadataResponse) {
	answer.TypeName = Type + "_" + o.name
}

// Schema implements datasource.DataSource.
func (o *one) Schema(_ context.Context, _ datasource.SchemaRequest, answer *datasource.SchemaResponse) {
	answer.Schema = schema.Schema{MarkdownDescription: o.text(), Attributes: data.Attributes(o.shown(), nil, o.keys)}
}

// Configure implements datasource.DataSourceWithConfigure.
func (o *one) Configure(_ context.Context, r datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	o.session, _ = r.ProviderData.(*session)
}

// Read implements datasource.DataSource. It asks for the object itself: what depends on
// it runs after the writes that it depends on.
func (o *one) Read(ctx context.Context, r datasource.ReadRequest, answer *datasource.ReadResponse) {
	if !o.session.known(&answer.Diagnostics) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	keys := shape.Fields(r.Config.Raw)
	message, _, err := o.session.reads.find(ctx, o.kind, keys)
	if err != nil || message == nil {
		if err == nil {
			answer.Diagnostics.AddError("There is no "+strings.ReplaceAll(o.name, "_", " ")+" "+o.idOf(keys), "The hub has none of this name, or the caller may not read it.")
			return
		}
		(&object{kind: o.kind}).fail(&answer.Diagnostics, "read", o.idOf(keys), err)
		return
	}
	answer.State.Raw = tftypes.NewValue(r.Config.Raw.Type(), shape.Read(message.ProtoReflect(), o.shown(), keys))
}

// secretsOf is what the hub says about the secrets of a service: a keyed hash of each.
func secretsOf(ctx context.Context, session *session, s *hubv1.Service) (string, error) {
	request := &hubv1.GetServiceConfigRequest{Ref: &hubv1.ServiceRef{Cluster: s.GetCluster(), Name: s.GetName()}}
	answer, err := serviceConfig.do(ctx, session.client, request)
	if err != nil {
		return "", err
	}
	hashes := map[string]string{}
	for _, v := range answer.(*hubv1.ServiceConfig).GetValues() {
		for _, l := range v.GetLayers() {
			if l.GetSecret() && l.GetLayer() == "service" {
				hashes[v.GetKey()] = l.GetHash()
			}
		}
	}
	return toJSON(hashes), nil
}

// sameSecrets compares what the hub reported of secrets then and now. It is not known where
// the hub changed the form of its hashes meanwhile, or shows this caller another one: that is
// no change of a secret, so no plan may differ for it.
func sameSecrets(before, now string) (same, known bool) {
	if before == now {
		return true, true
	}
	var then, present map[string]string
	if json.Unmarshal([]byte(before), &then) != nil || json.Unmarshal([]byte(now), &present) != nil || len(then) != len(present) {
		return false, true
	}
	unknown := false
	for key, hash := range then {
		other, there := present[key]
		switch {
		case !there:
			return false, true
		case len(other) != len(hash):
			unknown = true
		case other != hash:
			return false, true
		}
	}
	return false, !unknown
}

var serviceConfig = via(services, hubv1connect.ServicesClient.Config)
