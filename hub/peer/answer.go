package peer

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"

	peerv1 "github.com/axle-cd/axle/api/peer/v1"
	"github.com/axle-cd/axle/api/peer/v1/peerv1connect"
	"github.com/axle-cd/axle/internal/boundedcall"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// Owner is the part of the hub that owns repositories. Its methods act only on
// this replica, because a call was already forwarded once.
type Owner interface {
	// KickOwned fetches a repository soon if this replica owns it, and reports
	// whether it does. commit, when set, satisfies the kick if it is already
	// here. With wait it returns when a fetch that began after the call has
	// ended, with its error.
	KickOwned(ctx context.Context, repositoryID, commit string, wait bool) (owned bool, err error)
	// ResolveOwned evaluates a source, both as JSON, if this replica owns its
	// repository.
	ResolveOwned(ctx context.Context, repositoryID string, source []byte) (head []byte, owned bool, err error)
	// HandOver ends this replica's work on a repository, releases its lease and
	// returns the hash of its refs, if the caller is to own it.
	HandOver(ctx context.Context, repositoryID, caller string) (refs string, epoch int64, owned bool, err error)
	// FollowNow copies what the owner of a repository has now, soon.
	FollowNow(repositoryID string)
}

// SeenTaker is the part of the hub that knows when clusters last polled.
type SeenTaker interface {
	// TakeSeen records times in microseconds by cluster id from another
	// replica.
	TakeSeen(ctx context.Context, replica string, polledAt map[string]int64)
}

// HandlerConfig holds the dependencies of the handler. Clock may be nil.
type HandlerConfig struct {
	// Key is the hub's key derived for Purpose.
	Key   []byte
	Owner Owner
	Seen  SeenTaker
	// Mirrors gives copies of repositories; nil gives none.
	Mirrors Mirrors
	// Condition returns the state of this replica; nil reports nothing.
	Condition func() Condition
	Clock     clock.Clock
}

type handler struct {
	HandlerConfig
}

// Path is the prefix of the byte streams between replicas; the RPCs have a
// separate path, which NewHandler returns.
const Path = "/peer/v1/"

// NewHandler returns the path of the RPCs between replicas and their handler,
// which also serves the byte streams below Path.
func NewHandler(c HandlerConfig) (path string, _ http.Handler, err error) {
	if len(c.Key) == 0 || c.Owner == nil || c.Seen == nil {
		return "", nil, errors.New("peer: a handler needs a key, an owner and a taker of polls")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Condition == nil {
		c.Condition = func() Condition { return Condition{} }
	}
	h := handler{c}
	mux := http.NewServeMux()
	path, calls := peerv1connect.NewPeerServiceHandler(h, boundedcall.Handler(maxBody))
	mux.Handle(path, boundedcall.Serve(calls, maxBody))
	if c.Mirrors != nil {
		mux.HandleFunc("POST "+mirrorPath+"{repository}", h.serveMirror)
	}
	return path, Verify(c.Key, c.Clock, mux), nil
}

// coded keeps the code of an error for the caller.
func coded(err error) error {
	return connect.NewError(connect.Code(errcode.RPCCode(errcode.Of(err))), errors.New(errcode.Message(err)))
}

// Kick answers peerv1.PeerService.
func (h handler) Kick(ctx context.Context, r *connect.Request[peerv1.KickRequest]) (*connect.Response[peerv1.KickResponse], error) {
	owned, err := h.Owner.KickOwned(ctx, r.Msg.RepositoryId, r.Msg.Commit, r.Msg.Wait)
	if err != nil {
		return nil, coded(err)
	}
	return connect.NewResponse(&peerv1.KickResponse{NotOwner: !owned}), nil
}

// Resolve answers peerv1.PeerService.
func (h handler) Resolve(ctx context.Context, r *connect.Request[peerv1.ResolveRequest]) (*connect.Response[peerv1.ResolveResponse], error) {
	head, owned, err := h.Owner.ResolveOwned(ctx, r.Msg.RepositoryId, r.Msg.Source)
	if err != nil {
		return nil, coded(err)
	}
	return connect.NewResponse(&peerv1.ResolveResponse{NotOwner: !owned, Head: head}), nil
}

// HandOver answers peerv1.PeerService. The caller's name is the signed one.
func (h handler) HandOver(ctx context.Context, r *connect.Request[peerv1.HandOverRequest]) (*connect.Response[peerv1.HandOverResponse], error) {
	refs, epoch, owned, err := h.Owner.HandOver(ctx, r.Msg.RepositoryId, Caller(ctx))
	if err != nil {
		return nil, coded(err)
	}
	return connect.NewResponse(&peerv1.HandOverResponse{NotOwner: !owned, Epoch: epoch, Refs: refs}), nil
}

// Follow answers peerv1.PeerService.
func (h handler) Follow(_ context.Context, r *connect.Request[peerv1.FollowRequest]) (*connect.Response[peerv1.FollowResponse], error) {
	h.Owner.FollowNow(r.Msg.RepositoryId)
	return connect.NewResponse(&peerv1.FollowResponse{}), nil
}

// Condition answers peerv1.PeerService.
func (h handler) Condition(context.Context, *connect.Request[peerv1.ConditionRequest]) (*connect.Response[peerv1.ConditionResponse], error) {
	c := h.HandlerConfig.Condition()
	return connect.NewResponse(&peerv1.ConditionResponse{Incarnation: c.Position.Incarnation, Sequence: c.Position.Sequence, FeedAgeMicros: c.FeedAge.Microseconds()}), nil
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
