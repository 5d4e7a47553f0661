package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/prune"
	"github.com/axle-cd/axle/internal/logkey"
)

// LetGo releases what ended registrations of this cluster left, so that services may
// adopt it. It removes their marks and inventories; the objects stay. The next call
// retries what failed. A call with nothing to do makes no requests.
func LetGo(ctx context.Context, e *Engine, clusters []string) error {
	var failed []error
	for _, id := range e.owners.Former.Put(clusters) {
		if id == e.cfg.ClusterID {
			continue
		}
		if err := letGo(ctx, e, id); err != nil {
			failed = append(failed, fmt.Errorf("release what registration %s left: %w", id, err))
			continue
		}
		e.owners.Former.Released(id)
	}
	return errors.Join(failed...)
}

func letGo(ctx context.Context, e *Engine, cluster string) error {
	left := &inventory.Store{Client: e.store.Client, Namespace: e.store.Namespace, Cluster: cluster}
	all, broken, err := left.List(ctx, "")
	if err != nil {
		return err
	}
	for service, err := range broken {
		e.cfg.Log.Warn("cannot read an inventory of an ended registration; its objects keep their marks until they are adopted", logkey.Service, service, logkey.Error, err)
	}
	// The permits are no longer known. The agent's own rights are used only to remove
	// our marks from objects that an inventory beside the agent names.
	own := &kubeclient.Client{Sender: e.store.Client}
	for _, i := range all {
		for _, one := range i.Sorted() {
			if err := prune.Unmark(ctx, own, i.Service, one); err != nil && !kubeclient.Unserved(err) {
				return fmt.Errorf("%s: %w", one.Ref, err)
			}
		}
		if err := left.Remove(ctx, i); err != nil {
			return err
		}
		e.cfg.Log.Info("released the objects of an ended registration of this cluster", logkey.Service, i.Name, logkey.Count, len(i.Entries))
	}
	return nil
}
