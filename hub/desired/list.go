package desired

import "github.com/axle-cd/axle/hub/event"

// List is what one cluster should run.
type List struct {
	ClusterID   string
	ClusterName string
	// ETag identifies the content of the list, quoted as HTTP requires. It is
	// weak: the bytes of two answers differ by position and signature.
	ETag string
	// Position is a position in the feed; the list is not older than it.
	Position event.Position
	// Incarnation is the incarnation of the database that the position is in.
	Incarnation event.Incarnation
	// Pending is set while the cluster waits for a person's approval; the list
	// is then empty.
	Pending bool
	// Destroying is set while the cluster is being destroyed; all services are then paused.
	Destroying bool
	// Former are the ended registrations of the same Kubernetes cluster.
	Former []string
	// Services and Tombstones are in order of id.
	Services   []Service
	Tombstones []Tombstone
}

// Service is one service of a list.
type Service struct {
	ID        string
	Name      string
	Namespace string
	// TarballDigest is empty while no tarball of the source was ever made.
	TarballDigest string
	TarballBytes  int64
	// Parts are the tarballs of a service with several sources, in order;
	// TarballDigest is the first of them. Nil for a service with one source.
	Parts      []Part
	SpecDigest string
	Paused     bool
	// Wait, when set, makes the cluster keep what it has; the other fields are
	// what it would get.
	Wait Wait
}

// Part is one tarball of a service.
type Part struct {
	// Path is where its files are, below the service's folder.
	Path   string
	Digest string
	// Entry is the folder inside the tarball that is placed there.
	Entry string
	Bytes int64
	// Name is the field of the spec that names the source.
	Name string
}

// Tombstone removes a service from its cluster; it is repeated until the agent
// has reported it.
type Tombstone struct {
	ServiceID   string
	TombstoneID string
	// Mode is drain or detach.
	Mode      string
	Name      string
	Namespace string
}
