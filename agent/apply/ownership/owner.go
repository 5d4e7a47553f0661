package ownership

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/plan"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Verdict says what may be done with an object that a service wants to write.
type Verdict int

const (
	// MayCreate: it does not exist; create it, and never overwrite.
	MayCreate Verdict = iota
	// MayApply: it is ours.
	MayApply
	// MayAdopt: it is not ours, and the service adopts.
	MayAdopt
	// MayNot: it belongs to somebody else.
	MayNot
	// MustWait: it is being deleted.
	MustWait
	// NotYet: another service of ours has it; its next writer takes the claim.
	NotYet
)

// Judge decides from known state who owns an object. had is the entry of the
// service's own inventory, if there is one.
func (r *Registry) Judge(service plan.Service, ref kubeobj.Ref, live kubeobj.Live, had *inventory.Entry) (Verdict, string) {
	switch {
	case live.Deleting:
		return MustWait, "it is being deleted; it is created again once it is gone"
	case live.Cluster != "" && live.Cluster != r.cluster && !r.Former.has(live.Cluster):
		return MayNot, fmt.Sprintf("it is applied by the agent of another cluster registration (%s): remove that agent, or delete the label %s from the object",
			live.Cluster, kubeobj.ManagedLabel)
	case live.ApplySet != "":
		return MayNot, fmt.Sprintf("it belongs to another tool's apply set (label %s): remove it there first", kubeobj.ApplySetLabel)
	case live.Cluster != "" && live.Cluster != r.cluster:
		if service.Adopt || !service.RequireOwnership {
			return MayAdopt, ""
		}
		return MayNot, fmt.Sprintf("an earlier registration of this cluster (%s), which has ended, left it: let the service adopt what it finds (adopt: true)", live.Cluster)
	case live.Owned(service.ID):
		return MayApply, ""
	case had != nil && had.UID != "" && had.UID == live.UID && (live.Service == "" || !live.Tracked):
		// It is the same object that we created, and somebody removed some or all of
		// our marks.
		if other := r.taker(service.ID, ref, live.UID); other != "" {
			return r.judgeSibling(service, ref, other)
		}
		return MayApply, ""
	case live.Tracked && live.Service != "":
		return r.judgeSibling(service, ref, live.Service)
	case live.CreatedFor:
		return MayApply, ""
	case service.Adopt, !service.RequireOwnership:
		return MayAdopt, ""
	}
	return MayNot, "it exists and no service of ours made it: delete it, or let the service adopt what it finds (adopt: true)"
}

// taker is another service that has the same object in its inventory by now and keeps
// it; empty if there is none.
func (r *Registry) taker(service string, ref kubeobj.Ref, uid types.UID) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, id := range r.othersLocked(ref, service) {
		if has := r.services[id].inventory.Entries[ref]; has.UID == uid && !has.Leaving {
			return id
		}
	}
	return ""
}

// judgeSibling decides about an object that another service of ours created. Like
// judge it has no side effects, because a diff calls it too.
func (r *Registry) judgeSibling(service plan.Service, ref kubeobj.Ref, other string) (Verdict, string) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t := r.services[other]
	name := other
	if t != nil && t.inventory != nil {
		i := t.inventory
		name = i.Namespace + "/" + i.Name
		entry, has := i.Entries[ref]
		switch {
		case i.Name == service.Name && i.Namespace == service.Namespace:
			// The same service under a new id: it was deleted and created again.
			return MayApply, ""
		case has && entry.Leaving, !has:
			return MayApply, ""
		}
	}
	switch {
	case !service.RequireOwnership:
		return MayApply, ""
	case t == nil || t.inventory == nil:
		if service.Adopt {
			return MayApply, ""
		}
		return MayNot, fmt.Sprintf("it belongs to service %s, which is no longer on this cluster: let this service adopt it (adopt: true), or delete it", name)
	}
	return NotYet, fmt.Sprintf("it belongs to service %s: remove it there (it is then handed over), or set syncConfig.requireOwnership to false here", name)
}

// Want records which objects of other services this one renders from now on, before
// any of them is written: if a wave fails, the service that gives up objects of later
// waves must still see that they are wanted. Objects that are no longer rendered are
// no longer wanted, or they would go to a service that never deletes them. idle says
// why the service takes nothing for now; empty if it does.
func (r *Registry) Want(service plan.Service, before *inventory.Inventory, p *plan.Plan, idle string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	unable := unableOf(service, p)
	r.Claims.renew(service, func(ref kubeobj.Ref) bool { return p.ByRef[ref] != nil || unable[ref] != "" }, unable, idle)
	claim := func(ref kubeobj.Ref) {
		if had, ok := before.Entries[ref]; ok && had.Hash != 0 {
			return
		}
		for _, other := range r.othersLocked(ref, service.ID) {
			if r.services[other].inventory.Entries[ref].Hash != 0 {
				r.Claims.Put(ref, service.ID)
			}
		}
	}
	for ref := range p.ByRef {
		claim(ref)
	}
	for ref := range unable {
		claim(ref)
	}
}

// unableOf returns the objects that a service renders and cannot have, with the
// reasons.
func unableOf(service plan.Service, p *plan.Plan) map[kubeobj.Ref]string {
	var all map[kubeobj.Ref]string
	for _, problem := range p.Problems {
		if problem.Warning || problem.Ref.Name == "" || p.ByRef[problem.Ref] != nil {
			continue
		}
		if all == nil {
			all = map[kubeobj.Ref]string{}
		}
		all[problem.Ref] = problem.Message
		if inside := problem.Ref; inside.Namespace == "" {
			inside.Namespace = service.Namespace
			all[inside] = problem.Message
		}
	}
	return all
}
