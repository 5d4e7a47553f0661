package apply

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/prune"
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
func (r *run) othersFirst(ctx context.Context, leaving []inventory.Entry) (waits bool, err error) {
	awaited := r.owners.Claims.Awaited(r.service, leaving)
	since := r.owners.Claims.Waited(r.service.ID, len(awaited), r.cfg.Clock.Now())
	if len(awaited) == 0 {
		return false, nil
	}
	r.result.Awaits = true
	if since <= othersQuiet && r.next.HeldFor != inventory.HeldForOthers {
		r.recordWritten()
		r.next.Phase, r.dirty = PhaseWaiting, true
		r.result.Sync, r.result.Again = SyncApplying, jitter.Around(againOthers, againOthers/4)
		r.result.Message = "the prune waits for " + awaitedWords(awaited) + ", which may take objects over"
		return true, r.saveIfDirty(ctx)
	}
	if r.next.Released(inventory.HeldForOthers, r.service.PruneApproval) {
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
	inv := e.owners.InventoryOf(service.ID)
	if inv == nil {
		inv = &inventory.Inventory{Entries: map[kubeobj.Ref]inventory.Entry{}}
	}
	p, err := e.planner(service, permit, inv).Plan(ctx, objects)
	if err != nil {
		return scrubbed(service, err)
	}
	e.owners.Want(service, inv, p, why)
	return nil
}

// Unclaim forgets the claims of a service that leaves the cluster.
func (e *Engine) Unclaim(service string) { e.owners.Claims.Forget(service) }

// handOver gives an object to another service of ours, which then applies it.
func (e *Engine) handOver(ctx context.Context, c *kubeclient.Client, service, heir string, entry inventory.Entry) error {
	annotations := map[string]any{kubeobj.ServiceAnnotation: heir}
	if strings.EqualFold(entry.Ref.Group, kubeobj.OwningInventoryGroup) {
		annotations[kubeobj.OwningInventory] = heir
	}
	if err := prune.Remark(ctx, c, service, entry, nil, annotations); err != nil {
		return err
	}
	e.cfg.NeedPass(heir)
	return nil
}
