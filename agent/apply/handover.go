package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
)

const (
	// againOthers is after how long a prune that waits for other services looks
	// again.
	againOthers = time.Second
	// othersQuiet is how long such a wait is not reported, because the other services
	// are usually about to apply. After that the prune is held and names them.
	othersQuiet = 2 * time.Minute
	// maxAwaited services are named in a message.
	maxAwaited = 3
)

// Pending is a service of the cluster whose present files and settings have not been
// rendered yet, so that its objects are unknown.
type Pending struct {
	// Name is the service's name; Why says why it has not been rendered.
	Name, Why string
	// Takes reports whether its limits allow an object; nil allows all.
	Takes func(kind kubeobj.Kind, ref kubeobj.Ref) bool
}

// awaited names the services that may still take over objects that a service gives
// up, with the reasons why they have not done so: services that render an object and
// do not take it now, and services that have not been rendered. Objects often move
// between services in one commit. The service that loses them may run first, or the
// other one may be unable to take them.
func (e *Engine) awaited(service Service, leaving []entry) []string {
	var pending []Pending
	if service.Unsettled != nil {
		pending = service.Unsettled()
	}
	var all []string
	for _, entry := range leaving {
		heir, cannot := e.claims.heir(service.ID, entry.ref)
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

// awaitedWords lists the awaited services in one text.
func awaitedWords(awaited []string) string {
	text := strings.Join(awaited[:min(len(awaited), maxAwaited)], ", ")
	if more := len(awaited) - maxAwaited; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// othersFirst reports whether the prune waits for other services. A person may
// release it once it is reported.
func (r *run) othersFirst(ctx context.Context, leaving []entry) (waits bool, err error) {
	awaited := r.awaited(r.service, leaving)
	since := r.claims.waited(r.service.ID, len(awaited), r.cfg.Clock.Now())
	if len(awaited) == 0 {
		return false, nil
	}
	r.result.Awaits = true
	if since <= othersQuiet && r.next.heldFor != heldForOthers {
		r.next.phase, r.dirty = PhaseWaiting, true
		r.result.Sync, r.result.Again = SyncApplying, jitter.Around(againOthers, againOthers/4)
		r.result.Message = "the prune waits for " + awaitedWords(awaited) + ", which may take objects over"
		return true, r.saveIfDirty(ctx)
	}
	if r.next.released(heldForOthers, r.service.PruneApproval) {
		return false, nil
	}
	r.result.Again = jitter.Around(againRefused, againRefused/4)
	return true, r.hold(ctx, leaving, ReasonPruneHeld, fmt.Sprintf("%d objects are no longer rendered, and may be taken over by %s: nothing is deleted until that has been applied, or until you release it with `axle services approve-prune`",
		len(leaving), awaitedWords(awaited)))
}

// Claim records what a service renders without applying it, so that prunes of other
// services keep these objects. why says why it is not applied. Errors are those of
// Pass.
func (e *Engine) Claim(ctx context.Context, permit tenancy.Permit, service Service, objects []*unstructured.Unstructured, why string) error {
	e.mu.Lock()
	t := e.stateLocked(service.ID)
	inv := &inventory{entries: map[kubeobj.Ref]entry{}}
	if t.inventory != nil {
		inv = t.inventory.clone()
	}
	e.mu.Unlock()
	p, err := planner{kinds: e.kinds, cluster: e.cfg.ClusterID, service: service, permit: permit, before: inv}.plan(ctx, objects)
	if err != nil {
		return scrubbed(service, err)
	}
	e.want(service, inv, p, why)
	return nil
}

// want records which objects of other services this one renders from now on, before
// any of them is written: if a wave fails, the service that gives up objects of later
// waves must still see that they are wanted. Objects that are no longer rendered are
// no longer wanted, or they would go to a service that never deletes them. idle says
// why the service takes nothing for now; empty if it does.
func (e *Engine) want(service Service, before *inventory, p *plan, idle string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	unable := unableOf(service, p)
	e.claims.renew(service, func(ref kubeobj.Ref) bool { return p.byRef[ref] != nil || unable[ref] != "" }, unable, idle)
	claim := func(ref kubeobj.Ref) {
		if had, ok := before.entries[ref]; ok && had.hash != 0 {
			return
		}
		for _, other := range e.othersLocked(ref, service.ID) {
			if e.services[other].inventory.entries[ref].hash != 0 {
				e.claims.put(ref, service.ID)
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
func unableOf(service Service, p *plan) map[kubeobj.Ref]string {
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

// Unclaim forgets the claims of a service that leaves the cluster.
func (e *Engine) Unclaim(service string) { e.claims.forget(service) }

// handOver gives an object to another service of ours, which then applies it.
func (e *Engine) handOver(ctx context.Context, c *client, service, heir string, entry entry) error {
	annotations := map[string]any{kubeobj.ServiceAnnotation: heir}
	if strings.EqualFold(entry.ref.Group, kubeobj.OwningInventoryGroup) {
		annotations[kubeobj.OwningInventory] = heir
	}
	if err := remark(ctx, c, service, entry, nil, annotations); err != nil {
		return err
	}
	e.cfg.NeedPass(heir)
	return nil
}
