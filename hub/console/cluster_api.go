package console

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/errcode"
)

// ClusterReader reads clusters as the caller; it identifies clusters by handle.
// It authorizes the caller again and records the read.
type ClusterReader interface {
	// Credential creates a short-lived bearer token.
	Credential(ctx context.Context, caller identity.Principal, handle string, lifetime time.Duration) (bearer string, until int64, err error)
	// Ticket creates a ticket for one path.
	Ticket(ctx context.Context, caller identity.Principal, handle, path string) (ticket string, until int64, err error)
	// Objects returns the answer to a GET.
	Objects(ctx context.Context, q ClusterQuery) ([]byte, error)
	// Watch calls each for every event.
	Watch(ctx context.Context, q ClusterQuery, each func(kind string, object []byte) error) error
}

// ClusterQuery is one read of a cluster.
type ClusterQuery struct {
	Caller identity.Principal
	// Source is the caller's address.
	Source string
	// Handle names the cluster, Path is path and query.
	Handle, Path string
	// Table requests a Table instead of objects.
	Table bool
}

// clusterAPI answers calls that read the live state of a cluster.
type clusterAPI struct {
	*Server
	hubv1connect.UnimplementedClusterAPIHandler
}

func (s *clusterAPI) cluster(ctx context.Context, name string) (fleet.Cluster, error) {
	if s.config.ClusterReader == nil {
		return fleet.Cluster{}, errcode.New(errcode.Unavailable, "this hub reaches no clusters")
	}
	return s.config.Fleet.ClusterNamed(ctx, name)
}

func (s *clusterAPI) CreateCredential(ctx context.Context, r *connect.Request[hubv1.CreateClusterCredentialRequest]) (*connect.Response[hubv1.ClusterCredential], error) {
	c, err := s.cluster(ctx, r.Msg.GetCluster())
	if err != nil {
		return nil, err
	}
	bearer, until, err := s.config.ClusterReader.Credential(ctx, caller(ctx), c.Handle, time.Duration(r.Msg.GetLifetimeMicros())*time.Microsecond)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.ClusterCredential{
		Token: bearer, ExpiresAt: until, Server: s.config.ClustersURL + c.Handle, CaPem: s.config.CAPEM,
	}), nil
}

func (s *clusterAPI) CreateTicket(ctx context.Context, r *connect.Request[hubv1.CreateClusterTicketRequest]) (*connect.Response[hubv1.ClusterTicket], error) {
	c, err := s.cluster(ctx, r.Msg.GetCluster())
	if err != nil {
		return nil, err
	}
	ticket, until, err := s.config.ClusterReader.Ticket(ctx, caller(ctx), c.Handle, r.Msg.GetPath())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.ClusterTicket{Ticket: ticket, ExpiresAt: until, Path: s.config.TicketPath}), nil
}

// ofUsedCluster finds the cluster that a caller wants to use.
func ofUsedCluster(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	if m, ok := message.(interface{ GetObjects() *hubv1.ClusterObjects }); ok {
		return one(s.clusterPermission(ctx, action, m.GetObjects().GetCluster()))
	}
	return one(s.clusterPermission(ctx, action, message.(interface{ GetCluster() string }).GetCluster()))
}

func (s *clusterAPI) query(ctx context.Context, source string, o *hubv1.ClusterObjects, name string, values url.Values) (ClusterQuery, error) {
	if o.GetVersion() == "" || o.GetResource() == "" {
		return ClusterQuery{}, errcode.New(errcode.Invalid, "name the version and the resource, as v1 and pods")
	}
	c, err := s.cluster(ctx, o.GetCluster())
	if err != nil {
		return ClusterQuery{}, err
	}
	path := "/api/" + url.PathEscape(o.GetVersion())
	if o.GetGroup() != "" {
		path = "/apis/" + url.PathEscape(o.GetGroup()) + "/" + url.PathEscape(o.GetVersion())
	}
	if o.GetNamespace() != "" {
		path += "/namespaces/" + url.PathEscape(o.GetNamespace())
	}
	path += "/" + url.PathEscape(o.GetResource())
	if name != "" {
		path += "/" + url.PathEscape(name)
	}
	for key, value := range map[string]string{"labelSelector": o.GetLabelSelector(), "fieldSelector": o.GetFieldSelector()} {
		if value != "" {
			values.Set(key, value)
		}
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return ClusterQuery{Caller: caller(ctx), Source: address.Host(source), Handle: c.Handle, Path: path}, nil
}

func (s *clusterAPI) ListObjects(ctx context.Context, r *connect.Request[hubv1.ListClusterObjectsRequest]) (*connect.Response[hubv1.ListClusterObjectsResponse], error) {
	values := url.Values{}
	if n := r.Msg.GetLimit(); n > 0 {
		values.Set("limit", strconv.FormatInt(n, 10))
	}
	if more := r.Msg.GetContinue(); more != "" {
		values.Set("continue", more)
	}
	q, err := s.query(ctx, r.Peer().Addr, r.Msg.GetObjects(), r.Msg.GetName(), values)
	if err != nil {
		return nil, err
	}
	q.Table = r.Msg.GetTable()
	text, err := s.config.ClusterReader.Objects(ctx, q)
	if err != nil {
		return nil, err
	}
	var list struct {
		Metadata struct {
			Continue        string `json:"continue"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, errcode.New(errcode.Unavailable, "the cluster's answer is not JSON: %w", err)
	}
	return connect.NewResponse(&hubv1.ListClusterObjectsResponse{Json: text, Continue: list.Metadata.Continue, ResourceVersion: list.Metadata.ResourceVersion}), nil
}

func (s *clusterAPI) WatchObjects(ctx context.Context, r *connect.Request[hubv1.WatchClusterObjectsRequest], out *connect.ServerStream[hubv1.ClusterObjectEvent]) error {
	values := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}}
	if version := r.Msg.GetResourceVersion(); version != "" {
		values.Set("resourceVersion", version)
	}
	q, err := s.query(ctx, r.Peer().Addr, r.Msg.GetObjects(), "", values)
	if err != nil {
		return err
	}
	q.Table = r.Msg.GetTable()
	// Send the headers at once: the first change may take long.
	if err := out.Send(nil); err != nil {
		return err
	}
	return s.config.ClusterReader.Watch(ctx, q, func(kind string, object []byte) error {
		return out.Send(&hubv1.ClusterObjectEvent{Type: kind, Json: object})
	})
}
