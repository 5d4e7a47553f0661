package desired

import "github.com/axle-cd/axle/hub/event"

// List is what one cluster should run.
type List struct {
	ClusterID   string
	ClusterName string
	// ETag names what the list means, quoted as HTTP wants it. It is weak: the
	// bytes of two answers differ by position and signature.
	ETag string
	// Position is a place in the feed that the list is not older than.
	Position event.Position
	// Incarnation is the life of the database that the position is in.
	Incarnation event.Incarnation
	// Pending waits for a person; the list is then empty.
	Pending bool
	// Former are the ended registrations of the same Kubernetes cluster.
	Former []string
	// Services and Tombstones are in order of id.
	Services   []Service
	Tombstones []Tombstone
}

// Service is one deployment of a list.
type Service struct {
	ID        string
	Name      string
	Namespace string
	// TarballDigest is empty while the source was never produced.
	TarballDigest string
	TarballBytes  int64
	// Parts are the tarballs of a service that is made of several, in order;
	// TarballDigest is the first of them. Nil for a service of one.
	Parts      []Part
	SpecDigest string
	Paused     bool
	// Wait keeps the cluster with what it has; the rest is what it would get.
	Wait Wait
}

// Part is one tarball of a service.
type Part struct {
	// Path is where its files lie below the service's folder.
	Path   string
	Digest string
	// Entry is the folder inside the tarball that lies there.
	Entry string
	Bytes int64
	// Name is the field of the spec that names the source.
	Name string
}

// Tombstone makes a service leave its cluster; it is repeated until the agent
// has reported it.
type Tombstone struct {
	ServiceID   string
	TombstoneID string
	// Mode is drain or detach.
	Mode      string
	Name      string
	Namespace string
}
