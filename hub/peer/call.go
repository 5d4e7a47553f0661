package peer

import (
	"context"
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect"

	peerv1 "github.com/axle-cd/axle/api/peer/v1"
	"github.com/axle-cd/axle/api/peer/v1/peerv1connect"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// callLimit bounds one call to a replica.
const callLimit = 10 * time.Second

// Kicker is the part of the hub that fetches.
type Kicker interface {
	// KickOwned fetches a repository soon if this replica owns it, and
	// reports whether it does. commit, when set, satisfies the kick when it is
	// here already.
	KickOwned(ctx context.Context, repositoryID, commit string) (owned bool, err error)
}

// SeenTaker is the part of the hub that knows when clusters last polled.
type SeenTaker interface {
	// TakeSeen takes microseconds by cluster id from another replica.
	TakeSeen(ctx context.Context, replica string, polledAt map[string]int64)
}

// HandlerConfig is what answers other replicas. Clock may be nil.
type HandlerConfig struct {
	// Key is the hub's key derived for Purpose.
	Key    []byte
	Kicker Kicker
	Seen   SeenTaker
	Clock  clock.Clock
}

type handler struct {
	HandlerConfig
}

// NewHandler returns the path of the calls between replicas and what answers
// them.
func NewHandler(c HandlerConfig) (path string, _ http.Handler, err error) {
	if len(c.Key) == 0 || c.Kicker == nil || c.Seen == nil {
		return "", nil, errors.New("peer: a handler needs a key, a kicker and a taker of polls")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	path, calls := peerv1connect.NewPeerServiceHandler(handler{c}, connect.WithReadMaxBytes(maxBody))
	return path, Verify(c.Key, c.Clock, calls), nil
}

// Kick answers peerv1.PeerService.
func (h handler) Kick(ctx context.Context, r *connect.Request[peerv1.KickRequest]) (*connect.Response[peerv1.KickResponse], error) {
	owned, err := h.Kicker.KickOwned(ctx, r.Msg.RepositoryId, r.Msg.Commit)
	if err != nil {
		return nil, connect.NewError(connect.Code(errcode.RPCCode(errcode.Of(err))), errors.New(errcode.Message(err)))
	}
	return connect.NewResponse(&peerv1.KickResponse{NotOwner: !owned}), nil
}

// Seen answers peerv1.PeerService. The caller's name is the signed one.
func (h handler) Seen(ctx context.Context, r *connect.Request[peerv1.SeenRequest]) (*connect.Response[peerv1.SeenResponse], error) {
	at := make(map[string]int64, len(r.Msg.Clusters))
	for _, c := range r.Msg.Clusters {
		at[c.ClusterId] = c.PolledAt
	}
	h.HandlerConfig.Seen.TakeSeen(ctx, Caller(ctx), at)
	return connect.NewResponse(&peerv1.SeenResponse{}), nil
}

// ClientConfig is what calls other replicas. HTTP and Clock may be nil.
type ClientConfig struct {
	Key []byte
	// Replica is this replica's name.
	Replica string
	HTTP    http.RoundTripper
	Clock   clock.Clock
}

// Client calls other replicas.
type Client struct {
	http    *http.Client
	replica string
}

// NewClient returns a client; it makes no connection yet.
func NewClient(c ClientConfig) (*Client, error) {
	if len(c.Key) == 0 || c.Replica == "" {
		return nil, errors.New("peer: a client needs a key and this replica's name")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	return &Client{http: &http.Client{Transport: &Signer{Key: c.Key, Replica: c.Replica, Clock: c.Clock, Next: c.HTTP}}, replica: c.Replica}, nil
}

// HTTP returns the client that signs, for bytes beside the calls.
func (c *Client) HTTP() *http.Client { return c.http }

// Kick asks a replica to fetch a repository now and reports whether it owns it.
func (c *Client) Kick(ctx context.Context, to Replica, repositoryID, commit string) (owned bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	answer, err := c.service(to).Kick(ctx, connect.NewRequest(&peerv1.KickRequest{RepositoryId: repositoryID, Commit: commit}))
	if err != nil {
		return false, called(to, err)
	}
	return !answer.Msg.NotOwner, nil
}

// TellSeen tells a replica when clusters last polled here, in microseconds by
// cluster id.
func (c *Client) TellSeen(ctx context.Context, to Replica, polledAt map[string]int64) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	request := &peerv1.SeenRequest{Replica: c.replica}
	for id, at := range polledAt {
		request.Clusters = append(request.Clusters, &peerv1.ClusterSeen{ClusterId: id, PolledAt: at})
	}
	if _, err := c.service(to).Seen(ctx, connect.NewRequest(request)); err != nil {
		return called(to, err)
	}
	return nil
}

func (c *Client) service(to Replica) peerv1connect.PeerServiceClient {
	return peerv1connect.NewPeerServiceClient(c.http, to.URL)
}

// called gives an error of a call the code that the callee meant.
func called(to Replica, err error) error {
	return errcode.New(errcode.FromRPC(uint32(connect.CodeOf(err))), "replica %s: %w", to.Name, err)
}
