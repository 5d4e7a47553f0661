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
	// againOthers is when a prune that waits for other services looks again.
	againOthers = time.Second
	// othersQuiet is how long such a wait is nothing that a person need know:
	// the other services are on their way. Then it is held, and says for whom.
	othersQuiet = 2 * time.Minute
	// maxAwaited services are named in a message.
	maxAwaited = 3
)

// Pending is a service of the cluster whose present files and settings have not
// become objects yet: nobody knows which ones it wants.
type Pending struct {
	// Name is the service's, and Why says why it has none.
	Name, Why string
	// Takes reports whether its limits let it have an object; nil is all.
	Takes func(kind kubeobj.Kind, ref kubeobj.Ref) bool
}

// awaited names the services that may still take over some of what a service
// gives up, with the reasons why they have not: those that render it and do not
// take it now, and those of which nobody knows what they render. Objects often
// move between services in one commit, and the one that loses them may come
// first, or the other one be unable to take them.
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

// awaitedWords puts those that are waited for into one text.
func awaitedWords(awaited []string) string {
	text := strings.Join(awaited[:min(len(awaited), maxAwaited)], ", ")
	if more := len(awaited) - maxAwaited; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// othersFirst reports whether the prune waits for other services. A person may
// release it once it has said so.
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
	return true, r.hold(ctx, leaving, ReasonPruneHeld, fmt.Sprintf("%d objects are not rendered any more, and may be taken over by %s: nothing is deleted until that has been applied, or it is released with `axle services approve-prune`",
		len(leaving), awaitedWords(awaited)))
}

// Claim notes what a service renders without applying any of it: prunes of other
// services leave that alone. why says why it is not applied. NotFound and others
// as Pass.
func (e *Engine) Claim(ctx context.Context, permit tenancy.Permit, service Service, objects []*unstructured.Unstructured, why string) error {
	e.mu.Lock()
	t := e.tenantLocked(service.ID)
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

// want notes which objects of other services this one renders from now on,
// before any of them is written: a wave that fails must not make the objects of
// later waves look unwanted to the one who gives them up. What is not rendered
// any more is not wanted any more, or it would be given to somebody who never
// deletes it. idle says why the service takes nothing for now, empty when it
// does.
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

// unableOf are the objects that a service renders and cannot have, and why not.
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

// Unclaim forgets what a service renders that is not to be on the cluster any
// more.
func (e *Engine) Unclaim(service string) { e.claims.forget(service) }

// handOver gives an object to another service of ours, which applies it next.
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
