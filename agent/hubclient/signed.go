package hubclient

import (
	"context"
	"crypto/ed25519"
	"strings"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

// servicesPrefix prevents a signature of specs from being valid for anything else.
const servicesPrefix = "axle-services\n"

// refusedHeader reports to the hub, with a poll, what was rejected.
const refusedHeader = "Axle-Refused"

// maxRefused bounds that report, in bytes.
const maxRefused = 300

// checkSignature returns nil if a pinned key, or one of others, signed the payload.
// what is used in the error.
func (c *Client) checkSignature(what, keyID string, others map[string]ed25519.PublicKey, prefix string, payload, signature []byte) error {
	c.mu.Lock()
	key, pinned := c.keys[keyID]
	c.mu.Unlock()
	if !pinned {
		key = others[keyID]
	}
	if len(key) != ed25519.PublicKeySize {
		return c.refuse(hold(UnknownKey, 0, errcode.Forbidden,
			"%s refused: signed by key %.40q, which this agent does not have; if the hub was rebuilt, register the cluster again; otherwise something between the agent and the hub altered it", what, keyID))
	}
	if !ed25519.Verify(key, append([]byte(prefix), payload...), signature) {
		return c.refuse(hold(Untrusted, 0, errcode.Forbidden,
			"%s refused: the signature by key %.40s is wrong; something between the agent and the hub altered it", what, keyID))
	}
	return nil
}

// forCluster is what the hub signs for one cluster.
type forCluster interface {
	proto.Message
	GetClusterId() string
}

// open decodes a payload that a pinned key, or one of others, signed for this cluster. what is
// used in errors, and limit is of bytes.
func (c *Client) open(what, keyID string, others map[string]ed25519.PublicKey, prefix string, payload, signature []byte, limit int, into forCluster) error {
	if err := c.checkSignature(what, keyID, others, prefix, payload, signature); err != nil {
		return err
	}
	if err := bounded.Proto(payload, into, bounded.Most(limit)); err != nil {
		return hold(Untrusted, 0, errcode.Internal, "the signed %s cannot be read: %w", what, err)
	}
	c.mu.Lock()
	cluster := c.clusterID
	c.mu.Unlock()
	if into.GetClusterId() != cluster {
		return c.refuse(hold(Untrusted, 0, errcode.Forbidden, "%s refused: signed for cluster %.80q, but this is %.80q", what, into.GetClusterId(), cluster))
	}
	return nil
}

// refuse remembers the rejection for the next poll.
func (c *Client) refuse(err *AnswerError) error {
	c.Refused(err.Error())
	return err
}

// Refused makes the next poll report what this agent rejected, and from where it
// came: people who look at the hub should see it.
func (c *Client) Refused(what string) {
	what = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, what)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = what[:min(len(what), maxRefused)]
}

// told forgets a rejection that the hub acknowledged.
func (c *Client) told(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == what {
		c.refused = ""
	}
}

// Services returns the specs of some of this cluster's services, signed by a pinned
// key. The answer may be newer than the list that named them, but never older than
// what was known when the request was sent.
func (c *Client) Services(ctx context.Context, ids []string) (*agentv1.ServicesResponse, error) {
	asked := c.Seen()
	outer, err := call(ctx, c, c.calls().Services, &agentv1.ServicesRequest{Ids: ids, Signed: true})
	if err != nil {
		return nil, err
	}
	var inner agentv1.ServicesResponse
	if err := c.open("specs", outer.GetKeyId(), nil, servicesPrefix, outer.GetSigned(), outer.GetSignature(), maxAnswer, &inner); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := positionOf(inner.GetPosition()); at.Incarnation == c.seen.Incarnation {
		if err := c.keep(at, asked); err != nil {
			return nil, err
		}
	}
	return &inner, nil
}

// childPrefix is as servicesPrefix, for a cluster that is connected.
const childPrefix = "axle-child\n"

// EnrollChild returns what connects a cluster that a service of this one makes, or one that
// was found here, signed by a pinned key.
func (c *Client) EnrollChild(ctx context.Context, r *agentv1.EnrollChildRequest) (*agentv1.Child, error) {
	outer, err := call(ctx, c, c.calls().EnrollChild, r)
	if err != nil {
		return nil, err
	}
	var child agentv1.Child
	if err := c.open("enrollment", outer.GetKeyId(), nil, childPrefix, outer.GetChild(), outer.GetSignature(), maxAnswer, &child); err != nil {
		return nil, err
	}
	if child.GetServiceId() != r.GetServiceId() || child.GetUid() != r.GetFound().GetUid() {
		return nil, c.refuse(hold(Untrusted, 0, errcode.Forbidden, "enrollment refused: it is for service %.80q, cluster %.80q, and not for %.80q, %.80q", child.GetServiceId(), child.GetUid(), r.GetServiceId(), r.GetFound().GetUid()))
	}
	return &child, nil
}
