package identity

import (
	"context"
	"slices"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// keptBoots is how many past boots are remembered, to recognise one that
	// comes back.
	keptBoots = 8
	// bootTrusted is how long a boot counts as the current one without a read
	// of the database: another replica may have seen a newer one.
	bootTrusted = 10 * time.Minute
	// calmAfter is how long after the last conflict the problem is cleared.
	calmAfter = 15 * time.Minute
	// showAgain is how often a lasting conflict is recorded again.
	showAgain = 5 * time.Minute
)

type knownBoot struct {
	bootID string
	at     int64
}

// CheckBoot records the boot of a cluster's agent, without SQL while it does
// not change. Conflict when an earlier boot comes back: two agents use one
// identity. Edges call it with each report and ping.
func (d *Directory) CheckBoot(ctx context.Context, clusterID, bootID string) error {
	now := d.now()
	if known, ok := d.boots.Load(clusterID); ok {
		k := known.(knownBoot)
		if k.bootID == bootID && now-k.at < bootTrusted.Microseconds() {
			return nil
		}
	}
	if bootID == "" || len(bootID) > maxText {
		return errcode.New(errcode.Invalid, "the report has no boot id; an agent sends it with each report")
	}
	key, err := d.store.AgentKey(ctx, clusterID)
	if err != nil {
		return err
	}
	if err := d.noteBoot(ctx, key, bootID, now); err != nil {
		return err
	}
	d.boots.Store(clusterID, knownBoot{bootID, now})
	return nil
}

func (d *Directory) noteBoot(ctx context.Context, key AgentKey, bootID string, now int64) error {
	if err := key.conflict(bootID); err != nil {
		if now-key.ConflictAt < showAgain.Microseconds() {
			return errcode.New(errcode.Conflict, "%s", err.text)
		}
		return d.show(ctx, err)
	}
	calm := key.ConflictAt != 0 && now-key.ConflictAt > calmAfter.Microseconds()
	if key.BootID == bootID && !calm {
		return nil
	}
	err := d.writer.Write(ctx, func(ctx context.Context) error {
		key, err := d.store.AgentKey(ctx, key.ClusterID)
		if err != nil {
			return err
		}
		if calm {
			key.ConflictAt = 0
			if err := d.clusters.SetIdentityProblem(ctx, key.ClusterID, ""); err != nil {
				return err
			}
			if err := d.store.PutAgentKey(ctx, key); err != nil {
				return err
			}
		}
		_, err = d.shiftBoot(ctx, key, bootID)
		return err
	})
	if err != nil {
		return d.show(ctx, err)
	}
	return nil
}

// conflict returns a problem when the boot is one that later boots have replaced.
func (k AgentKey) conflict(bootID string) *problem {
	if k.BootID == bootID || !slices.Contains(k.PastBoots, bootID) {
		return nil
	}
	return &problem{k.ClusterID, "two agents use the identity of cluster " + k.ClusterName +
		" by turns; stop one of them, then restart the other"}
}

// shiftBoot makes the boot the current one, in the transaction of the context.
func (d *Directory) shiftBoot(ctx context.Context, key AgentKey, bootID string) (AgentKey, error) {
	if p := key.conflict(bootID); p != nil {
		return key, p
	}
	if key.BootID == bootID {
		return key, nil
	}
	key.PastBoots = append([]string{key.BootID}, key.PastBoots...)
	key.PastBoots = key.PastBoots[:min(len(key.PastBoots), keptBoots)]
	key.BootID = bootID
	return key, d.store.PutAgentKey(ctx, key)
}
