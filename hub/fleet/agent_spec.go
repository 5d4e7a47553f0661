package fleet

// Row is the part of a service that the desired list needs. What a cluster
// should run is exactly this: a moved head changes rows (HeadMoved), and so
// digest, entry and spec digest never disagree.
type Row struct {
	ID        string
	ClusterID string
	Name      string
	Namespace string
	SourceID  string
	// Digest is the tarball of the present revision, empty while the source
	// was never produced; TarballBytes its size, 0 when unknown.
	Digest       string
	TarballBytes int64
	SpecDigest   string
	Paused       bool
	Pinned       bool
	// Deleting makes the row a tombstone.
	Deleting    Deletion
	TombstoneID string
}

// ClusterRow is the part of a cluster that the desired list needs.
type ClusterRow struct {
	ID      string
	Name    string
	Pending bool
}

// AgentSpec is everything an agent needs of a service but its files.
type AgentSpec struct {
	// Service holds the spec, the revision and the counters.
	Service Service
	// Secrets are the opened values.
	Secrets map[string]string
	Cluster ClusterData
	// RevisionCreatedAt is when the present revision was made.
	RevisionCreatedAt int64
}

// ClusterData is the closed list of facts of a cluster that templates may use
// and that the spec digest covers.
type ClusterData struct {
	ID       string
	Handle   string
	Name     string
	Tags     map[string]string
	Metadata string
	Distro   string
	// KubernetesMinor is such as "1.34".
	KubernetesMinor string
}
