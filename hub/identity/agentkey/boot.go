package agentkey

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
func (ks *Keys) CheckBoot(ctx context.Context, clusterID, bootID string) error {
	now := ks.now()
	if known, ok := ks.boots.Load(clusterID); ok {
		k := known.(knownBoot)
		if k.bootID == bootID && now-k.at < bootTrusted.Microseconds() {
			return nil
		}
	}
	if bootID == "" || len(bootID) > maxText {
		return errcode.New(errcode.Invalid, "the report has no boot id; an agent sends it with each report")
	}
	key, err := ks.stores.Keys.AgentKey(ctx, clusterID)
	if err != nil {
		return err
	}
	if err := ks.noteBoot(ctx, key, bootID, now); err != nil {
		return err
	}
	ks.boots.Store(clusterID, knownBoot{bootID, now})
	return nil
}

func (ks *Keys) noteBoot(ctx context.Context, key Key, bootID string, now int64) error {
	if err := key.conflict(bootID); err != nil {
		if now-key.ConflictAt < showAgain.Microseconds() {
			return errcode.New(errcode.Conflict, "%s", err.text)
		}
		return ks.show(ctx, err)
	}
	calm := key.ConflictAt != 0 && now-key.ConflictAt > calmAfter.Microseconds()
	if key.BootID == bootID && !calm {
		return nil
	}
	err := ks.writer.Write(ctx, func(ctx context.Context) error {
		key, err := ks.stores.Keys.AgentKey(ctx, key.ClusterID)
		if err != nil {
			return err
		}
		if calm {
			key.ConflictAt = 0
			if err := ks.clusters.SetIdentityProblem(ctx, key.ClusterID, ""); err != nil {
				return err
			}
			if err := ks.stores.Keys.PutAgentKey(ctx, key); err != nil {
				return err
			}
		}
		_, err = ks.shiftBoot(ctx, key, bootID)
		return err
	})
	if err != nil {
		return ks.show(ctx, err)
	}
	return nil
}

// conflict returns a problem when the boot is one that later boots have replaced.
func (k Key) conflict(bootID string) *problem {
	if k.BootID == bootID || !slices.Contains(k.PastBoots, bootID) {
		return nil
	}
	return &problem{k.ClusterID, "two agents use the identity of cluster " + k.ClusterName +
		" by turns; stop one of them, then restart the other"}
}

// shiftBoot makes the boot the current one, in the transaction of the context.
func (ks *Keys) shiftBoot(ctx context.Context, key Key, bootID string) (Key, error) {
	if p := key.conflict(bootID); p != nil {
		return key, p
	}
	if key.BootID == bootID {
		return key, nil
	}
	key.PastBoots = append([]string{key.BootID}, key.PastBoots...)
	key.PastBoots = key.PastBoots[:min(len(key.PastBoots), keptBoots)]
	key.BootID = bootID
	return key, ks.stores.Keys.PutAgentKey(ctx, key)
}
