package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/axle-cd/axle/internal/logkey"
)

// LetGo releases what ended registrations of this cluster left, so that services may
// adopt it. It removes their marks and inventories; the objects stay. The next call
// retries what failed. A call with nothing to do makes no requests.
func LetGo(ctx context.Context, e *Engine, clusters []string) error {
	var failed []error
	for _, id := range e.owners.former.put(clusters) {
		if id == e.cfg.ClusterID {
			continue
		}
		if err := letGo(ctx, e, id); err != nil {
			failed = append(failed, fmt.Errorf("release what registration %s left: %w", id, err))
			continue
		}
		e.owners.former.released(id)
	}
	return errors.Join(failed...)
}

func letGo(ctx context.Context, e *Engine, cluster string) error {
	left := &store{client: e.store.client, namespace: e.store.namespace, cluster: cluster}
	all, broken, err := left.list(ctx, "")
	if err != nil {
		return err
	}
	for service, err := range broken {
		e.cfg.Log.Warn("cannot read an inventory of an ended registration; its objects keep their marks until they are adopted", logkey.Service, service, logkey.Error, err)
	}
	// The permits are no longer known. The agent's own rights are used only to remove
	// our marks from objects that an inventory beside the agent names.
	own := &client{e.store.client}
	for _, i := range all {
		for _, one := range i.sorted() {
			if err := unmark(ctx, own, i.service, one); err != nil && !unserved(err) {
				return fmt.Errorf("%s: %w", one.ref, err)
			}
		}
		if err := left.remove(ctx, i); err != nil {
			return err
		}
		e.cfg.Log.Info("released the objects of an ended registration of this cluster", logkey.Service, i.name, logkey.Count, len(i.entries))
	}
	return nil
}
