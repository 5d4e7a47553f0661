package identity

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/axle-cd/axle/hub/event"
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
func (d *Directory) Renew(ctx context.Context, r Renewal) (Renewed, error) {
	now := d.now()
	key, err := d.store.AgentKey(ctx, r.ClusterID)
	if errcode.Is(err, errcode.NotFound) {
		return Renewed{}, errcode.New(errcode.Unauthorized, "the hub does not know this cluster, which may have been deleted; register the agent with a new bootstrap token")
	}
	if err != nil {
		return Renewed{}, err
	}
	if err := r.check(key, now); err != nil {
		return Renewed{}, d.show(ctx, err)
	}
	var made CreatedToken
	err = d.writer.Write(ctx, func(ctx context.Context) error {
		if err := d.store.UseNonce(ctx, r.Nonce, now, now-keepNonces.Microseconds()); err != nil {
			if errcode.Is(err, errcode.Conflict) {
				return errcode.New(errcode.Unauthorized, "this renewal was used before; sign a new one")
			}
			return err
		}
		// Read again: another renewal may have committed meanwhile.
		key, err := d.store.AgentKey(ctx, r.ClusterID)
		if err != nil {
			return err
		}
		if _, err := d.shiftBoot(ctx, key, r.BootID); err != nil {
			return err
		}
		made, err = d.mintDeploy(ctx, key.ClusterID, key.ClusterName)
		return err
	})
	if err != nil {
		return Renewed{}, d.show(ctx, err)
	}
	d.tokens.put(made.Token)
	return d.renewed(ctx, made)
}

func (d *Directory) renewed(ctx context.Context, made CreatedToken) (Renewed, error) {
	keys, signatures, err := d.vouch(ctx)
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
func (d *Directory) Refused(ctx context.Context, cluster Principal, what string) error {
	return d.writer.Write(ctx, func(ctx context.Context) error {
		return event.Record(ctx, event.Entry{Kind: "agent.refused", Object: "cluster " + cluster.Name, By: "agent of " + cluster.Name, Message: what})
	})
}

// check returns nil when the request is signed by the key and fresh. Nothing in
// it is trusted before the signature was verified.
func (r Renewal) check(key AgentKey, now int64) error {
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
