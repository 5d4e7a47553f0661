package apply

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/agent/apply/write"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// selects reports whether GROUP:KIND:NAME or GROUP:KIND:NAMESPACE/NAME names an
// object.
func selects(text string, ref kubeobj.Ref) bool {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) != 3 || !strings.EqualFold(parts[0], ref.Group) || !strings.EqualFold(parts[1], ref.Kind) {
		return false
	}
	namespace, name, found := strings.Cut(parts[2], "/")
	if !found {
		return parts[2] == ref.Name
	}
	return namespace == ref.Namespace && name == ref.Name
}

// Select applies only the objects that the service's last sync request names
// (Service.Only), in their order, without hooks and without a prune. It does not
// report the revision as applied.
func (e *Engine) Select(ctx context.Context, permit tenancy.Permit, service Service, objects []*unstructured.Unstructured) (Result, error) {
	t := e.begin(service)
	defer e.end(t)
	r := &run{Engine: e, service: service, permit: permit, state: t, began: time.Now()}
	err := r.selectOnly(ctx, objects)
	if err != nil {
		return Result{}, scrubbed(service, err)
	}
	r.finish()
	return r.result, nil
}

func (r *run) selectOnly(ctx context.Context, objects []*unstructured.Unstructured) error {
	var err error
	if r.client, err = r.clientOf(r.permit, r.service); err != nil {
		return err
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	if r.plan, err = r.planner(r.service, r.permit, r.before).Plan(ctx, objects); err != nil {
		return err
	}
	r.plan.Items = r.chosen()
	todo := r.dirty
	for _, it := range r.plan.Items {
		if _, had := r.next.Entries[it.Ref]; !had {
			r.next.Entries[it.Ref] = inventory.Entry{Kind: it.Kind, Ref: it.Ref, Order: it.Order, Once: it.Once, Prune: it.Prune}
			todo = true
		}
	}
	if todo {
		if err := r.save(ctx); err != nil {
			return err
		}
	}
	r.watch()
	r.writer = &write.Writer{Common: r.written, Client: r.client, Service: r.service, Targets: r.plan.Targets(), NewKinds: map[string]bool{}}
	if err := r.prepareNamespace(ctx); err != nil {
		return err
	}
	for _, group := range r.plan.Groups() {
		failed, err := r.applyGroup(ctx, group)
		if err != nil {
			return err
		}
		if failed > 0 || r.more {
			break
		}
	}
	r.result.Sync, r.result.Partly = SyncApplying, true
	if r.more {
		r.result.Again = time.Millisecond
		return r.save(ctx)
	}
	r.next.SyncRequest = r.service.SyncRequest
	return r.save(ctx)
}

// chosen returns the items that the request names; a name without an item is a
// problem.
func (r *run) chosen() []*wave.Item {
	var all []*wave.Item
	met := map[string]bool{}
	for _, it := range r.plan.Items {
		for _, text := range r.service.Only {
			if selects(text, it.Ref) && !it.Hook.Runs {
				all = append(all, it)
				met[text] = true
				break
			}
		}
	}
	for _, text := range r.service.Only {
		if !met[text] {
			r.result.Problems = append(r.result.Problems, Problem{Source: "apply", Warning: true,
				Message: fmt.Sprintf("the service renders no object %q to sync; hooks run only in a full sync", text)})
		}
	}
	return all
}
