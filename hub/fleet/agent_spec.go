package fleet

import (
	"context"

	"github.com/axle-cd/axle/internal/errcode"
)

// Row is the part of a service that the desired list needs. It is exactly what
// a cluster should run: a moved head changes rows (HeadMoved), so digest, entry
// and spec digest always agree.
type Row struct {
	ID        string
	ClusterID string
	Name      string
	Namespace string
	SourceID  string
	// Digest is the tarball of the current revision, empty while no tarball of
	// the source was ever made; TarballBytes is its size, 0 when unknown.
	Digest       string
	TarballBytes int64
	// Parts are the tarballs of a service with several sources, including
	// Digest; nil otherwise.
	Parts      []Part
	SpecDigest string
	Paused     bool
	Pinned     bool
	// Deleting turns the row into a tombstone.
	Deleting    Deletion
	TombstoneID string
}

// ClusterRow is the part of a cluster that the desired list needs.
type ClusterRow struct {
	ID      string
	Name    string
	Pending bool
	// Destroying: it runs nothing new, and removes what it holds at providers.
	Destroying bool
}

// AgentSpec is everything an agent needs of a service except its files.
type AgentSpec struct {
	// Service holds the spec, the revision and the counters.
	Service Service
	// Configuration and Secrets are what templates see as configuration, merged
	// from all layers: the plain values and the secret ones.
	Configuration map[string]string
	Secrets       map[string]string
	// Contexts and Imports are JSON objects of objects, empty for none. Hidden
	// are the secret values in them, by display name.
	Contexts string
	Imports  string
	Hidden   map[string]string
	Cluster  ClusterData
	// RevisionCreatedAt is when the current revision was created.
	RevisionCreatedAt int64
	// MakesCluster is the name of the cluster that the service makes, of the hub's own
	// services; empty for others.
	MakesCluster string
	// Replacing are the machines of that cluster that are to be replaced.
	Replacing []Replacement
}

// ClusterData is the closed list of a cluster's facts that templates may use
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

// LoadAll streams every service; hub/desired builds its index from it.
func (f *serviceViews) LoadAll(ctx context.Context, fn func(Row) error) error {
	return f.store.EachRow(ctx, fn)
}

// LoadRows returns those of the services that exist.
func (f *serviceViews) LoadRows(ctx context.Context, ids []string) ([]Row, error) {
	return f.store.RowsByID(ctx, ids)
}

// maxSpecs limits one call for specs.
const maxSpecs = 500

// AgentSpecs returns the specs of a cluster's services with decrypted secrets, and
// the ids that do not (or no longer) belong to the cluster. A service whose values
// cannot be read now is in neither. A cluster that waits for approval gets none.
func (f *Fleet) AgentSpecs(ctx context.Context, clusterID string, ids []string) (specs []AgentSpec, missing []string, err error) {
	if len(ids) > maxSpecs {
		return nil, nil, errcode.New(errcode.Invalid, "at most %d services at once", maxSpecs)
	}
	var services []StoredService
	var cluster Cluster
	var revisions map[string]StoredRevision
	var makes map[string]Cluster
	err = f.store.Read(ctx, func(ctx context.Context) (err error) {
		if services, err = f.store.ServicesByID(ctx, ids); err != nil {
			return err
		}
		if cluster, err = f.store.ClusterByID(ctx, clusterID); err != nil {
			return err
		}
		if makes, err = f.madeBy(ctx, clusterID, services); err != nil {
			return err
		}
		revisions, err = f.store.PresentRevisions(ctx, ids)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	found := map[string]bool{}
	var texts []string
	for _, s := range services {
		if s.ClusterID != clusterID || cluster.Pending {
			continue
		}
		if r, ok := revisions[s.ID]; ok {
			s.Spec, s.Secrets = r.Spec, r.Secrets
		}
		found[s.ID] = true
		specs = append(specs, AgentSpec{Service: s.Service, Cluster: cluster.Data(), RevisionCreatedAt: s.RevisedAt, MakesCluster: makes[s.ID].Name, Replacing: makes[s.ID].replacing()})
		texts = append(texts, s.Secrets)
	}
	for _, id := range ids {
		if !found[id] {
			missing = append(missing, id)
		}
	}
	return f.fillAll(ctx, specs, texts), missing, nil
}
