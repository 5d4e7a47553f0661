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

// specCall is a call that says what a service should be.
type specCall struct {
	*Server
	ref               *hubv1.ServiceRef
	project, parentID string
	// before is the service as it is, with an empty ID when it is not there.
	before fleet.Service
	at     need
	// after is what it is to be.
	after fleet.Spec
	// projectID is where it is to be, moved that it is not there now.
	projectID string
	moved     bool
}

// ofSpec is of calls that say what a service should be. They need to change it,
// or to create it on its cluster and in its project; to move it to another
// project is both. And they need to read each thing of others that it takes
// from and did not take from before.
func ofSpec(ctx context.Context, s *Server, action identity.Action, message any) ([]need, error) {
	c, err := newSpecCall(ctx, s, message)
	if err != nil {
		return nil, err
	}
	needs, err := c.place(ctx, action)
	if err != nil {
		return needs, err
	}
	for _, find := range []func(context.Context) ([]need, error){c.parent, c.sources, c.bags, c.clusters} {
		more, err := find(ctx)
		if needs = append(needs, more...); err != nil {
			return needs, err
		}
	}
	return needs, nil
}

// newSpecCall reads a message, and the service that it is about.
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
	if c.before, c.at.scope, err = s.Fleet.Declared(ctx, ref(c.ref)); err != nil && !errcode.Is(err, errcode.NotFound) {
		return nil, err
	}
	c.at = serviceAt(identity.ActionWrite, ref(c.ref), c.at.scope)
	update, isUpdate := message.(*hubv1.UpdateServiceRequest)
	if isUpdate && c.before.ID == "" {
		return nil, c.at.missing
	}
	if c.after, err = specOf(m.GetSpec()); err != nil || !isUpdate {
		return c, err
	}
	c.after, err = fleet.MergeSpec(c.before.Spec, c.after, update.GetFields())
	return c, err
}

// place needs to change the service, to create it where it is to be, or both.
func (c *specCall) place(ctx context.Context, action identity.Action) (needs []need, err error) {
	on, err := c.clusterNeed(ctx, identity.ActionCreate, c.ref.GetCluster())
	there := c.before.ID != ""
	switch {
	case there && action == identity.ActionWrite:
		// Whoever may change it knows on which cluster it is.
		on.missing = nil
		needs, c.projectID = append(needs, c.at), c.before.ProjectID
	default:
		if needs, err = one(on, err); err != nil {
			return nil, err
		}
		c.moved, c.projectID = true, on.scope.Project
	}
	if c.project != "" {
		in, err := one(c.projectNeed(ctx, identity.ActionCreate, c.project))
		if err != nil {
			return needs, err
		}
		if id := in[0].scope.Project; c.moved || id != c.before.ProjectID {
			if needs = append(needs, in...); !c.moved {
				needs = append(needs, on)
			}
			c.moved, c.projectID = true, id
		}
	}
	if there && action == identity.ActionCreate {
		return needs, fleet.Exists(ref(c.ref))
	}
	return needs, nil
}

// parent needs to read a parent that the service did not have before.
func (c *specCall) parent(ctx context.Context) ([]need, error) {
	if c.parentID == "" || c.parentID == c.before.ParentID {
		return nil, nil
	}
	missing := fleet.NoParent(c.parentID)
	v, err := c.Fleet.ServiceByID(ctx, c.parentID)
	if errcode.Is(err, errcode.NotFound) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	cluster, err := c.Fleet.ClusterByID(ctx, v.ClusterID)
	return []need{{action: identity.ActionRead, scope: v.Scope(cluster.Cluster), missing: missing}}, err
}

// had is the spec whose uses need nothing: what the service has, unless it goes
// to another project.
func (c *specCall) had() fleet.Spec {
	if c.moved {
		return fleet.Spec{}
	}
	return c.before.Spec
}

// sources needs to read the repositories of other projects that the service
// takes something from that it did not take before.
func (c *specCall) sources(ctx context.Context) (needs []need, err error) {
	for _, want := range c.after.TakenAnew(c.had()) {
		want.ProjectID = c.projectID
		have, err := c.Registered(ctx, want)
		if errcode.Is(err, errcode.NotFound) {
			continue // the fleet says so, with the field
		}
		if err != nil {
			return needs, err
		}
		if at := repositoryScope(have); at.Project != c.projectID {
			needs = append(needs, need{action: identity.ActionRead, scope: at, missing: want.Missing()})
		}
	}
	return needs, nil
}

// bags needs to see the contexts and outputs of other projects that the spec
// names, although none of them may be used: nothing is said of one that is not
// to be seen.
func (c *specCall) bags(ctx context.Context) (needs []need, err error) {
	had := c.had()
	look := func(kind, name, field string) error {
		b, err := c.BagByName(ctx, kind, name)
		switch {
		case errcode.Is(err, errcode.NotFound):
			return nil
		case err != nil:
			return err
		case b.ProjectID != "" && b.ProjectID != c.projectID:
			needs = append(needs, need{action: identity.ActionRead, scope: bagScope(b), missing: config.NoBagAt(kind, name, field)})
		}
		return nil
	}
	for i, name := range c.after.Contexts {
		if slices.Contains(had.Contexts, name) {
			continue
		}
		if err := look(config.KindContext, name, fmt.Sprintf(config.ContextField, i)); err != nil {
			return needs, err
		}
	}
	for i, in := range c.after.Imports {
		if slices.Contains(had.Imports, in) {
			continue
		}
		if err := look(config.KindOutputs, in.Stack, fmt.Sprintf(config.ImportField, i)); err != nil {
			return needs, err
		}
	}
	return needs, nil
}

// clusters needs to read the other clusters whose services it begins to wait
// for.
func (c *specCall) clusters(ctx context.Context) (needs []need, err error) {
	for _, d := range c.after.Dependencies {
		if d.Cluster == "" || d.Cluster == c.ref.GetCluster() || slices.Contains(c.had().Dependencies, d) {
			continue
		}
		// One that is not there is the same as one that is not to be seen.
		more, err := one(c.clusterNeed(ctx, identity.ActionRead, d.Cluster))
		if needs = append(needs, more...); err != nil {
			return needs, err
		}
	}
	return needs, nil
}
