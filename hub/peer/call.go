package peer

import (
	"context"
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect"

	peerv1 "github.com/axle-cd/axle/api/peer/v1"
	"github.com/axle-cd/axle/api/peer/v1/peerv1connect"
	"github.com/axle-cd/axle/internal/boundedcall"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// callLimit limits a call whose answer needs little work.
	callLimit = 10 * time.Second
	// kickLimit limits a kick without a waiter: a replica that does not answer
	// in this time finds it in the database.
	kickLimit = 3 * time.Second
	// waitLimit limits a call that waits for a fetch, or for the end of one.
	waitLimit = 5 * time.Minute
)

// ClientConfig holds a Client's dependencies. HTTP and Clock may be nil.
type ClientConfig struct {
	Key []byte
	// Replica is this replica's name.
	Replica string
	HTTP    http.RoundTripper
	Clock   clock.Clock
}

// Client calls other replicas. Every call has a deadline, its caller's or its
// own, which is sent to the callee.
type Client struct {
	http    *http.Client
	replica string
}

// NewClient returns a client; it opens no connection yet.
func NewClient(c ClientConfig) (*Client, error) {
	if len(c.Key) == 0 || c.Replica == "" {
		return nil, errors.New("peer: a client needs a key and this replica's name")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	return &Client{http: &http.Client{Transport: &Signer{Key: c.Key, Replica: c.Replica, Clock: c.Clock, Next: c.HTTP}}, replica: c.Replica}, nil
}

// HTTP returns the signing HTTP client, for byte streams.
func (c *Client) HTTP() *http.Client { return c.http }

// Kick requests a fetch of a repository and reports whether the replica owns
// it. With wait it returns when a fetch that began after the call has ended.
func (c *Client) Kick(ctx context.Context, to Replica, repositoryID, commit string, wait bool) (owned bool, err error) {
	limit := kickLimit
	if wait {
		limit = waitLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := c.service(to).Kick(ctx, connect.NewRequest(&peerv1.KickRequest{RepositoryId: repositoryID, Commit: commit, Wait: wait}))
	if err != nil {
		return false, called(to, err)
	}
	return !answer.Msg.NotOwner, nil
}

// Resolve asks a replica what a source of a repository points at, if it owns
// the repository. Source and head are the caller's JSON.
func (c *Client) Resolve(ctx context.Context, to Replica, repositoryID string, source []byte) (head []byte, owned bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	answer, err := c.service(to).Resolve(ctx, connect.NewRequest(&peerv1.ResolveRequest{RepositoryId: repositoryID, Source: source}))
	if err != nil {
		return nil, false, called(to, err)
	}
	return answer.Msg.Head, !answer.Msg.NotOwner, nil
}

// HandOver asks a replica to stop its work on a repository and to release its
// lease. refs is the hash of its last refs.
func (c *Client) HandOver(ctx context.Context, to Replica, repositoryID string) (refs string, owned bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	answer, err := c.service(to).HandOver(ctx, connect.NewRequest(&peerv1.HandOverRequest{RepositoryId: repositoryID}))
	if err != nil {
		return "", false, called(to, err)
	}
	return answer.Msg.Refs, !answer.Msg.NotOwner, nil
}

// Follow notifies a replica that there is something new to copy.
func (c *Client) Follow(ctx context.Context, to Replica, repositoryID string) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if _, err := c.service(to).Follow(ctx, connect.NewRequest(&peerv1.FollowRequest{RepositoryId: repositoryID})); err != nil {
		return called(to, err)
	}
	return nil
}

// Condition returns a replica's state. The caller's context limits it.
func (c *Client) Condition(ctx context.Context, to Replica) (out Condition, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	answer, err := c.service(to).Condition(ctx, connect.NewRequest(&peerv1.ConditionRequest{}))
	if err != nil {
		return out, called(to, err)
	}
	out.Position.Incarnation, out.Position.Sequence = answer.Msg.Incarnation, answer.Msg.Sequence
	out.FeedAge = time.Duration(answer.Msg.FeedAgeMicros) * time.Microsecond
	return out, nil
}

// TellSeen sends a replica when clusters last polled here, in microseconds by
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
	return peerv1connect.NewPeerServiceClient(c.http, to.URL, boundedcall.Client(maxBody))
}

// errUnanswered marks errors of calls that the callee did not answer.
var errUnanswered = errors.New("no answer")

// Unanswered reports whether a call failed without an answer from the callee:
// it is down, hangs, or does not know this hub's key.
func Unanswered(err error) bool { return errors.Is(err, errUnanswered) }

// called restores the code and the message of the callee's error.
func called(to Replica, err error) error {
	code := errcode.FromRPC(uint32(connect.CodeOf(err)))
	var answer *connect.Error
	if connect.IsWireError(err) && errors.As(err, &answer) {
		return errcode.New(code, "%s", answer.Message())
	}
	return errcode.Hide(code, errors.Join(errUnanswered, err), "replica %s did not answer: %v", to.Name, err)
}
