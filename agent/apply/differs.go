package apply

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/tenancy"
)

// Differs names an object that a pass would write or delete although the service did
// not change; empty if there is none. It compares with the inventory only and writes
// nothing. Hooks do not count, because they run when something changed.
func (e *Engine) Differs(ctx context.Context, permit tenancy.Permit, service Service, objects []*unstructured.Unstructured) (string, error) {
	inv := e.owners.inventoryOf(service.ID)
	if inv == nil {
		return "", nil
	}
	wanted, err := e.planner(service, permit, inv).plan(ctx, objects)
	if err != nil {
		return "", err
	}
	for _, p := range wanted.problems {
		if !p.Warning {
			return p.Message, nil
		}
	}
	for _, it := range wanted.items {
		had, ok := inv.entries[it.ref]
		switch {
		case it.once:
		case !ok || had.leaving:
			return fmt.Sprintf("%s would be made", it.ref), nil
		case had.hash != it.hash:
			return fmt.Sprintf("%s would be changed", it.ref), nil
		}
	}
	for ref, had := range inv.entries {
		if wanted.byRef[ref] == nil && !had.leaving && !had.once {
			return fmt.Sprintf("%s would be deleted", ref), nil
		}
	}
	return "", nil
}
