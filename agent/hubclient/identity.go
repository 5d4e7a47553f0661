package hubclient

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/bootstrap"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	registerPrefix = "axle-register\n"
	renewPrefix    = "axle-renew\n"
	keysPrefix     = "axle-signing-keys\n"
)

// Register exchanges a bootstrap token for an identity, proves possession of the key,
// and uses the answer's cluster, token and signing keys. If the token names the hub's
// key, keys are accepted only from that hub; otherwise the first keys received are
// trusted. After a lost answer the same key may register again with the same token.
// Invalid if the token is damaged.
func (c *Client) Register(ctx context.Context, token string, key ed25519.PrivateKey, r *agentv1.RegisterRequest) (*agentv1.RegisterResponse, error) {
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return nil, errcode.New(errcode.Internal, "the agent's key is not an Ed25519 key")
	}
	secret, hub, err := bootstrap.Split(token)
	if err != nil {
		return nil, err
	}
	r.PublicKey = public
	r.Proof = ed25519.Sign(key, []byte(registerPrefix+r.GetClusterUid()+"\n"+r.GetBootId()))
	answer, err := call(context.WithValue(ctx, bearerKey{}, secret), c, c.calls().Register, r)
	if err != nil {
		return nil, err
	}
	keys := Keys(answer.GetSigningKeys())
	if answer.GetClusterId() == "" || answer.GetDeployToken() == "" || len(keys) == 0 {
		return nil, hold(NotTheHub, 0, errcode.Internal, "the hub registered this cluster without naming it, its token or a signing key; look at the hub's log")
	}
	if hub != nil && !named(hub, answer) {
		return nil, hold(Untrusted, 0, errcode.Forbidden, "the received signing keys are not those of the hub that made the bootstrap token: somebody in between answers in its place, or the hub was rebuilt since; check the proxies on the way to the hub, and create a new token")
	}
	c.mu.Lock()
	c.clusterID, c.keys = answer.GetClusterId(), keys
	c.mu.Unlock()
	c.SetToken(answer.GetDeployToken())
	return answer, nil
}

// named reports whether the key that a bootstrap token names is the only one
// received, or signed all others: it may have been replaced since.
func named(hub ed25519.PublicKey, answer *agentv1.RegisterResponse) bool {
	keys := answer.GetSigningKeys()
	if !slices.ContainsFunc(keys, func(k *agentv1.SigningKey) bool { return !hub.Equal(ed25519.PublicKey(k.GetPublicKey())) }) {
		return true
	}
	payload := keysPayload(keys)
	return ed25519.Verify(hub, payload, answer.GetSigningKeysSignature()) ||
		slices.ContainsFunc(answer.GetMoreSignatures(), func(s *agentv1.KeySignature) bool { return ed25519.Verify(hub, payload, s.GetSignature()) })
}

// Renewal identifies the agent that renews.
type Renewal struct {
	ClusterID, ClusterUID, BootID string
	Key                           ed25519.PrivateKey
}

// Renewed is a new token and the present keys.
type Renewed struct {
	Token     string
	ExpiresAt int64
	// Keys are all signing keys to pin from now on.
	Keys map[string]ed25519.PublicKey
}

// Renew exchanges a signed request for a new deploy token and uses it. It needs no
// valid token, so a cluster that was off for months can return. Conflict means that
// another agent uses this identity, or that its cluster has another uid. New signing
// keys are accepted only if a pinned key signed them.
func (c *Client) Renew(ctx context.Context, w Renewal) (Renewed, error) {
	var answer *agentv1.RenewResponse
	err := c.retry(ctx, func(ctx context.Context) error {
		// Each attempt has its own nonce: the hub accepts each only once.
		skew := c.Skew()
		got, err := c.calls().Renew(ctx, connect.NewRequest(c.renewal(w)))
		if err != nil && c.Skew() != skew {
			// The refusal carried the hub's time: our clock is wrong.
			got, err = c.calls().Renew(ctx, connect.NewRequest(c.renewal(w)))
		}
		if err != nil {
			return explain(err)
		}
		answer = got.Msg
		return nil
	})
	if err != nil {
		return Renewed{}, err
	}
	if answer.GetDeployToken() == "" {
		return Renewed{}, hold(NotTheHub, 0, errcode.Internal, "the hub renewed the token without giving one; look at the hub's log")
	}
	keys, err := c.takeKeys(answer)
	if err != nil {
		return Renewed{}, err
	}
	c.SetToken(answer.GetDeployToken())
	return Renewed{answer.GetDeployToken(), answer.GetDeployTokenExpiresAt(), keys}, nil
}

func (c *Client) renewal(w Renewal) *agentv1.RenewRequest {
	r := &agentv1.RenewRequest{
		ClusterId: w.ClusterID, ClusterUid: w.ClusterUID, BootId: w.BootID,
		At: c.clock.Now().Add(c.Skew()).UnixMicro(), Nonce: make([]byte, 16),
	}
	rand.Read(r.Nonce)
	r.Signature = ed25519.Sign(w.Key, []byte(renewPrefix+r.GetClusterId()+"\n"+r.GetClusterUid()+"\n"+r.GetBootId()+"\n"+
		strconv.FormatInt(r.GetAt(), 10)+"\n"+hex.EncodeToString(r.GetNonce())))
	return r
}

func (c *Client) takeKeys(answer *agentv1.RenewResponse) (map[string]ed25519.PublicKey, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(answer.GetSigningKeys()) == 0 {
		return maps.Clone(c.keys), nil
	}
	if !c.vouched(answer) {
		return nil, hold(Untrusted, 0, errcode.Forbidden, "the hub's new signing keys are not signed by a key that this agent has; if the hub was rebuilt, register the cluster again")
	}
	c.keys = Keys(answer.GetSigningKeys())
	return maps.Clone(c.keys), nil
}

// vouched reports whether a pinned key signed the new keys. The hub sends one
// signature by each key that agents may have.
func (c *Client) vouched(answer *agentv1.RenewResponse) bool {
	payload := keysPayload(answer.GetSigningKeys())
	good := func(keyID string, signature []byte) bool {
		key := c.keys[keyID]
		return len(key) == ed25519.PublicKeySize && ed25519.Verify(key, payload, signature)
	}
	return good(answer.GetSigningKeysSignedBy(), answer.GetSigningKeysSignature()) ||
		slices.ContainsFunc(answer.GetMoreSignatures(), func(s *agentv1.KeySignature) bool { return good(s.GetKeyId(), s.GetSignature()) })
}

// keysPayload is the signed content when keys are rotated: the prefix, then a line
// "<id> <hex key>" for each key in the given order.
func keysPayload(keys []*agentv1.SigningKey) []byte {
	payload := []byte(keysPrefix)
	for _, k := range keys {
		payload = append(payload, k.GetId()...)
		payload = append(payload, ' ')
		payload = hex.AppendEncode(payload, k.GetPublicKey())
		payload = append(payload, '\n')
	}
	return payload
}

// Keys parses signing keys and leaves out those that are not Ed25519 keys.
func Keys(list []*agentv1.SigningKey) map[string]ed25519.PublicKey {
	keys := map[string]ed25519.PublicKey{}
	for _, k := range list {
		if len(k.GetPublicKey()) == ed25519.PublicKeySize {
			keys[k.GetId()] = k.GetPublicKey()
		}
	}
	return keys
}
