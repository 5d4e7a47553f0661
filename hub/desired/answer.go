package desired

import (
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

// ETag returns the etag of a cluster's current list. NotFound when there is no
// such cluster, Unavailable while the index is incomplete.
func (x *Index) ETag(clusterID string) (string, error) {
	_, l, err := x.place()
	if err != nil {
		return "", err
	}
	x.mu.RLock()
	c, err := x.known(clusterID)
	if err == nil && c.etag != "" && c.life == l {
		etag := c.etag
		x.mu.RUnlock()
		return etag, nil
	}
	x.mu.RUnlock()
	if err != nil {
		return "", err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if c, err = x.known(clusterID); err != nil {
		return "", err
	}
	c.refresh(l)
	return c.etag, nil
}

// For returns a cluster's list. Errors are those of ETag.
func (x *Index) For(clusterID string) (List, error) {
	at, l, err := x.place()
	if err != nil {
		return List{}, err
	}
	incarnation := x.feed.Incarnation()
	x.mu.Lock()
	defer x.mu.Unlock()
	c, err := x.known(clusterID)
	if err != nil {
		return List{}, err
	}
	c.refresh(l)
	c.give()
	list := List{
		ClusterID: c.id, ClusterName: c.name, ETag: c.etag, Pending: c.pending, Destroying: c.destroying,
		Position: at, Incarnation: incarnation, Former: c.former,
	}
	if c.pending {
		return list, nil
	}
	list.Services = make([]Service, 0, len(c.entries))
	for _, e := range c.entries {
		if e.mode != "" {
			list.Tombstones = append(list.Tombstones, Tombstone{ServiceID: e.id, TombstoneID: e.tombstoneID, Mode: e.mode, Name: e.name, Namespace: e.namespace})
			continue
		}
		list.Services = append(list.Services, Service{
			ID: e.id, Name: e.name, Namespace: e.namespace,
			TarballDigest: e.tarball.String(), TarballBytes: e.bytes, SpecDigest: e.spec.String(), Paused: e.paused || c.destroying, Parts: e.partList(), Wait: e.wait.under(l),
		})
	}
	return list, nil
}

// partList returns the parts of a service for a list.
func (e *entry) partList() []Part {
	if len(e.parts) == 0 {
		return nil
	}
	parts := make([]Part, len(e.parts))
	for i, p := range e.parts {
		parts[i] = Part{Path: p.path, Digest: p.tarball.String(), Entry: p.entry, Bytes: p.bytes, Name: p.name}
	}
	return parts
}

// MayFetch reports whether a tarball is in the cluster's current list, or in
// one of the previous 3 lists.
func (x *Index) MayFetch(clusterID, digest string) bool {
	s, err := packSum(digest)
	if err != nil || s == (sum{}) {
		return false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	c, err := x.known(clusterID)
	return err == nil && !c.pending && c.has(s)
}

// Pending reports whether a cluster waits for a person's approval. Errors are
// those of ETag.
func (x *Index) Pending(clusterID string) (bool, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	c, err := x.known(clusterID)
	if err != nil {
		return false, err
	}
	return c.pending, nil
}

// place reads this replica's position before any entry is read, so that a list
// can only be newer than its position.
func (x *Index) place() (event.Position, life, error) {
	at, incarnation := x.feed.Position(), x.feed.Incarnation()
	if at.Incarnation != incarnation.ID {
		return event.Position{}, life{}, errLoading
	}
	return at, life{incarnation.ID, incarnation.Confirmed}, nil
}

func (x *Index) known(clusterID string) (*cluster, error) {
	if x.table == nil {
		return nil, errLoading
	}
	c := x.table.clusters[clusterID]
	if c == nil || !c.known {
		return nil, errcode.New(errcode.NotFound, "cluster %s is not known here; it may have been deleted", clusterID)
	}
	return c, nil
}

// refresh computes the etag again when an entry changed.
func (c *cluster) refresh(l life) {
	if c.etag != "" && c.life == l {
		return
	}
	c.etag, c.life = c.makeETag(l), l
}
