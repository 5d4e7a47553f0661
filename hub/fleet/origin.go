package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/clustertopology"
	"github.com/axle-cd/axle/internal/errcode"
)

// Origin is how a cluster came to be that the hub made from a template.
type Origin struct {
	// Template is its name when the cluster was created, and Commit where its folder was
	// read.
	TemplateID string `json:"templateId,omitempty"`
	Template   string `json:"template,omitempty"`
	Commit     string `json:"commit,omitempty"`
	// Folder is the digest of the template's folder at that commit, empty for clusters from
	// before it was kept.
	Folder string `json:"folder,omitempty"`
	// Version is that of Kubernetes, and Variables a JSON object, with defaults. Given is it
	// without defaults, empty for clusters from before it was kept.
	Version   string `json:"version,omitempty"`
	Variables string `json:"variables,omitempty"`
	Given     string `json:"given,omitempty"`
	// Checks is a JSON list of Check.
	Checks string `json:"checks,omitempty"`
	// Management is the name of the cluster with the objects of this one, and Service the
	// hub's own service there, in a namespace of its own.
	Management string `json:"management,omitempty"`
	Service    string `json:"service,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	// Found is set for a cluster that others made with Cluster API.
	Found *Found `json:"found,omitempty"`
	// Destroying is set when the machines are being removed.
	Destroying bool `json:"-"`
}

// Known reports whether the cluster was made from a template.
func (o Origin) Known() bool { return o.TemplateID != "" }

// Machines are how many the variables ask for: at most, where a pool has bounds. This is the
// one place where machines are counted for limits.
func (o Origin) Machines() int {
	var variables clustertopology.Object
	if json.Unmarshal([]byte(o.Variables), &variables) != nil {
		return 0 // nothing was made of it
	}
	return clustertopology.Machines(variables)
}

// MadeCluster is a cluster to make: its row, and the service that makes it.
type MadeCluster struct {
	NewCluster
	Origin
	ManagementID string
	Builtin
	// Also is called in the transaction, unless it is nil; an error of it ends that.
	Also func(ctx context.Context) error
}

// MakeCluster creates the row of a cluster and the service that makes it on its management
// cluster, in one transaction. Conflict when the cluster or the service exists, or when the
// project has as many as it may.
func (f *Fleet) MakeCluster(ctx context.Context, by string, m MadeCluster) (c Cluster, err error) {
	err = f.writer.Write(ctx, func(ctx context.Context) error {
		management, err := f.store.ClusterByID(ctx, m.ManagementID)
		if err == nil {
			// A transaction that deletes it looks for the clusters on it.
			err = event.DependsOn(ctx, event.Change{Kind: event.KindCluster, Key: management.ID})
		}
		if err != nil {
			return err
		}
		if management.Origin.Destroying {
			return errcode.New(errcode.Conflict, "management cluster %s is being destroyed", management.Name)
		}
		if m.Also != nil {
			if err := m.Also(ctx); err != nil {
				return err
			}
		}
		m.Origin.Management, m.Origin.Service, m.Origin.Namespace = management.Name, m.Builtin.Name, m.Builtin.Namespace
		if c, err = f.clusters.createCluster(ctx, by, m.NewCluster, m.Origin, management.ID); err != nil {
			return err
		}
		_, err = f.store.ServiceByRef(ctx, Ref{management.Name, m.Builtin.Name})
		if !errcode.Is(err, errcode.NotFound) {
			return cmp.Or(err, Exists(Ref{management.Name, m.Builtin.Name}))
		}
		return f.PutBuiltin(ctx, management.ID, m.Builtin)
	})
	return c, err
}

// Remade is a change of a cluster that was made from a template.
type Remade struct {
	// Before is the origin that the change was made of.
	Before, After Origin
	Builtin
	// Also is called in the transaction; an error of it ends that.
	Also func(ctx context.Context, c Cluster) error
}

// RemakeCluster changes the variables of a cluster that was made from a template, and the
// service that makes it, in one transaction. Conflict when the cluster changed meanwhile.
func (f *Fleet) RemakeCluster(ctx context.Context, by, name string, m Remade) error {
	return f.writer.Write(ctx, func(ctx context.Context) error {
		c, err := f.store.ClusterByName(ctx, name)
		if err != nil {
			return err
		}
		if c.Origin != m.Before {
			return errcode.New(errcode.Conflict, "cluster %s was changed meanwhile; try again", name)
		}
		if c.Origin.Destroying {
			return errcode.New(errcode.Conflict, "cluster %s is being destroyed", name)
		}
		before := c
		c.Origin = m.After
		if c.ManagedBy, err = managed.Write(ctx, "cluster "+name, c.ManagedBy, true); err != nil {
			return err
		}
		if err := m.Also(ctx, c); err != nil {
			return err
		}
		p, err := f.clusters.projects.project(ctx, c.ProjectID)
		if err == nil {
			err = f.clusters.projects.admitsMachines(ctx, p, before.Origin.Machines(), c.Origin.Machines())
		}
		if err == nil {
			err = joined(ctx, p.ID)
		}
		if err != nil {
			return err
		}
		if err := f.PutBuiltin(ctx, c.ManagementID, m.Builtin); err != nil {
			return err
		}
		return f.putCluster(ctx, before, &c, "cluster.remade", by, "variables "+c.Origin.Given)
	})
}

// madeBy returns the clusters that some services of a cluster make, by the service's id.
func (f *clusters) madeBy(ctx context.Context, managementID string, services []StoredService) (map[string]Cluster, error) {
	ids := map[string]string{}
	for _, s := range services {
		if s.ClusterID == managementID && s.Builtin() && s.Name != AgentService {
			ids[s.Name] = s.ID
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	made, err := f.store.ClustersMadeOn(ctx, managementID)
	by := map[string]Cluster{}
	for _, c := range made {
		if id := ids[c.Origin.Service]; id != "" {
			by[id] = c
		}
	}
	return by, err
}

// Child returns the cluster that a service of a management cluster makes, in the transaction
// of the context, which starts again when the cluster changes meanwhile. NotFound, with one
// text for every other service.
func (f *clusters) Child(ctx context.Context, managementID, serviceID string) (Cluster, error) {
	services, err := f.store.ServicesByID(ctx, []string{serviceID})
	if err != nil {
		return Cluster{}, err
	}
	made, err := f.madeBy(ctx, managementID, services)
	if err != nil {
		return Cluster{}, err
	}
	c, ok := made[serviceID]
	if !ok {
		return Cluster{}, errcode.New(errcode.NotFound, "service %.80q makes no cluster on this one", serviceID)
	}
	return c, event.DependsOn(ctx, event.Change{Kind: event.KindCluster, Key: c.ID})
}

// DestroyCluster begins to remove what was made for a cluster. First its own agent removes
// what the cluster holds at providers (Cleanup), unless it has none, or that is forced; then
// its service is drained, and ForgetDestroyed removes the row afterwards. Unprocessable for a
// cluster that was not made from a template, Conflict while a service on it is protected or
// other clusters are made on it. A repeated call changes nothing, unless it is forced.
func (f *clusters) DestroyCluster(ctx context.Context, by, name string, force bool) (Cluster, error) {
	var c Cluster
	err := f.writer.Write(ctx, func(ctx context.Context) (err error) {
		if c, err = f.store.ClusterByName(ctx, name); err != nil {
			return err
		}
		if !c.Origin.Known() {
			return errcode.New(errcode.Unprocessable, "cluster %s was not made from a template, so the hub has no machines of it to destroy; axle clusters delete removes it from the hub", name)
		}
		if c.Origin.Destroying {
			if !force || !c.Cleanup.Running() {
				return nil
			}
			forced := *c.Cleanup
			forced.Forced = true
			return f.endCleanup(ctx, c, forced, by)
		}
		before := c
		if c.ManagedBy, err = managed.Write(ctx, "cluster "+name, c.ManagedBy, true); err != nil {
			return err
		}
		if err := f.free(ctx, c); err != nil {
			return err
		}
		if err := dependOnServices(ctx, c); err != nil {
			return err
		}
		services, err := f.store.ServicesOfCluster(ctx, c.ID, nil)
		if err != nil {
			return err
		}
		for _, s := range services {
			if s.Spec.Protect && !s.Builtin() {
				return errcode.New(errcode.Conflict, "service %s is protected; unset protect first", s.Ref())
			}
		}
		c.Origin.Destroying = true
		if c.Registered() && !force {
			c.Cleanup = &Cleanup{StartedAt: f.now()}
			return f.putCluster(ctx, before, &c, "cluster.destroying", by, "its agent removes load balancers and volumes first")
		}
		if err := f.leaveMaker(ctx, c, by, Drain); err != nil {
			return err
		}
		return f.putCluster(ctx, before, &c, "cluster.destroying", by, "service "+c.Origin.Management+"/"+c.Origin.Service+" is drained")
	})
	return c, err
}

// Destroyed returns the clusters that are being destroyed and whose service is gone, and how
// many there are whose service is not.
func (f *clusters) Destroyed(ctx context.Context) (gone []Cluster, going int, err error) {
	all, err := f.store.DestroyingClusters(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, c := range all {
		_, err := f.store.ServiceByRef(ctx, Ref{c.Origin.Management, c.Origin.Service})
		switch {
		case errcode.Is(err, errcode.NotFound):
			gone = append(gone, c)
		case err != nil:
			return nil, 0, err
		default:
			going++
		}
	}
	return gone, going, nil
}

// ForgetDestroyed removes the row of a cluster that Destroyed returned. Its credentials are
// revoked as with DeleteCluster.
func (f *clusters) ForgetDestroyed(ctx context.Context, id string) error {
	err := f.writer.Write(ctx, func(ctx context.Context) error {
		c, err := f.store.ClusterByID(ctx, id)
		if err != nil {
			return err
		}
		if err := dependOnServices(ctx, c); err != nil {
			return err
		}
		services, err := f.store.ServicesOfCluster(ctx, c.ID, nil)
		if err != nil {
			return err
		}
		return f.forget(ctx, c, services, "hub", "cluster.destroyed")
	})
	if err == nil {
		f.forgotten(id)
	}
	return err
}

// free returns Conflict while clusters are made on a cluster.
func (f *clusters) free(ctx context.Context, c Cluster) error {
	on, err := f.store.ClustersMadeOn(ctx, c.ID)
	if err != nil || len(on) == 0 {
		return err
	}
	var names []string
	for _, one := range on[:min(len(on), 5)] {
		names = append(names, one.Name)
	}
	return errcode.New(errcode.Conflict, "cluster %s holds the objects of %d clusters that were made from templates (%s); destroy them first, or delete them with --detach", c.Name, len(on), strings.Join(names, ", "))
}

// leaves prepares that the row of a cluster goes: machines that were made for it stay only
// when that is requested.
func (f *clusters) leaves(ctx context.Context, c Cluster, by string, detach bool) error {
	if err := f.free(ctx, c); err != nil || !c.Origin.Known() {
		return err
	}
	if !detach {
		return errcode.New(errcode.Conflict, "cluster %s was made from template %s, and its machines would stay; to destroy them: axle clusters destroy %s%s; to keep them, and only remove the cluster from the hub: axle clusters delete %s --detach", c.Name, c.Origin.Template, c.Name, takeOver(c.ManagedBy), c.Name)
	}
	return f.leaveMaker(ctx, c, by, Detach)
}

// takeOver is what a person adds to a command for a cluster that a tool declares.
func takeOver(by managed.Manager) string {
	if by.Declares() {
		return " --take-over"
	}
	return ""
}

// leaveMaker removes the service that made a cluster from its management cluster.
func (f *clusters) leaveMaker(ctx context.Context, c Cluster, by string, how Deletion) error {
	management, err := f.store.ClusterByID(ctx, c.ManagementID)
	if err != nil {
		return err
	}
	s, err := f.store.ServiceByRef(ctx, Ref{management.Name, c.Origin.Service})
	if errcode.Is(err, errcode.NotFound) {
		return nil // the cluster was being destroyed, and is all but gone
	}
	if err != nil {
		return err
	}
	if !management.Registered() {
		return forgetService(ctx, f.store, s.Service, by, "no agent ever registered for the cluster")
	}
	s.Deleting, s.TombstoneID, s.UpdatedAt = how, cmp.Or(s.TombstoneID, identity.NewID("tmb_")), f.now()
	if err := f.store.UpdateService(ctx, s); err != nil {
		return err
	}
	return recordService(ctx, s.Service, "service.deleting", by, string(how))
}
