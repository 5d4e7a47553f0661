package liveapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/ownertree"
	"github.com/axle-cd/axle/internal/podlogs"
)

// Clusters makes requests to clusters as the caller; it identifies clusters by
// handle. It authorizes the caller again and records the request.
type Clusters interface {
	// Credential creates a short-lived bearer token.
	Credential(ctx context.Context, caller identity.Principal, handle string, lifetime time.Duration) (bearer string, until int64, err error)
	// Ticket creates a ticket for one path.
	Ticket(ctx context.Context, caller identity.Principal, handle, path string) (ticket string, until int64, err error)
	// Do returns the answer to one request.
	Do(ctx context.Context, q Query) (Answer, error)
	// Watch calls each for every event.
	Watch(ctx context.Context, q Query, each func(kind string, object []byte) error) error
	// Logs calls each with whole lines.
	Logs(ctx context.Context, q Query, each func(lines []byte) error) error
}

// Query is one request to a cluster.
type Query struct {
	Caller identity.Principal
	// Source is the caller's address.
	Source string
	// Handle names the cluster, Path is path and query.
	Handle, Path string
	// Table requests a Table instead of objects.
	Table bool
	// Method is empty for a read; Body is of type ContentType.
	Method, ContentType string
	Body                []byte
	// Readiness is the version of Kubernetes about which the agent itself is asked.
	Readiness string
	// Credential is the service about whose cluster the agent itself is asked.
	Credential string
	// Cut unblocks a write to the caller; nil cannot.
	Cut func()
	// Paced is for a log that others are merged with: who takes it may wait for them, and
	// looks by itself whether the caller reads.
	Paced bool
}

// Answer is a cluster's successful answer.
type Answer struct {
	Text     []byte
	Warnings []string
}

// API answers the calls.
type API struct {
	// Clusters is nil on a hub that reaches none.
	Clusters Clusters
	// Find returns a cluster by name.
	Find   func(ctx context.Context, name string) (fleet.Cluster, error)
	Caller func(ctx context.Context) identity.Principal
	// URL is the prefix of a cluster's handle in a kubeconfig's server URL;
	// TicketPath accepts WebSockets with tickets.
	URL, TicketPath string
	// Tree returns the objects of a service, read as the caller.
	Tree func(ctx context.Context, source string, of *hubv1.ServiceRef) (*ownertree.Tree, error)
	// Stored reads a store of logs for SearchLogs.
	Stored func(ctx context.Context, peer connect.Peer, name string, m *hubv1.SearchLogsRequest, s podlogs.Search, send func(podlogs.Batch) error) error
	// CAPEM is the authority that signs the hub's certificate.
	CAPEM string
}

type cutKey struct{}

// WithWriter makes the streams of a call end when its caller reads nothing.
func WithWriter(ctx context.Context, w http.ResponseWriter) context.Context {
	// A connection without deadlines is cut when it ends.
	return context.WithValue(ctx, cutKey{}, func() { _ = http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0)) })
}

// Cluster finds a cluster that can be reached.
func (a *API) Cluster(ctx context.Context, name string) (fleet.Cluster, error) {
	if a.Clusters == nil {
		return fleet.Cluster{}, errcode.New(errcode.Unavailable, "this hub reaches no clusters")
	}
	return a.Find(ctx, name)
}

// CreateCredential implements hubv1connect.ClusterAPIHandler.
func (a *API) CreateCredential(ctx context.Context, r *connect.Request[hubv1.CreateClusterCredentialRequest]) (*connect.Response[hubv1.ClusterCredential], error) {
	c, err := a.Cluster(ctx, r.Msg.GetCluster())
	if err != nil {
		return nil, err
	}
	bearer, until, err := a.Clusters.Credential(ctx, a.Caller(ctx), c.Handle, time.Duration(r.Msg.GetLifetimeMicros())*time.Microsecond)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.ClusterCredential{Token: bearer, ExpiresAt: until, Server: a.URL + c.Handle, CaPem: a.CAPEM}), nil
}

// CreateTicket implements hubv1connect.ClusterAPIHandler.
func (a *API) CreateTicket(ctx context.Context, r *connect.Request[hubv1.CreateClusterTicketRequest]) (*connect.Response[hubv1.ClusterTicket], error) {
	c, err := a.Cluster(ctx, r.Msg.GetCluster())
	if err != nil {
		return nil, err
	}
	ticket, until, err := a.Clusters.Ticket(ctx, a.Caller(ctx), c.Handle, r.Msg.GetPath())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.ClusterTicket{Ticket: ticket, ExpiresAt: until, Path: a.TicketPath}), nil
}

// query starts a request to a cluster.
func (a *API) query(ctx context.Context, source, cluster, path string, values url.Values) (Query, error) {
	c, err := a.Cluster(ctx, cluster)
	if err != nil {
		return Query{}, err
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	cut, _ := ctx.Value(cutKey{}).(func())
	return Query{Caller: a.Caller(ctx), Source: address.Host(source), Handle: c.Handle, Path: path, Cut: cut}, nil
}

// pathOf returns the path of objects, or of the one with a name, and puts the
// selectors into values.
func pathOf(o *hubv1.ClusterObjects, name string, values url.Values) (string, error) {
	if o.GetVersion() == "" || o.GetResource() == "" {
		return "", errcode.New(errcode.Invalid, "name the version and the resource, as v1 and pods")
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
	return path, nil
}

// ListObjects implements hubv1connect.ClusterAPIHandler.
func (a *API) ListObjects(ctx context.Context, r *connect.Request[hubv1.ListClusterObjectsRequest]) (*connect.Response[hubv1.ListClusterObjectsResponse], error) {
	values := url.Values{}
	if n := r.Msg.GetLimit(); n > 0 {
		values.Set("limit", strconv.FormatInt(n, 10))
	}
	if more := r.Msg.GetContinue(); more != "" {
		values.Set("continue", more)
	}
	path, err := pathOf(r.Msg.GetObjects(), r.Msg.GetName(), values)
	if err != nil {
		return nil, err
	}
	q, err := a.query(ctx, r.Peer().Addr, r.Msg.GetObjects().GetCluster(), path, values)
	if err != nil {
		return nil, err
	}
	q.Table = r.Msg.GetTable()
	if r.Msg.GetReveal() != "" && (r.Msg.GetName() == "" || !secrets(r.Msg.GetObjects())) {
		return nil, errcode.New(errcode.Invalid, "reveal is the key of one Secret: name it")
	}
	answer, err := a.Clusters.Do(ctx, q)
	if err != nil {
		return nil, err
	}
	text, err := masked(r.Msg.GetObjects(), answer.Text, r.Msg.GetReveal())
	if err != nil {
		return nil, err
	}
	page, err := pageOf(text)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(page), nil
}

// pageOf is a page of objects with where it ends.
func pageOf(text []byte) (*hubv1.ListClusterObjectsResponse, error) {
	var list struct {
		Metadata struct {
			Continue        string `json:"continue"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, errcode.New(errcode.Unavailable, "the cluster's answer is not JSON: %w", err)
	}
	return &hubv1.ListClusterObjectsResponse{Json: text, Continue: list.Metadata.Continue, ResourceVersion: list.Metadata.ResourceVersion}, nil
}

// WatchObjects implements hubv1connect.ClusterAPIHandler.
func (a *API) WatchObjects(ctx context.Context, r *connect.Request[hubv1.WatchClusterObjectsRequest], out *connect.ServerStream[hubv1.ClusterObjectEvent]) error {
	values := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}}
	if version := r.Msg.GetResourceVersion(); version != "" {
		values.Set("resourceVersion", version)
	}
	path, err := pathOf(r.Msg.GetObjects(), "", values)
	if err != nil {
		return err
	}
	q, err := a.query(ctx, r.Peer().Addr, r.Msg.GetObjects().GetCluster(), path, values)
	if err != nil {
		return err
	}
	q.Table = r.Msg.GetTable()
	// Send the headers at once: the first change may take long.
	if err := out.Send(nil); err != nil {
		return err
	}
	return a.Clusters.Watch(ctx, q, func(kind string, object []byte) error {
		object, err := masked(r.Msg.GetObjects(), object, "")
		if err != nil {
			return err
		}
		return out.Send(&hubv1.ClusterObjectEvent{Type: kind, Json: object})
	})
}
