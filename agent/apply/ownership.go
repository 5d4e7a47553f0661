package apply

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// verdict says what may be done with an object that a service wants to write.
type verdict int

const (
	// mayCreate: it does not exist; create it, and never overwrite.
	mayCreate verdict = iota
	// mayApply: it is ours.
	mayApply
	// mayAdopt: it is not ours, and the service adopts.
	mayAdopt
	// mayNot: it belongs to somebody else.
	mayNot
	// mustWait: it is being deleted.
	mustWait
	// notYet: another service of ours has it; its next writer takes the claim.
	notYet
)

// judge decides from known state who owns an object. had is the entry of the
// service's own inventory, if there is one.
func (e *Engine) judge(service Service, ref kubeobj.Ref, live kubeobj.Live, had *entry) (verdict, string) {
	switch {
	case live.Deleting:
		return mustWait, "it is being deleted; it is created again once it is gone"
	case live.Cluster != "" && live.Cluster != e.cfg.ClusterID && !e.former.has(live.Cluster):
		return mayNot, fmt.Sprintf("it is applied by the agent of another cluster registration (%s): remove that agent, or delete the label %s from the object",
			live.Cluster, kubeobj.ManagedLabel)
	case live.ApplySet != "":
		return mayNot, fmt.Sprintf("it belongs to another tool's apply set (label %s): remove it there first", kubeobj.ApplySetLabel)
	case live.Cluster != "" && live.Cluster != e.cfg.ClusterID:
		if service.Adopt || !service.RequireOwnership {
			return mayAdopt, ""
		}
		return mayNot, fmt.Sprintf("an earlier registration of this cluster (%s), which has ended, left it: let the service adopt what it finds (adopt: true)", live.Cluster)
	case live.Owned(service.ID):
		return mayApply, ""
	case had != nil && had.uid != "" && had.uid == live.UID && (live.Service == "" || !live.Tracked):
		// It is the same object that we created, and somebody removed some or all of
		// our marks.
		if other := e.taker(service.ID, ref, live.UID); other != "" {
			return e.judgeSibling(service, ref, other)
		}
		return mayApply, ""
	case live.Tracked && live.Service != "":
		return e.judgeSibling(service, ref, live.Service)
	case live.CreatedFor:
		return mayApply, ""
	case service.Adopt, !service.RequireOwnership:
		return mayAdopt, ""
	}
	return mayNot, "it exists and no service of ours made it: delete it, or let the service adopt what it finds (adopt: true)"
}

// taker is another service that has the same object in its inventory by now and keeps
// it; empty if there is none.
func (e *Engine) taker(service string, ref kubeobj.Ref, uid types.UID) string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, id := range e.othersLocked(ref, service) {
		if has := e.services[id].inventory.entries[ref]; has.uid == uid && !has.leaving {
			return id
		}
	}
	return ""
}

// judgeSibling decides about an object that another service of ours created. Like
// judge it has no side effects, because a diff calls it too.
func (e *Engine) judgeSibling(service Service, ref kubeobj.Ref, other string) (verdict, string) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	t := e.services[other]
	name := other
	if t != nil && t.inventory != nil {
		i := t.inventory
		name = i.namespace + "/" + i.name
		entry, has := i.entries[ref]
		switch {
		case i.name == service.Name && i.namespace == service.Namespace:
			// The same service under a new id: it was deleted and created again.
			return mayApply, ""
		case has && entry.leaving, !has:
			return mayApply, ""
		}
	}
	switch {
	case !service.RequireOwnership:
		return mayApply, ""
	case t == nil || t.inventory == nil:
		if service.Adopt {
			return mayApply, ""
		}
		return mayNot, fmt.Sprintf("it belongs to service %s, which is no longer on this cluster: let this service adopt it (adopt: true), or delete it", name)
	}
	return notYet, fmt.Sprintf("it belongs to service %s: remove it there (it is then handed over), or set syncConfig.requireOwnership to false here", name)
}

// look reads an object's metadata from the API server and judges it.
func (e *Engine) look(ctx context.Context, c *client, service Service, it *item, had *entry) (verdict, string, *metav1.PartialObjectMetadata, error) {
	meta, err := c.get(ctx, it.kind, it.ref)
	if err != nil {
		return mayNot, "", nil, err
	}
	if meta == nil {
		return mayCreate, "", nil, nil
	}
	v, why := e.judge(service, it.ref, kubeobj.Reduce(it.ref, meta), had)
	return v, why, meta, nil
}
