package agentkey

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// skew is how far an agent's clock may be off.
	skew = 10 * time.Minute
	// nonceBytes is the size of a nonce.
	nonceBytes = 16
	// keepNonces is how long nonces are remembered: an older request is refused
	// because of its time.
	keepNonces = 30 * time.Minute
)

// Renew trades a signed request for a new deploy token. Unauthorized when the
// signature, the time or the nonce is not valid; Conflict when two agents use
// one identity.
func (ks *Keys) Renew(ctx context.Context, r Renewal) (Renewed, error) {
	now := ks.now()
	key, err := ks.stores.Keys.AgentKey(ctx, r.ClusterID)
	if errcode.Is(err, errcode.NotFound) {
		return Renewed{}, errcode.New(errcode.Unauthorized, "the hub does not know this cluster, which may have been deleted; register the agent with a new bootstrap token")
	}
	if err != nil {
		return Renewed{}, err
	}
	if err := r.check(key, now); err != nil {
		return Renewed{}, ks.show(ctx, err)
	}
	var made identity.CreatedToken
	err = ks.writer.Write(ctx, func(ctx context.Context) error {
		if err := ks.stores.Keys.UseNonce(ctx, r.Nonce, now, now-keepNonces.Microseconds()); err != nil {
			if errcode.Is(err, errcode.Conflict) {
				return errcode.New(errcode.Unauthorized, "this renewal was used before; sign a new one")
			}
			return err
		}
		// Read again: another renewal may have committed meanwhile.
		key, err := ks.stores.Keys.AgentKey(ctx, r.ClusterID)
		if err != nil {
			return err
		}
		if _, err := ks.shiftBoot(ctx, key, r.BootID); err != nil {
			return err
		}
		made, err = ks.mintDeploy(ctx, key.ClusterID, key.ClusterName)
		return err
	})
	if err != nil {
		return Renewed{}, ks.show(ctx, err)
	}
	ks.credentials.Remember(made.Token)
	return ks.renewed(ctx, made)
}

func (ks *Keys) renewed(ctx context.Context, made identity.CreatedToken) (Renewed, error) {
	keys, signatures, err := ks.vouch(ctx)
	if err != nil {
		return Renewed{}, err
	}
	return Renewed{
		DeployToken: made.Secret, DeployTokenExpiresAt: made.ExpiresAt,
		SigningKeys: keys, Signature: signatures[0], More: signatures[1:],
	}, nil
}

// Refused records that an agent got a list, specs or a tarball that was not
// what the hub sent; what says which and from where, as the agent reported it.
func (ks *Keys) Refused(ctx context.Context, cluster identity.Principal, what string) error {
	return ks.writer.Write(ctx, func(ctx context.Context) error {
		return event.Record(ctx, event.Entry{Kind: "agent.refused", Object: "cluster " + cluster.Name, By: "agent of " + cluster.Name, Message: what})
	})
}

// check returns nil when the request is signed by the key and fresh. Nothing in
// it is trusted before the signature was verified.
func (r Renewal) check(key Key, now int64) error {
	message := "axle-renew\n" + r.ClusterID + "\n" + r.ClusterUID + "\n" + r.BootID + "\n" +
		strconv.FormatInt(r.At, 10) + "\n" + hex.EncodeToString(r.Nonce)
	if len(r.Nonce) != nonceBytes || !ed25519.Verify(key.PublicKey, []byte(message), r.Signature) {
		return errcode.New(errcode.Unauthorized, "the renewal is not signed by the key of cluster %s", key.ClusterName)
	}
	if off := r.At - now; off > skew.Microseconds() || -off > skew.Microseconds() {
		return errcode.New(errcode.Unauthorized, "the agent's clock is %s off the hub's; correct it (10 min are tolerated)",
			(time.Duration(off) * time.Microsecond).Round(time.Second))
	}
	if r.ClusterUID != key.ClusterUID {
		return &problem{key.ClusterID, "two clusters use one agent key: the key of cluster " + key.ClusterName +
			" was seen in another cluster; delete the agent's identity Secret there and register it again"}
	}
	return nil
}
