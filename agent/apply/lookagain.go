package apply

import (
	"context"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/internal/logkey"
)

// InventoryLabel is on the Secrets of an inventory, and holds the id of the service.
const InventoryLabel = inventory.Label

// LookAgain finds inventories that came back without this agent, as from a backup of the
// cluster, and forgets services that nobody wants and whose inventory somebody deleted. It
// returns both. It only reads: of what was found nothing is written or deleted before a
// Pass or a Drain. While nothing changed it costs one list of names.
func (e *Engine) LookAgain(ctx context.Context, unwanted []string) (changed []string, err error) {
	known := map[string]bool{} // from before the list: what leaves meanwhile does not come back
	for _, id := range e.Services() {
		known[id] = true
	}
	have, err := e.store.Services(ctx)
	if err != nil {
		return nil, err
	}
	for id := range have {
		if known[id] {
			continue
		}
		all, broken, err := e.store.List(ctx, id)
		switch {
		case err != nil:
			return changed, err
		case broken[id] != nil:
			e.cfg.Log.Error("cannot read an inventory", logkey.Service, id, logkey.Error, broken[id])
		case all[id] != nil && e.owners.Find(all[id]):
			for _, entry := range all[id].Entries {
				e.kinds.Learn(entry.Kind)
			}
			changed = append(changed, id)
		}
	}
	for _, id := range unwanted {
		if known[id] && !have[id] {
			e.owners.Forget(id)
			e.kept.forget(id)
			changed = append(changed, id)
		}
	}
	if len(changed) > 0 {
		e.watch()
	}
	return changed, nil
}
