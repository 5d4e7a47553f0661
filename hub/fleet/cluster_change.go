package fleet

import (
	"cmp"
	"context"
	"maps"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// maxTags and maxTag limit a cluster's tags, which are in templates and in
	// every list.
	maxTags = 100
	maxTag  = 256
	// maxMetadata limits a cluster's metadata, which is sent with each spec.
	maxMetadata = 64 << 10
)

// clusters are the clusters of the fleet.
type clusters struct {
	times
	store     Store
	writer    Writer
	live      *Memory
	projects  *projects
	revisions *revisions
}

// recordCluster appends the change of a cluster, with an event when kind is
// not empty.
func recordCluster(ctx context.Context, c Cluster, kind, by, message string) error {
	if err := event.Append(ctx, event.Change{Kind: event.KindCluster, Key: c.ID, Cluster: c.ID}); err != nil {
		return err
	}
	if kind == "" {
		return nil
	}
	return event.Record(ctx, event.Entry{Kind: kind, Object: "cluster " + c.Name, By: by, Message: message, Cluster: c.ID})
}

// check fills in defaults and returns an Invalid error for invalid fields.
func (c *Cluster) check() error {
	if c.Handle == "" {
		c.Handle = c.Name
	}
	if c.Metadata == "" {
		c.Metadata = "{}"
	}
	if err := specrules.CheckName("name", c.Name); err != nil {
		return err
	}
	if err := specrules.CheckName("handle", c.Handle); err != nil {
		return err
	}
	if len(c.Tags) > maxTags {
		return specrules.Field("tags", "a cluster has at most %d tags", maxTags)
	}
	for key, value := range c.Tags {
		if key == "" || len(key) > maxTag || len(value) > maxTag {
			return specrules.Field("tags."+key, "a tag has a key and a value of at most %d bytes", maxTag)
		}
	}
	var object map[string]any
	if bounded.ReadJSON(strings.NewReader(c.Metadata), &object, maxMetadata) != nil {
		return specrules.Field("metadata", "must be a JSON object of at most %d KiB", maxMetadata>>10)
	}
	return nil
}

// CreateCluster creates a cluster before its agent registers. Conflict when it
// exists.
func (f *clusters) CreateCluster(ctx context.Context, by string, n NewCluster) (Cluster, error) {
	return f.createCluster(ctx, by, n, Origin{}, "")
}

func (f *clusters) createCluster(ctx context.Context, by string, n NewCluster, origin Origin, managementID string) (Cluster, error) {
	c := Cluster{
		ID: identity.NewID("cl_"), Name: n.Name, Handle: n.Handle, Metadata: n.Metadata, ManagedBy: managed.Created(ctx), CreatedAt: f.now(), UpdatedAt: f.now(),
		Origin: origin, ManagementID: managementID,
	}
	err := cmp.Or(c.setTags(ctx, n.Tags, n.FleetWide), c.check())
	if err != nil {
		return Cluster{}, err
	}
	err = f.writer.Write(ctx, func(ctx context.Context) error {
		project, err := f.projects.Project(ctx, n.Project)
		if err != nil {
			return err
		}
		c.ProjectID, c.Project = project.ID, project.Name
		if err := f.insertCluster(ctx, c, n.FleetWide); err != nil {
			return err
		}
		return recordCluster(ctx, c, "cluster.created", by, "")
	})
	if err != nil {
		return Cluster{}, err
	}
	return c, nil
}

// insertCluster stores a new cluster. Its project must still exist.
func (f *clusters) insertCluster(ctx context.Context, c Cluster, fleetWide bool) error {
	p, err := f.projects.project(ctx, c.ProjectID)
	if err == nil {
		err = f.projects.admitsCluster(ctx, p, c)
	}
	if err != nil {
		return err
	}
	if err := f.claimNames(ctx, Cluster{}, c, fleetWide); err != nil {
		return err
	}
	if err := f.store.InsertCluster(ctx, c); err != nil {
		return err
	}
	return joined(ctx, c.ProjectID)
}

// UpdateCluster changes a cluster, and the spec digests of its services when
// their data changed.
func (f *clusters) UpdateCluster(ctx context.Context, by, name string, change ClusterChange) (Cluster, error) {
	return f.changeCluster(ctx, name, func(ctx context.Context, c *Cluster) (kind, message string, err error) {
		before := *c
		if change.Handle != nil {
			c.Handle = *change.Handle
		}
		if change.Tags != nil {
			if err := c.setTags(ctx, *change.Tags, change.FleetWide); err != nil {
				return "", "", err
			}
		}
		if change.Metadata != nil {
			c.Metadata = *change.Metadata
		}
		if err := c.check(); err != nil {
			return "", "", err
		}
		if err := f.claimNames(ctx, before, *c, change.FleetWide); err != nil {
			return "", "", err
		}
		// That an administrator stands by tags is not declared, so it is no manager's.
		c.ManagedBy, err = managed.Write(ctx, "cluster "+name, before.ManagedBy, !maps.Equal(before.Tags, c.Tags) || !before.equalButTags(*c))
		return "cluster.updated", "", err
	}, by)
}

// ApproveCluster ends Pending.
func (f *clusters) ApproveCluster(ctx context.Context, by, name string) (Cluster, error) {
	return f.changeCluster(ctx, name, func(_ context.Context, c *Cluster) (string, string, error) {
		c.Pending = false
		return "cluster.approved", "", nil
	}, by)
}

// changeCluster applies change to the named cluster and stores the result. It
// writes nothing when nothing changed.
func (f *clusters) changeCluster(ctx context.Context, name string, change func(ctx context.Context, c *Cluster) (kind, message string, err error), by string) (Cluster, error) {
	var c Cluster
	err := f.writer.Write(ctx, func(ctx context.Context) error {
		before, err := f.store.ClusterByName(ctx, name)
		if err != nil {
			return err
		}
		c = before
		kind, message, err := change(ctx, &c)
		if err != nil {
			return err
		}
		return f.putCluster(ctx, before, &c, kind, by, message)
	})
	if err != nil {
		return Cluster{}, err
	}
	return c, nil
}

// putCluster stores a changed cluster in the transaction of the context.
func (f *clusters) putCluster(ctx context.Context, before Cluster, c *Cluster, kind, by, message string) error {
	if equalCluster(before, *c) {
		return nil
	}
	c.UpdatedAt = f.now()
	if err := f.store.UpdateCluster(ctx, *c); err != nil {
		return err
	}
	if !before.Data().equal(c.Data()) {
		if err := f.revisions.redigestCluster(ctx, *c); err != nil {
			return err
		}
	}
	return recordCluster(ctx, *c, kind, by, message)
}

func equalCluster(a, b Cluster) bool {
	return maps.Equal(a.Tags, b.Tags) && maps.Equal(a.AdminTags, b.AdminTags) && maps.Equal(a.FormerTags, b.FormerTags) && a.equalButTags(b)
}

func (c Cluster) equalButTags(o Cluster) bool {
	return c.Handle == o.Handle && c.ManagedBy == o.ManagedBy && c.ProjectID == o.ProjectID && c.Metadata == o.Metadata && c.Distro == o.Distro &&
		c.KubernetesVersion == o.KubernetesVersion && c.AgentVersion == o.AgentVersion && c.Nodes == o.Nodes &&
		c.ClusterUID == o.ClusterUID && c.RegisteredAt == o.RegisteredAt && c.Pending == o.Pending &&
		c.Message == o.Message && c.Origin == o.Origin && c.PollInterval == o.PollInterval && c.Installation.Equal(o.Installation)
}

// Data returns the closed list of facts that templates may use.
func (c Cluster) Data() ClusterData {
	return ClusterData{
		ID: c.ID, Handle: c.Handle, Name: c.Name, Tags: c.Tags, Metadata: c.Metadata,
		Distro: c.Distro, KubernetesMinor: kubernetesMinor(c.KubernetesVersion),
	}
}

func (d ClusterData) equal(o ClusterData) bool {
	return d.Handle == o.Handle && d.Name == o.Name && maps.Equal(d.Tags, o.Tags) && d.Metadata == o.Metadata &&
		d.Distro == o.Distro && d.KubernetesMinor == o.KubernetesMinor
}

// kubernetesMinor turns "v1.34.2+k3s1" into "1.34", so that a patch upgrade of
// the cluster changes no service.
func kubernetesMinor(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return ""
	}
	minor := parts[1]
	if end := strings.IndexFunc(minor, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		minor = minor[:end]
	}
	return parts[0] + "." + minor
}

// Ping stores what an agent reports about its cluster, and the spec digests of
// its services when their data changed.
func (f *clusters) Ping(ctx context.Context, clusterID string, p ClusterPing) error {
	f.live.Polls.SetInterval(clusterID, p.PollInterval)
	return f.writer.WriteBatched(ctx, func(ctx context.Context) error {
		before, err := f.store.ClusterByID(ctx, clusterID)
		if err != nil {
			return err
		}
		c := before
		c.AgentVersion, c.KubernetesVersion, c.Distro = p.AgentVersion, p.KubernetesVersion, p.Distro
		c.Nodes, c.PollInterval, c.Installation, c.PingedAt = p.Nodes, p.PollInterval, p.Installation, f.now()
		if equalCluster(before, c) {
			return f.store.TouchCluster(ctx, clusterID, c.PingedAt)
		}
		kind, message := f.live.FlagsTold.Changed(c.ID, before.Installation, c.Installation, f.clock.Now())
		return f.putCluster(ctx, before, &c, kind, "agent "+c.Name, message)
	})
}

// Enroll implements agentkey.Clusters.
func (f *clusters) Enroll(ctx context.Context, e agentkey.Enrollment) (agentkey.Enrolled, error) {
	before, err := f.enrolling(ctx, e)
	if errcode.Is(err, errcode.NotFound) && e.ClusterID == "" {
		return f.enrollNew(ctx, e)
	}
	if err != nil {
		return agentkey.Enrolled{}, err
	}
	c := before
	c.ClusterUID, c.Message = e.ClusterUID, ""
	if e.AgentVersion != "" {
		c.AgentVersion = e.AgentVersion
	}
	if !before.Registered() {
		c.RegisteredAt = f.now()
	}
	if err := f.putCluster(ctx, before, &c, "cluster.registered", e.By, "by uid "+e.ClusterUID); err != nil {
		return agentkey.Enrolled{}, err
	}
	return agentkey.Enrolled{ClusterID: c.ID, Name: c.Name, Pending: c.Pending}, nil
}

// enrolling finds the cluster of an enrollment. A name alone gives no right to
// a cluster that a person created: that needs a token that is fixed to it.
func (f *clusters) enrolling(ctx context.Context, e agentkey.Enrollment) (Cluster, error) {
	if e.ClusterID != "" {
		return f.store.ClusterByID(ctx, e.ClusterID)
	}
	c, err := f.store.ClusterByName(ctx, e.Name)
	if err == nil {
		return c, errcode.New(errcode.Conflict, "cluster %s exists already; give the agent another name, or a token made for that cluster", e.Name)
	}
	return c, err
}

func (f *clusters) enrollNew(ctx context.Context, e agentkey.Enrollment) (agentkey.Enrolled, error) {
	c := Cluster{
		ID: identity.NewID("cl_"), Name: e.Name, ProjectID: e.ProjectID, ClusterUID: e.ClusterUID,
		AgentVersion: e.AgentVersion, Pending: e.Pending, RegisteredAt: f.now(), CreatedAt: f.now(), UpdatedAt: f.now(),
	}
	if c.ProjectID == "" {
		c.ProjectID = DefaultProjectID
	}
	if err := cmp.Or(c.setTags(ctx, e.Tags, e.FleetWide), c.check()); err != nil {
		return agentkey.Enrolled{}, err
	}
	if err := f.insertCluster(ctx, c, e.FleetWide); err != nil {
		return agentkey.Enrolled{}, err
	}
	err := recordCluster(ctx, c, "cluster.registered", e.By, "by uid "+e.ClusterUID)
	return agentkey.Enrolled{ClusterID: c.ID, Name: c.Name, Pending: c.Pending}, err
}

// SetIdentityProblem implements agentkey.Clusters.
func (f *clusters) SetIdentityProblem(ctx context.Context, clusterID, problem string) error {
	before, err := f.store.ClusterByID(ctx, clusterID)
	if err != nil {
		return err
	}
	c, kind := before, "cluster.identity_conflict"
	if c.Message = problem; problem == "" {
		kind = "cluster.identity_settled"
	}
	return f.putCluster(ctx, before, &c, kind, "hub", problem)
}

// DeleteCluster deletes a cluster. Conflict when it has services, unless detach
// is set: then their rows are deleted and their objects stay. Its credentials
// belong to hub/identity: callers wrap this call in agentkey.Keys.RevokeClusterWith.
func (f *clusters) DeleteCluster(ctx context.Context, by, name string, detach bool) error {
	var id string
	err := f.writer.Write(ctx, func(ctx context.Context) error {
		c, err := f.store.ClusterByName(ctx, name)
		if err != nil {
			return err
		}
		id = c.ID
		if _, err := managed.Write(ctx, "cluster "+name, c.ManagedBy, true); err != nil {
			return err
		}
		if err := f.leaves(ctx, c, by, detach); err != nil {
			return err
		}
		if err := dependOnServices(ctx, c); err != nil {
			return err
		}
		services, err := f.store.ServicesOfCluster(ctx, c.ID, nil)
		if err != nil {
			return err
		}
		if n := notBuiltin(services); n > 0 && !detach {
			return errcode.New(errcode.Conflict, "cluster %s has %d services; delete them first, or detach (axle clusters delete --detach) to leave their objects where they are", name, n)
		}
		for _, s := range services {
			if s.Spec.Protect && !s.Builtin() {
				return errcode.New(errcode.Conflict, "service %s is protected; unset protect first", s.Ref())
			}
		}
		return f.forget(ctx, c, services, by, "cluster.deleted")
	})
	if err == nil {
		f.forgotten(id)
	}
	return err
}

// forget deletes the rows of a cluster and of its services, with an event of a kind.
func (f *clusters) forget(ctx context.Context, c Cluster, services []StoredService, by, kind string) error {
	for _, s := range services {
		if err := forgetService(ctx, f.store, s.Service, by, "with its cluster"); err != nil {
			return err
		}
	}
	if err := f.store.DeleteCluster(ctx, c.ID); err != nil {
		return err
	}
	return recordCluster(ctx, c, kind, by, "")
}

// forgotten removes what is in memory of a cluster that is gone.
func (f *clusters) forgotten(id string) {
	f.live.Polls.Forget(id)
	f.live.Hashes.Forget(id)
}
