package desired

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
)

// The prefixes of the digests that entries hold, by the first byte of a sum.
var prefixes = []string{"", "axle1:", "s1:"}

// sum is a digest in 33 bytes in place of about 90: the number of its prefix
// and its 32 bytes. The zero value is no digest.
type sum [33]byte

func packSum(text string) (sum, error) {
	var s sum
	if text == "" {
		return s, nil
	}
	for i, prefix := range prefixes[1:] {
		if rest, ok := strings.CutPrefix(text, prefix); ok && len(rest) == 64 {
			s[0] = byte(i + 1)
			if _, err := hex.Decode(s[1:], []byte(rest)); err != nil {
				return sum{}, fmt.Errorf("digest %.80q: %w", text, err)
			}
			return s, nil
		}
	}
	return s, fmt.Errorf("digest %.80q has a form that this version does not know", text)
}

func (s sum) String() string {
	if s == (sum{}) {
		return ""
	}
	return prefixes[s[0]] + hex.EncodeToString(s[1:])
}

// entry is one service.
type entry struct {
	id, name, namespace string
	cluster             *cluster
	tombstoneID         string
	mode                string
	bytes               int64
	tarball, spec       sum
	paused              bool
	// parts are the tarballs of a service that is made of several, the one of
	// tarball among them; nil for most.
	parts []part
}

// part is one tarball of a service.
type part struct {
	path, entry, name string
	bytes             int64
	tarball           sum
}

// holds reports whether the service has a tarball.
func (e *entry) holds(s sum) bool {
	return e.mode == "" && (e.tarball == s || slices.ContainsFunc(e.parts, func(p part) bool { return p.tarball == s }))
}

// cluster is one cluster with its entries in order of id.
type cluster struct {
	id, name string
	// known is false while only a service named it.
	known   bool
	pending bool
	entries []*entry

	// etag is empty when it has to be made again; life is the incarnation it
	// was made for, given the etag of the list last given out.
	etag  string
	life  life
	given string
	// generation counts the lists given out; served are the tarballs of the
	// last, dropped those of the 3 before that are not in it.
	generation uint32
	served     []sum
	dropped    []droppedSum
}

// life is what of an incarnation an agent must hear of.
type life struct {
	id        string
	confirmed bool
}

// droppedSum is a tarball and the last list that had it.
type droppedSum struct {
	sum  sum
	last uint32
}

func (c *cluster) find(id string) (int, bool) {
	return slices.BinarySearchFunc(c.entries, id, func(e *entry, id string) int { return strings.Compare(e.id, id) })
}

func (c *cluster) put(e *entry) {
	if i, ok := c.find(e.id); ok {
		c.replaced(c.entries[i], e)
		c.entries[i] = e
	} else {
		c.entries = slices.Insert(c.entries, i, e)
	}
	c.etag = ""
}

// replaced keeps what a service had last, also when this replica never gave it
// out: another one may have, and the agent now asks here for a delta from it.
func (c *cluster) replaced(old, e *entry) {
	keep := func(s sum) {
		if s == (sum{}) || e.holds(s) || slices.Contains(c.served, s) || slices.ContainsFunc(c.dropped, func(d droppedSum) bool { return d.sum == s }) {
			return
		}
		// A replica that a cluster never polls keeps one for each service.
		if len(c.dropped) > len(c.entries)+hold {
			c.dropped = slices.Delete(c.dropped, 0, 1)
		}
		c.dropped = append(c.dropped, droppedSum{s, c.generation})
	}
	if old.mode == "" {
		keep(old.tarball)
		for _, p := range old.parts {
			keep(p.tarball)
		}
	}
}

func (c *cluster) remove(id string) {
	if i, ok := c.find(id); ok {
		c.entries = slices.Delete(c.entries, i, i+1)
	}
	c.etag = ""
}

// hold limits how many lists back a tarball may still be fetched: an agent
// that is working through an older list must not be cut off from it.
const hold = 3

// give notes that a new list goes out.
func (c *cluster) give() {
	now := c.tarballs()
	for _, s := range c.served {
		if _, ok := slices.BinarySearchFunc(now, s, compareSums); !ok {
			c.dropped = append(c.dropped, droppedSum{s, c.generation})
		}
	}
	c.generation++
	c.dropped = slices.DeleteFunc(c.dropped, func(d droppedSum) bool { return d.last+hold < c.generation })
	c.served = now
}

// tarballs are the distinct ones of the present entries, sorted.
func (c *cluster) tarballs() []sum {
	var all []sum
	for _, e := range c.entries {
		if e.mode == "" && e.tarball != (sum{}) {
			all = append(all, e.tarball)
		}
		for _, p := range e.parts {
			if e.mode == "" {
				all = append(all, p.tarball)
			}
		}
	}
	slices.SortFunc(all, compareSums)
	return slices.Clip(slices.Compact(all))
}

func compareSums(a, b sum) int { return strings.Compare(string(a[:]), string(b[:])) }

// has reports whether the cluster may fetch a tarball.
func (c *cluster) has(s sum) bool {
	for _, e := range c.entries {
		if e.holds(s) {
			return true
		}
	}
	if _, ok := slices.BinarySearchFunc(c.served, s, compareSums); ok {
		return true
	}
	return slices.ContainsFunc(c.dropped, func(d droppedSum) bool { return d.sum == s })
}

// newEntry makes an entry of a row.
func (t *table) newEntry(r fleet.Row) (*entry, error) {
	tarball, err := packSum(r.Digest)
	if err != nil {
		return nil, fmt.Errorf("service %s: tarball: %w", r.ID, err)
	}
	spec, err := packSum(r.SpecDigest)
	if err != nil {
		return nil, fmt.Errorf("service %s: spec: %w", r.ID, err)
	}
	parts, err := t.newParts(r.Parts)
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", r.ID, err)
	}
	return &entry{
		id: r.ID, name: r.Name, namespace: t.intern(r.Namespace), cluster: t.cluster(r.ClusterID),
		tombstoneID: r.TombstoneID, mode: t.intern(string(r.Deleting)), bytes: r.TarballBytes,
		tarball: tarball, spec: spec, paused: r.Paused, parts: parts,
	}, nil
}

func (t *table) newParts(from []fleet.Part) ([]part, error) {
	if len(from) == 0 {
		return nil, nil
	}
	parts := make([]part, len(from))
	for i, p := range from {
		tarball, err := packSum(p.Digest)
		if err != nil {
			return nil, fmt.Errorf("part %d: tarball: %w", i, err)
		}
		parts[i] = part{path: t.intern(p.Path), entry: t.intern(p.Entry), name: t.intern(p.Name), bytes: p.Size, tarball: tarball}
	}
	return parts, nil
}
