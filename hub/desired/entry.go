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

// sum is a digest in 33 bytes instead of about 90: the number of its prefix and
// its 32 bytes. The zero value is no digest.
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
	return s, fmt.Errorf("digest %.80q has a format that this version does not know", text)
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
	wait                Wait
	// since is how many lists had been sent when the tarballs came: those lists
	// did not have them.
	since uint32
	// parts are the tarballs of a service with several sources, including the
	// one in tarball; nil for most services.
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

// sameContent reports whether two entries name the same tarballs.
func (e *entry) sameContent(other *entry) bool {
	return e.tarball == other.tarball && slices.Equal(e.parts, other.parts) && e.mode == other.mode
}

// cluster is one cluster with its entries in order of id.
type cluster struct {
	id, name string
	// known is false while only a service has referred to the cluster.
	known   bool
	pending bool
	// destroying: its services are paused.
	destroying bool
	// former are ended registrations of the same Kubernetes cluster.
	former  []string
	entries []*entry

	// meaning is the sum over the entries' hashes, whatever their order; see
	// etag.go.
	meaning meaning
	// etag is empty when it has to be computed again. life is the incarnation
	// that it was computed for, and given is the etag of the list last sent.
	etag  string
	life  life
	given string
	// generation counts the lists sent. dropped are the tarballs of the last
	// list, and of the 3 before, that are not in the current list. spare counts
	// those of dropped that this replica never sent.
	generation uint32
	dropped    []droppedSum
	spare      int
}

// life is the part of an incarnation that an agent must be told about.
type life struct {
	id        string
	confirmed bool
}

// droppedSum is a tarball, the last list that had it, and whether this replica
// sent that list.
type droppedSum struct {
	sum   sum
	last  uint32
	given bool
}

func (c *cluster) find(id string) (int, bool) {
	return slices.BinarySearchFunc(c.entries, id, func(e *entry, id string) int { return strings.Compare(e.id, id) })
}

func (c *cluster) put(e *entry) {
	e.since = c.generation
	if i, ok := c.find(e.id); ok {
		if old := c.entries[i]; e.sameContent(old) {
			e.since = old.since
		}
		c.left(c.entries[i], e)
		c.entries[i] = e
	} else {
		c.entries = slices.Insert(c.entries, i, e)
	}
	c.meaning.add(e)
	c.etag = ""
}

// left removes an entry from the etag's sum, and keeps the last tarballs of its
// service, even when this replica never sent them: another replica may have,
// and the agent may now ask this one for a delta from them. now is the entry
// that follows, nil for none.
func (c *cluster) left(old, now *entry) {
	c.meaning.take(old)
	if old.mode != "" {
		return
	}
	c.keep(old.tarball, old, now)
	for _, p := range old.parts {
		c.keep(p.tarball, old, now)
	}
}

// keep lets the cluster fetch a tarball for some more lists. Tarballs that were
// sent age with the lists; of those that were not, a cluster keeps one per
// service, even when it never polls.
func (c *cluster) keep(s sum, old, now *entry) {
	given := old.since < c.generation
	if s == (sum{}) || now != nil && now.holds(s) {
		return
	}
	if i := slices.IndexFunc(c.dropped, func(d droppedSum) bool { return d.sum == s }); i >= 0 {
		d := &c.dropped[i]
		if given && !d.given {
			d.given, c.spare = true, c.spare-1
		}
		d.last = c.generation
		return
	}
	if !given {
		if c.spare++; c.spare > len(c.entries)+hold {
			oldest := slices.IndexFunc(c.dropped, func(d droppedSum) bool { return !d.given })
			c.dropped, c.spare = slices.Delete(c.dropped, oldest, oldest+1), c.spare-1
		}
	}
	c.dropped = append(c.dropped, droppedSum{s, c.generation, given})
}

func (c *cluster) remove(id string) {
	if i, ok := c.find(id); ok {
		c.left(c.entries[i], nil)
		c.entries = slices.Delete(c.entries, i, i+1)
	}
	c.etag = ""
}

// hold is how many lists back a tarball may still be fetched: an agent that
// works through an older list must still get its tarballs.
const hold = 3

// give records that the current list is sent.
func (c *cluster) give() {
	if c.given == c.etag {
		return
	}
	c.given = c.etag
	c.generation++
	c.dropped = slices.DeleteFunc(c.dropped, func(d droppedSum) bool { return d.last+hold < c.generation })
	c.spare = 0
	for _, d := range c.dropped {
		if !d.given {
			c.spare++
		}
	}
}

// inherit takes over what a cluster was sent before the table was read again.
func (c *cluster) inherit(was *cluster) {
	c.generation, c.given, c.dropped, c.spare = was.generation, was.given, was.dropped, was.spare
	now := map[string]*entry{}
	for _, e := range c.entries {
		e.since = c.generation
		now[e.id] = e
	}
	for _, old := range was.entries {
		e := now[old.id]
		if e != nil && e.sameContent(old) {
			e.since = old.since
			continue
		}
		if old.mode == "" {
			c.keep(old.tarball, old, e)
			for _, p := range old.parts {
				c.keep(p.tarball, old, e)
			}
		}
	}
}

// has reports whether the cluster may fetch a tarball.
func (c *cluster) has(s sum) bool {
	for _, e := range c.entries {
		if e.holds(s) {
			return true
		}
	}
	return slices.ContainsFunc(c.dropped, func(d droppedSum) bool { return d.sum == s })
}

// newEntry converts a row into an entry.
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
