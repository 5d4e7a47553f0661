package fleet

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/risk"
)

// builtinParent marks services that the hub itself declares. People cannot
// change or delete them; they are deleted with their cluster.
const builtinParent = "hub"

// AgentService is the name of the protected service that every cluster has. Nobody else
// gives it to a service.
const AgentService = risk.AgentService

// CheckFree returns Invalid for a name that only the hub gives to services.
func CheckFree(name string) error {
	if name == AgentService {
		return specrules.Field("name", "%s is the hub's own service, which every cluster has; choose another name", name)
	}
	return nil
}

// Builtin is a service whose files come from the hub instead of an upstream.
type Builtin struct {
	Name      string
	Namespace string
	// Version is for people; Digest and Size describe the tarball.
	Version string
	Digest  string
	Size    int64
	// Configuration are the values of its templates.
	Configuration map[string]string
	// AsIs is set for files that are applied as they are, and take over no object that
	// somebody else made. Contained means the same, and only into the namespace of the
	// service, which goes with it.
	AsIs, Contained bool
}

// Builtin reports whether the hub itself declared the service.
func (s Service) Builtin() bool { return s.ParentID == builtinParent && s.SourceID == "" }

func notBuiltin(services []StoredService) int {
	n := 0
	for _, s := range services {
		if !s.Builtin() {
			n++
		}
	}
	return n
}

// builtins are the hub's own services.
type builtins struct {
	times
	store     Store
	writer    Writer
	live      *Memory
	revisions *revisions
}

// PutBuiltin declares one of the hub's own services on a cluster, protected, in
// the transaction of the context or a new one. A service that is already so is
// left unchanged. Conflict when another service has that name.
func (f *builtins) PutBuiltin(ctx context.Context, clusterID string, b Builtin) error {
	return f.writer.Write(ctx, func(ctx context.Context) error {
		cluster, err := f.store.ClusterByID(ctx, clusterID)
		if err != nil {
			return err
		}
		before, err := f.store.ServiceByRef(ctx, Ref{cluster.Name, b.Name})
		fresh := errcode.Is(err, errcode.NotFound)
		if err != nil && !fresh {
			return err
		}
		if !fresh && !before.Builtin() {
			return errcode.New(errcode.Conflict, "cluster %s has a service %s that is not the hub's own; delete or rename it", cluster.Name, b.Name)
		}
		s := before
		if fresh {
			s = StoredService{Service: Service{
				ID: identity.NewID("svc-"), ClusterID: cluster.ID, Cluster: cluster.Name, Name: b.Name,
				ParentID: builtinParent, CreatedAt: f.now(),
			}}
		}
		// The project is always the default one, whatever project the cluster
		// is in: in another one the agent would require a service account, and
		// refuse cluster-scoped objects.
		s.ProjectID, s.Project = DefaultProjectID, DefaultProject
		noNamespace := false
		spec := Spec{
			Namespace: b.Namespace, Configuration: b.Configuration, Protect: true, Adopt: true, Version: b.Version,
			SyncConfig: &SyncConfig{CreateNamespace: &noNamespace},
		}
		if b.AsIs || b.Contained {
			asTheyAre := false
			spec.Adopt, spec.Templated = false, &asTheyAre
		}
		if b.Contained {
			spec.SyncConfig = &SyncConfig{EnforceNamespace: true, DeleteNamespace: true}
		}
		same := !fresh && before.Deleting == "" && before.Desired.Digest == b.Digest &&
			before.Spec.Namespace == b.Namespace && maps.Equal(before.Spec.Configuration, b.Configuration)
		if same {
			return nil
		}
		s.Spec, s.Deleting, s.TombstoneID, s.PinnedRevision, s.UpdatedAt = spec, "", "", 0, f.now()
		s.Desired = Content{SourceRevision: b.Version, Digest: b.Digest, Size: b.Size, Message: "the hub's own " + b.Name, CommittedAt: f.now()}
		return f.storeBuiltin(ctx, s, cluster, fresh)
	})
}

func (f *builtins) storeBuiltin(ctx context.Context, s StoredService, cluster Cluster, fresh bool) error {
	if err := f.revisions.settle(&s, s.Spec, "", cluster); err != nil {
		return err
	}
	cause, kind, put := CauseUpdate, "service.updated", f.store.UpdateService
	if fresh {
		cause, kind, put = CauseCreate, "service.created", f.store.InsertService
	}
	if err := f.revisions.addRevision(ctx, &s, s.Spec, "", cause, "hub"); err != nil {
		return err
	}
	if err := put(ctx, s); err != nil {
		return err
	}
	return recordService(ctx, s.Service, kind, "hub", s.Desired.SourceRevision)
}

// BuiltinState is the state of one of the hub's own services on a cluster.
type BuiltinState struct {
	// Cluster is the stored row, with Freshness and PolledAt beside it.
	Cluster   Cluster
	Freshness Freshness
	PolledAt  int64
	// Service is zero when the cluster does not have it.
	Service Service
	// Status is the last report, zero when there was none.
	Status     Status
	ReportedAt int64
}

// Builtins returns registered clusters with their state of the service, in
// order of name; nil ids means all.
func (f *builtins) Builtins(ctx context.Context, name string, clusterIDs []string) ([]BuiltinState, error) {
	var all []BuiltinState
	err := f.store.Read(ctx, func(ctx context.Context) (err error) {
		var clusters []Cluster
		if clusterIDs == nil {
			clusters, err = f.store.Clusters(ctx, "")
		} else {
			clusters, err = f.store.ClustersByID(ctx, clusterIDs)
			slices.SortFunc(clusters, func(a, b Cluster) int { return strings.Compare(a.Name, b.Name) })
		}
		if err != nil {
			return err
		}
		services, err := f.store.ServicesNamed(ctx, name, clusterIDs)
		if err != nil {
			return err
		}
		at, ids := make(map[string]Service, len(services)), make([]string, 0, len(services))
		for _, s := range services {
			if s.Builtin() {
				at[s.ClusterID] = s
				ids = append(ids, s.ID)
			}
		}
		statuses, err := f.store.StatusesByID(ctx, ids)
		if err != nil {
			return err
		}
		all = all[:0]
		for _, c := range clusters {
			if !c.Registered() || c.Pending {
				continue
			}
			state := BuiltinState{Cluster: c, Service: at[c.ID]}
			f.live.Polls.SetInterval(c.ID, c.PollInterval)
			state.Freshness, state.PolledAt = f.live.Freshness(c.ID)
			stored := statuses[state.Service.ID]
			state.Status, state.ReportedAt = stored.Status, stored.ReportedAt
			all = append(all, state)
		}
		return nil
	})
	return all, err
}
