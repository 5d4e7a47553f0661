package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"sync"

	"github.com/axle-cd/axle/hub/event"
)

// statusHashDigits is how much of the hash is sent: it only has to notice a
// loss, twice in a row.
const statusHashDigits = 16

// hashStatuses returns the hash over a cluster's stored statuses, by service
// id: hex SHA-256 over "<service id> <hash>\n" in order of id, first 16 digits.
// No statuses have the empty hash, so an agent that reported some notices a hub
// that lost all.
func hashStatuses(hashes map[string]string) string {
	if len(hashes) == 0 {
		return ""
	}
	h := sha256.New()
	for _, id := range slices.Sorted(maps.Keys(hashes)) {
		h.Write([]byte(id + " " + hashes[id] + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil))[:statusHashDigits]
}

// statusHashes holds one hash a cluster for the answer to each poll.
type statusHashes struct {
	mu     sync.RWMutex
	hashes map[string]string
}

func (x *statusHashes) get(clusterID string) string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.hashes[clusterID]
}

func (x *statusHashes) set(clusterID, hash string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.hashes == nil {
		x.hashes = map[string]string{}
	}
	x.hashes[clusterID] = hash
}

func (x *statusHashes) forget(clusterID string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.hashes, clusterID)
}

// StatusHash returns the hash over a cluster's stored statuses, from memory:
// hex SHA-256 over "<service id> <hash>\n" in order of id, first 16 digits;
// empty when nothing is stored.
func (f *Fleet) StatusHash(clusterID string) string { return f.hashes.get(clusterID) }

// Rebuild loads the hashes of all clusters; see event.Subscriber.
func (f *Fleet) Rebuild(ctx context.Context) error {
	byCluster := map[string]map[string]string{}
	err := f.store.EachStatusHash(ctx, func(clusterID, serviceID, hash string) error {
		if byCluster[clusterID] == nil {
			byCluster[clusterID] = map[string]string{}
		}
		byCluster[clusterID][serviceID] = hash
		return nil
	})
	if err != nil {
		return err
	}
	hashes := make(map[string]string, len(byCluster))
	for id, statuses := range byCluster {
		hashes[id] = hashStatuses(statuses)
	}
	f.hashes.mu.Lock()
	defer f.hashes.mu.Unlock()
	f.hashes.hashes = hashes
	return nil
}

// Apply reads the hashes of clusters with reports again; see event.Subscriber.
func (f *Fleet) Apply(ctx context.Context, rows []event.Row) error {
	seen := map[string]bool{}
	for _, row := range rows {
		if row.Kind != event.KindReport || seen[row.Cluster] {
			continue
		}
		seen[row.Cluster] = true
		hashes, err := f.store.StatusHashes(ctx, row.Cluster)
		if err != nil {
			return err
		}
		f.hashes.set(row.Cluster, hashStatuses(hashes))
	}
	return nil
}
