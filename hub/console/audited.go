package console

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/mask"
	"github.com/axle-cd/axle/internal/protobox"
)

const (
	// recordTimeout is how long the answer of a call waits for its audit record
	// to become durable. The call itself is done; after the timeout the record
	// waits in the log.
	recordTimeout = 5 * time.Second
)

// readOnly lists the calls that change nothing and are not recorded, by prefix
// or by full name.
var readOnly = struct{ prefixes, names []string }{
	[]string{"List", "Get", "Watch"},
	[]string{
		"Sessions/WhoAmI", "Services/Config", "Agents/UpgradeStatus", "Hub/Status", "Audit/Verify", "Audit/Checkpoints", "Access/CanI", "Logins/PollDevice", "Clusters/Enrollment",
		// The proxy records these as the requests to the cluster that they are.
		"ClusterAPI/WriteObject", "ClusterAPI/ReadLogs", "ClusterAPI/SearchLogs",
		"Observability/Sources", "Metrics/Query", "Metrics/Series", "Metrics/LabelValues", "Metrics/Panels", "Dashboards/Draw", "ClusterAlerts/Worst", "ClusterAlerts/Links",
		"Fleet/Summary", "Fleet/HeatMap", "Fleet/NeedsYou", "Fleet/RecentChanges", "Fleet/QueryClusters", "Fleet/QueryServices", "Fleet/Search", "Fleet/SetTopics",
	},
}

// isRecorded reports whether the audit log records a call. Calls that readOnly
// does not list are recorded.
func isRecorded(procedure string) bool {
	service, method := splitProcedure(procedure)
	for _, name := range readOnly.names {
		if name == service+"/"+method {
			return false
		}
	}
	for _, prefix := range readOnly.prefixes {
		if rest, ok := strings.CutPrefix(method, prefix); ok && (rest == "" || rest[0] < 'a') {
			return false
		}
	}
	return true
}

// splitProcedure returns the last two names of /axle.hub.v1.Services/Update.
func splitProcedure(procedure string) (service, method string) {
	path, method, _ := strings.Cut(strings.TrimPrefix(procedure, "/"), "/")
	return path[strings.LastIndexByte(path, '.')+1:], method
}

// recorder records what people do: who, what, the result, and the object before
// and after.
type recorder struct{ *Server }

type recordedKey struct{}

// recorded is the audit record of the current call.
type recorded struct {
	mu     sync.Mutex
	caller identity.Principal
	before string
	known  audit.Record
	masker mask.Masker
}

// noteCaller sets the caller in the record of the current call.
func noteCaller(ctx context.Context, p identity.Principal) {
	if r, ok := ctx.Value(recordedKey{}).(*recorded); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.caller = p
	}
}

// WrapUnary implements connect.Interceptor. It runs outside of admit, so that
// refused calls are recorded too.
func (s *recorder) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		procedure := request.Spec().Procedure
		if s.config.Audit == nil || !isRecorded(procedure) {
			return next(ctx, request)
		}
		r := &recorded{known: audit.Record{Action: procedure, Source: address.Host(request.Peer().Addr)}}
		response, err := next(context.WithValue(ctx, recordedKey{}, r), request)
		message, _ := protobox.Held(request.Any()).(proto.Message)
		var answer proto.Message
		if err == nil {
			answer, _ = protobox.Held(response.Any()).(proto.Message)
		}
		s.record(ctx, r, message, answer, err)
		return response, err
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (s *recorder) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor.
func (s *recorder) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, stream connect.StreamingHandlerConn) error {
		procedure := stream.Spec().Procedure
		if s.config.Audit == nil || !isRecorded(procedure) {
			return next(ctx, stream)
		}
		r := &recorded{known: audit.Record{Action: procedure, Source: address.Host(stream.Peer().Addr)}}
		err := next(context.WithValue(ctx, recordedKey{}, r), stream)
		s.record(ctx, r, nil, nil, err)
		return err
	}
}

// look reads the object that the call is about to change; it runs inside of admit.
func (s *recorder) look(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		r, ok := ctx.Value(recordedKey{}).(*recorded)
		if !ok {
			return next(ctx, request)
		}
		message, _ := protobox.Held(request.Any()).(proto.Message)
		about := objectOf(request.Spec().Procedure, message)
		if about.cluster != "" {
			if c, err := s.config.Fleet.ClusterNamed(ctx, about.cluster); err == nil {
				r.known.ClusterID, r.known.ProjectID = c.ID, c.ProjectID
			}
		}
		if before := s.present(ctx, about); before != nil {
			r.before = r.masker.Text(before)
		}
		response, err := next(ctx, request)
		r.known.Detail = managed.Facts(ctx)
		return response, err
	}
}

// present returns an object's current state, or nil when it does not exist or
// has no spec.
func (s *recorder) present(ctx context.Context, about object) proto.Message {
	switch about.kind {
	case "service":
		return specOrNil((&services{Server: s.Server}).Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: about.cluster, Name: about.name}})))
	case "cluster":
		return specOrNil((&clusters{Server: s.Server}).Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: about.name})))
	case "repository":
		return specOrNil((&repositories{s.Server}).Get(ctx, connect.NewRequest(&hubv1.GetRepositoryRequest{Name: about.name})))
	case "project":
		return specOrNil((&projects{s.Server}).Get(ctx, connect.NewRequest(&hubv1.GetProjectRequest{Name: about.name})))
	case "context":
		return specOrNil((&contexts{s.Server}).Get(ctx, connect.NewRequest(&hubv1.GetContextRequest{Name: about.name})))
	}
	return s.storedSettings(ctx, about)
}

func specOrNil[T any, M interface {
	*T
	proto.Message
}](answer *connect.Response[T], err error) proto.Message {
	if err != nil {
		return nil
	}
	return specIn(M(answer.Msg))
}

func (s *recorder) record(ctx context.Context, r *recorded, request, answer proto.Message, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.known
	about := objectOf(out.Action, request)
	out.Kind, out.Name = about.kind, about.fullName()
	out.Actor, out.ActorKind, out.ActorID, out.TokenID = r.caller.By(), string(r.caller.Kind), r.caller.ID, r.caller.TokenID
	out.Verb = string(access[out.Action])
	out.Result = audit.ResultOK
	if out.Detail == nil {
		out.Detail = map[string]string{}
	}
	if m, ok := request.(interface{ GetReason() string }); ok && m.GetReason() != "" {
		out.Detail["reason"] = r.masker.Clean(m.GetReason())
	}
	known := r.caller.Kind != ""
	// The request is masked first: its secrets are then found in the rest.
	asked := ""
	if err == nil || known {
		asked = r.masker.Text(request)
	}
	if err != nil {
		out.Result = string(resultOf(err))
		out.Detail["error"] = r.masker.Clean(connectMessage(err))
		out.Name, out.Source = r.masker.Clean(out.Name), r.masker.Clean(out.Source)
		if asked != "" {
			out.Detail["request"] = asked
		}
	} else {
		out.Before, out.After = r.masker.Clean(r.before), asked
		if after := specIn(answer); after != nil {
			out.After = r.masker.Text(after)
			out.Detail["request"] = asked
		}
		if out.Name == "" {
			out.Name = nameIn(answer)
		}
		out.Name = r.masker.Clean(out.Name)
	}
	if !known && err != nil {
		s.config.Audit.Refused(ctx, r.known.Source, out)
		return
	}
	s.keep(ctx, out)
}

// keep waits a while for the record to become durable, and then leaves it to the log.
func (s *recorder) keep(ctx context.Context, out audit.Record) {
	if out.Result != audit.ResultOK {
		s.config.Audit.Add(ctx, out)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := s.config.Audit.AddNow(ctx, out); err != nil && ctx.Err() == nil {
		s.config.Log.LogAttrs(ctx, slog.LevelWarn, "a call's audit record waits for the database", slog.String(logkey.Method, out.Action), slog.Any(logkey.Error, err))
		s.config.Audit.Add(ctx, out)
	}
}

func resultOf(err error) errcode.Code {
	var failed *connect.Error
	if errors.As(err, &failed) {
		for _, d := range failed.Details() {
			if v, verr := d.Value(); verr == nil {
				if detail, ok := v.(*hubv1.ErrorDetail); ok {
					return errcode.Code(detail.GetCode())
				}
			}
		}
		return errcode.FromRPC(uint32(failed.Code()))
	}
	return errcode.Of(err)
}

func connectMessage(err error) string {
	var failed *connect.Error
	if errors.As(err, &failed) {
		return failed.Message()
	}
	return errcode.Message(err)
}

type object struct{ kind, cluster, name string }

// fullName returns CLUSTER/NAME for objects on a cluster.
func (o object) fullName() string {
	if o.kind != "cluster" && o.cluster != "" && o.name != "" {
		return o.cluster + "/" + o.name
	}
	return o.name
}

// kinds holds the nouns of the API services whose name is not the noun's plural.
var kinds = withTopics(map[string]string{
	"Repositories": "repository", "Federation": "trust", "ServiceAccounts": "service_account", "Hub": "hub", "Agents": "agents", "GlobalServices": "global_service", "ManagedNamespaces": "managed_namespace",
	"Outputs": "outputs", "Audit": "audit", "Access": "access", "ApplicationClients": "application", "Observability": "cluster", "Metrics": "cluster", "Dashboards": "cluster", "ClusterAlerts": "cluster",
})

func objectOf(procedure string, message proto.Message) object {
	service, _ := splitProcedure(procedure)
	kind := kinds[service]
	if kind == "" {
		kind = strings.ToLower(strings.TrimSuffix(service, "s"))
	}
	o := object{kind: kind}
	if message == nil {
		return o
	}
	m := message.ProtoReflect()
	if r := child(m, "ref"); r != nil {
		o.cluster, o.name = text(r, "cluster"), text(r, "name")
		return o
	}
	for _, inner := range []protoreflect.Name{"context", "outputs"} {
		if c := child(m, inner); c != nil {
			m = c
		}
	}
	for _, field := range []protoreflect.Name{"name", "account", "id", "email", "replica", "trust"} {
		if o.name = text(m, field); o.name != "" {
			break
		}
	}
	if o.cluster = text(m, "cluster"); kind == "cluster" {
		o.cluster = o.name
	}
	return o
}

func child(m protoreflect.Message, name protoreflect.Name) protoreflect.Message {
	field := m.Descriptor().Fields().ByName(name)
	if field == nil || field.Kind() != protoreflect.MessageKind || field.IsList() || field.IsMap() || !m.Has(field) {
		return nil
	}
	return m.Get(field).Message()
}

func text(m protoreflect.Message, name protoreflect.Name) string {
	field := m.Descriptor().Fields().ByName(name)
	if field == nil || field.Kind() != protoreflect.StringKind || field.IsList() {
		return ""
	}
	return m.Get(field).String()
}

// specIn returns the part of an answer that a person may have changed: a
// service's spec, or the object itself, nil when there is none.
func specIn(message proto.Message) proto.Message {
	switch v := message.(type) {
	case *hubv1.Service:
		return v.GetSpec()
	case *hubv1.ApplyServiceResponse:
		return v.GetService().GetSpec()
	case *hubv1.CreateClusterResponse:
		return specIn(v.GetCluster())
	case *hubv1.Cluster:
		return &hubv1.Cluster{Id: v.GetId(), Name: v.GetName(), Handle: v.GetHandle(), Project: v.GetProject(), Tags: v.GetTags(), Metadata: v.GetMetadata(), Pending: v.GetPending()}
	case *hubv1.Repository:
		return &hubv1.Repository{Id: v.GetId(), Name: v.GetName(), Project: v.GetProject(), Type: v.GetType(), Url: v.GetUrl(), Auth: v.GetAuth(), Options: v.GetOptions()}
	case *hubv1.Project, *hubv1.Context:
		return message
	case *hubv1.CreatedToken:
		return v.GetToken()
	case *hubv1.CreatedWebhook:
		return v.GetWebhook()
	}
	return storedIn(message)
}

// nameIn returns the name of what a call created, for calls whose request has
// no name.
func nameIn(answer proto.Message) string {
	if answer == nil {
		return ""
	}
	m := answer.ProtoReflect()
	if c := child(m, "token"); c != nil {
		m = c
	}
	for _, field := range []protoreflect.Name{"name", "id", "key_id"} {
		if n := text(m, field); n != "" {
			return n
		}
	}
	return ""
}
