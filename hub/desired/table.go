package desired

import "github.com/axle-cd/axle/hub/fleet"

// table holds all entries. It is not safe for concurrent use; Index locks.
type table struct {
	services map[string]*entry
	clusters map[string]*cluster
	// words interns namespaces and similar texts, of which there are few.
	words map[string]string
}

func newTable() *table {
	return &table{services: map[string]*entry{}, clusters: map[string]*cluster{}, words: map[string]string{}}
}

func (t *table) intern(word string) string {
	if kept, ok := t.words[word]; ok {
		return kept
	}
	t.words[word] = word
	return word
}

// cluster returns a cluster's entry and creates it when there is none: feed
// rows of a service and of its cluster come in any order.
func (t *table) cluster(id string) *cluster {
	c := t.clusters[id]
	if c == nil {
		c = &cluster{id: id}
		t.clusters[id] = c
	}
	return c
}

func (t *table) putCluster(r fleet.ClusterRow) {
	c := t.cluster(r.ID)
	if !c.known || c.pending != r.Pending || c.destroying != r.Destroying || c.name != r.Name {
		c.known, c.pending, c.destroying, c.name, c.etag = true, r.Pending, r.Destroying, r.Name, ""
	}
}

func (t *table) dropCluster(id string) {
	c := t.clusters[id]
	if c == nil {
		return
	}
	for _, e := range c.entries {
		delete(t.services, e.id)
	}
	delete(t.clusters, id)
}

func (t *table) put(r fleet.Row, wait Wait) error {
	e, err := t.newEntry(r)
	if err != nil {
		return err
	}
	e.wait = wait
	if old := t.services[r.ID]; old != nil && old.cluster != e.cluster {
		old.cluster.remove(r.ID)
	}
	t.services[r.ID] = e
	e.cluster.put(e)
	return nil
}

func (t *table) drop(serviceID string) {
	if e := t.services[serviceID]; e != nil {
		delete(t.services, serviceID)
		e.cluster.remove(serviceID)
	}
}

// keepHistory takes over which tarballs each cluster was sent.
func (t *table) keepHistory(old *table) {
	for id, was := range old.clusters {
		if c := t.clusters[id]; c != nil {
			c.inherit(was)
		}
	}
}
