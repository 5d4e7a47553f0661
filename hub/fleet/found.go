package fleet

import (
	"cmp"
	"context"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/errcode"
)

// Found is a cluster that others made: the id of the management cluster whose agent connects
// it, and the uid of its Cluster object there.
type Found struct {
	On  string `json:"on"`
	UID string `json:"uid"`
}

// Found implements agentkey.Clusters. A name gives no right to a cluster that somebody else
// made: only the same Cluster object of the same management cluster finds its row again.
func (f *clusters) Found(ctx context.Context, w agentkey.Finding) (agentkey.Enrolled, bool, error) {
	project := cmp.Or(w.ProjectID, DefaultProjectID)
	c, err := f.store.ClusterByName(ctx, w.Name)
	switch {
	case errcode.Is(err, errcode.NotFound):
		c, err = f.addFound(ctx, project, w)
		return agentkey.Enrolled{ClusterID: c.ID, Name: c.Name, Pending: c.Pending}, true, err
	case err != nil:
		return agentkey.Enrolled{}, false, err
	case c.Origin.Found == nil || *c.Origin.Found != (Found{w.ManagementID, w.UID}) || c.ProjectID != project:
		return agentkey.Enrolled{}, false, errcode.New(errcode.Conflict, "cluster %s exists already; choose another name", w.Name)
	case c.Registered():
		return agentkey.Enrolled{}, false, errcode.New(errcode.Conflict, "cluster %s is connected already; axle clusters create %s --renew-token makes a token for an agent that lost its identity", c.Name, c.Name)
	}
	return agentkey.Enrolled{ClusterID: c.ID, Name: c.Name, Pending: c.Pending}, false, nil
}

func (f *clusters) addFound(ctx context.Context, project string, w agentkey.Finding) (Cluster, error) {
	c := Cluster{
		ID: identity.NewID("cl_"), Name: w.Name, Handle: w.Handle, ProjectID: project, Pending: w.Pending, CreatedAt: f.now(), UpdatedAt: f.now(),
		Origin: Origin{Found: &Found{w.ManagementID, w.UID}},
	}
	if err := cmp.Or(c.setTags(ctx, w.Tags, w.FleetWide), c.check()); err != nil {
		return Cluster{}, err
	}
	if err := f.insertCluster(ctx, c, w.FleetWide); err != nil {
		return Cluster{}, err
	}
	return c, recordCluster(ctx, c, "cluster.created", w.By, "found on management cluster "+w.Management)
}
