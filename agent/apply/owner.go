package apply

import (
	"fmt"
	"slices"

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
func (r *registry) judge(service serviceInput, ref kubeobj.Ref, live kubeobj.Live, had *entry) (verdict, string) {
	switch {
	case live.Deleting:
		return mustWait, "it is being deleted; it is created again once it is gone"
	case live.Cluster != "" && live.Cluster != r.cluster && !r.former.has(live.Cluster):
		return mayNot, fmt.Sprintf("it is applied by the agent of another cluster registration (%s): remove that agent, or delete the label %s from the object",
			live.Cluster, kubeobj.ManagedLabel)
	case live.ApplySet != "":
		return mayNot, fmt.Sprintf("it belongs to another tool's apply set (label %s): remove it there first", kubeobj.ApplySetLabel)
	case live.Cluster != "" && live.Cluster != r.cluster:
		if service.Adopt || !service.RequireOwnership {
			return mayAdopt, ""
		}
		return mayNot, fmt.Sprintf("an earlier registration of this cluster (%s), which has ended, left it: let the service adopt what it finds (adopt: true)", live.Cluster)
	case live.Owned(service.ID):
		return mayApply, ""
	case had != nil && had.uid != "" && had.uid == live.UID && (live.Service == "" || !live.Tracked):
		// It is the same object that we created, and somebody removed some or all of
		// our marks.
		if other := r.taker(service.ID, ref, live.UID); other != "" {
			return r.judgeSibling(service, ref, other)
		}
		return mayApply, ""
	case live.Tracked && live.Service != "":
		return r.judgeSibling(service, ref, live.Service)
	case live.CreatedFor:
		return mayApply, ""
	case service.Adopt, !service.RequireOwnership:
		return mayAdopt, ""
	}
	return mayNot, "it exists and no service of ours made it: delete it, or let the service adopt what it finds (adopt: true)"
}

// taker is another service that has the same object in its inventory by now and keeps
// it; empty if there is none.
func (r *registry) taker(service string, ref kubeobj.Ref, uid types.UID) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, id := range r.othersLocked(ref, service) {
		if has := r.services[id].inventory.entries[ref]; has.uid == uid && !has.leaving {
			return id
		}
	}
	return ""
}

// judgeSibling decides about an object that another service of ours created. Like
// judge it has no side effects, because a diff calls it too.
func (r *registry) judgeSibling(service serviceInput, ref kubeobj.Ref, other string) (verdict, string) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t := r.services[other]
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

// awaited names the services that may still take over objects that a service gives
// up, with the reasons why they have not done so: services that render an object and
// do not take it now, and services that have not been rendered. Objects often move
// between services in one commit. The service that loses them may run first, or the
// other one may be unable to take them.
func (r *registry) awaited(service serviceInput, leaving []entry) []string {
	var pending []pendingService
	if service.Unsettled != nil {
		pending = service.Unsettled()
	}
	var all []string
	for _, entry := range leaving {
		heir, cannot := r.claims.heir(service.ID, entry.ref)
		if entry.hook.runs || heir != "" && cannot == "" {
			continue
		}
		who := []string{cannot}
		if heir == "" {
			who = nil
			for _, p := range pending {
				if p.Takes == nil || p.Takes(entry.kind, entry.ref) {
					who = append(who, fmt.Sprintf("service %s (%s)", p.Name, p.Why))
				}
			}
		}
		for _, text := range who {
			if !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}

// want records which objects of other services this one renders from now on, before
// any of them is written: if a wave fails, the service that gives up objects of later
// waves must still see that they are wanted. Objects that are no longer rendered are
// no longer wanted, or they would go to a service that never deletes them. idle says
// why the service takes nothing for now; empty if it does.
func (r *registry) want(service serviceInput, before *inventory, p *plan, idle string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	unable := unableOf(service, p)
	r.claims.renew(service, func(ref kubeobj.Ref) bool { return p.byRef[ref] != nil || unable[ref] != "" }, unable, idle)
	claim := func(ref kubeobj.Ref) {
		if had, ok := before.entries[ref]; ok && had.hash != 0 {
			return
		}
		for _, other := range r.othersLocked(ref, service.ID) {
			if r.services[other].inventory.entries[ref].hash != 0 {
				r.claims.put(ref, service.ID)
			}
		}
	}
	for ref := range p.byRef {
		claim(ref)
	}
	for ref := range unable {
		claim(ref)
	}
}

// unableOf returns the objects that a service renders and cannot have, with the
// reasons.
func unableOf(service serviceInput, p *plan) map[kubeobj.Ref]string {
	var all map[kubeobj.Ref]string
	for _, problem := range p.problems {
		if problem.Warning || problem.Ref.Name == "" || p.byRef[problem.Ref] != nil {
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
