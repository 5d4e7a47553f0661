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
	description "github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/sdk"
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

var lists = append(described(),
	&list{name: "services", says: "Services, with sync and health.", call: via("Services/List")},
	&list{name: "service_revisions", says: "The revisions of a service, newest first.", call: via("Services/ListRevisions"), required: []string{"cluster", "name"}},
	&list{name: "service_tests", says: "The runs of a service's tests, newest revision first.", call: via("Services/ListTests"), required: []string{"cluster", "name"}},
	&list{name: "backends", says: "The stores of secret values.", call: via("Backends/List")},
	&list{name: "tokens", says: "Tokens of the caller, or of all for an administrator; never their secrets.", call: via("Tokens/List")},
	&list{name: "events", says: "Changes, newest first.", call: via("Events/List")},
	&list{name: "audit_records", says: "The audit log.", call: via("Audit/List")},
	&list{name: "access_bindings", says: "Bindings: all for an administrator, those of the caller for others.", call: via("Bindings/List")},
	&list{name: "notification_events", says: "The events that routers can name.", call: via("NotificationRouters/ListEvents")},
)

// described are the lists of the kinds whose description has one.
func described() (all []*list) {
	for _, k := range description.All {
		if k.Calls.List != "" {
			all = append(all, &list{name: k.Many(), says: k.Listing, call: via(k.Calls.Path(k.Calls.List))})
		}
	}
	return all
}

// listOf is the list of a kind of objects, by the message of its rows.
func listOf(object proto.Message) *call {
	for _, l := range lists {
		if sdk.Rows(l.call.out.ProtoReflect().Descriptor()).Message() == object.ProtoReflect().Descriptor() {
			return l.call
		}
	}
	return nil
}

// dataRules are those of requests and answers of reads.
var dataRules = description.Fields{
	"ListServicesRequest.brief": {Skip: true},
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
	return slices.DeleteFunc(shape.Of(l.call.in.ProtoReflect().Descriptor(), dataRules), func(n *shape.Node) bool { return n.Name == "page_size" || n.Name == "page_token" })
}

func (l *list) rows() *shape.Node {
	field := sdk.Rows(l.call.out.ProtoReflect().Descriptor())
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

var serviceConfig = via("Services/Config")
