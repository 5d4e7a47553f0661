package console

import (
	"context"
	"fmt"
	"slices"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

type specCall struct {
	*Server
	ref               *hubv1.ServiceRef
	project, parentID string
	// before is the current service; its ID is empty when it does not exist.
	before fleet.Service
	at     permission
	// creates is set for a call that creates the service when it does not exist.
	creates bool
	// after is the wanted spec.
	after fleet.Spec
	// projectID is the wanted project; moved is set when it is not the current one.
	projectID string
	moved     bool
}

// ofSpec finds the needs of calls that set a service's spec. They need to
// change the service, or to create it on its cluster and in its project; a move
// to another project needs both. They also need to read every object of another
// project that the spec uses and did not use before; repositories are bound, with this
// right, when the spec is stored.
func ofSpec(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	c, err := newSpecCall(ctx, s, message)
	if err != nil {
		return nil, err
	}
	permissions, err := c.place(ctx, action)
	if err != nil {
		return permissions, err
	}
	for _, find := range []func(context.Context) ([]permission, error){c.parent, c.valueSets, c.clusters} {
		more, err := find(ctx)
		if permissions = append(permissions, more...); err != nil {
			return permissions, err
		}
	}
	return permissions, nil
}

// newSpecCall reads a message and the service that it is about.
func newSpecCall(ctx context.Context, s *Server, message any) (*specCall, error) {
	m := message.(interface {
		GetRef() *hubv1.ServiceRef
		GetSpec() *hubv1.ServiceSpec
	})
	c := &specCall{Server: s, ref: m.GetRef()}
	if in, ok := message.(interface{ GetProject() string }); ok {
		c.project = in.GetProject()
	}
	if of, ok := message.(interface{ GetParentId() string }); ok {
		c.parentID = of.GetParentId()
	}
	var err error
	if c.before, c.at.scope, err = s.config.Fleet.Declared(ctx, ref(c.ref)); err != nil && !errcode.Is(err, errcode.NotFound) {
		return nil, err
	}
	c.at = serviceAt(identity.ActionWrite, ref(c.ref), c.at.scope)
	update, isUpdate := message.(*hubv1.UpdateServiceRequest)
	c.creates = !isUpdate
	if isUpdate && c.before.ID == "" {
		return nil, c.at.missing
	}
	if c.after = specOf(m.GetSpec()); !isUpdate {
		return c, nil
	}
	c.after, err = fleet.MergeSpec(c.before.Spec, c.after, update.GetFields())
	return c, err
}

// place requires changing the service, creating it in its wanted scope, or both.
func (c *specCall) place(ctx context.Context, action identity.Action) (permissions []permission, err error) {
	on, err := c.clusterPermission(ctx, identity.ActionCreate, c.ref.GetCluster())
	existing := c.before.ID != ""
	switch {
	case existing && action == identity.ActionWrite:
		// A call that would create it says the same of one that is hidden, and of none.
		if c.creates {
			c.at.missing = on.missing
		}
		// A caller who may change the service knows its cluster.
		on.missing = nil
		permissions, c.projectID = append(permissions, c.at), c.before.ProjectID
	default:
		if permissions, err = one(on, err); err != nil {
			return nil, err
		}
		c.moved, c.projectID = true, on.scope.Project
	}
	if c.project != "" {
		in, err := one(c.projectPermission(ctx, identity.ActionCreate, c.project))
		if err != nil {
			return permissions, err
		}
		if id := in[0].scope.Project; c.moved || id != c.before.ProjectID {
			if permissions = append(permissions, in...); !c.moved {
				permissions = append(permissions, on)
			}
			c.moved, c.projectID = true, id
		}
	}
	if existing && action == identity.ActionCreate {
		return permissions, fleet.Exists(ref(c.ref))
	}
	return permissions, nil
}

// parent requires reading a parent that the service did not have before.
func (c *specCall) parent(ctx context.Context) ([]permission, error) {
	if c.parentID == "" || c.parentID == c.before.ParentID {
		return nil, nil
	}
	missing := fleet.NoParent(c.parentID)
	v, err := c.config.Fleet.ServiceByID(ctx, c.parentID)
	if errcode.Is(err, errcode.NotFound) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	cluster, err := c.config.Fleet.ClusterByID(ctx, v.ClusterID)
	if err == nil && v.Scope(cluster.Cluster).ForAdministrators() && !v.Builtin() {
		// An administrator's service on the hub's own cluster brought the object, with its id.
		// The operator may not read that service, and the link shows nothing of it.
		return nil, nil
	}
	return []permission{{action: identity.ActionRead, scope: v.Scope(cluster.Cluster), missing: missing}}, err
}

// had returns the spec whose uses need no check: the service's current one,
// unless it moves to another project.
func (c *specCall) had() fleet.Spec {
	if c.moved {
		return fleet.Spec{}
	}
	return c.before.Spec
}

// valueSets requires seeing the contexts of other projects that the spec names,
// although a service may use none of them: the answer must not reveal one that the
// caller may not see. Outputs need nothing: those of another project are as if they
// did not exist, and the service waits.
func (c *specCall) valueSets(ctx context.Context) (permissions []permission, err error) {
	had := c.had()
	for i, name := range c.after.Contexts {
		if slices.Contains(had.Contexts, name) {
			continue
		}
		b, err := c.config.ValueSetByName(ctx, config.KindContext, name)
		switch {
		case errcode.Is(err, errcode.NotFound):
			continue
		case err != nil:
			return permissions, err
		case b.ProjectID != "" && b.ProjectID != c.projectID:
			missing := config.NoValueSetAt(name, fmt.Sprintf(config.ContextField, i))
			permissions = append(permissions, permission{action: identity.ActionRead, scope: valueSetScope(b), missing: missing})
		}
	}
	return permissions, nil
}

// clusters requires reading the other clusters with services that this one
// newly depends on.
func (c *specCall) clusters(ctx context.Context) (permissions []permission, err error) {
	for _, d := range c.after.Dependencies {
		if d.Cluster == "" || d.Cluster == c.ref.GetCluster() || slices.Contains(c.had().Dependencies, d) {
			continue
		}
		// A cluster that does not exist is treated as one that the caller may
		// not see.
		more, err := one(c.clusterPermission(ctx, identity.ActionRead, d.Cluster))
		if permissions = append(permissions, more...); err != nil {
			return permissions, err
		}
	}
	return permissions, nil
}
