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
	inv := e.owners.InventoryOf(service.ID)
	if inv == nil {
		return "", nil
	}
	wanted, err := e.planner(service, permit, inv).Plan(ctx, objects)
	if err != nil {
		return "", err
	}
	for _, p := range wanted.Problems {
		if !p.Warning {
			return p.Message, nil
		}
	}
	for _, it := range wanted.Items {
		had, ok := inv.Entries[it.Ref]
		switch {
		case it.Once:
		case !ok || had.Leaving:
			return fmt.Sprintf("%s would be made", it.Ref), nil
		case had.Hash != it.Hash:
			return fmt.Sprintf("%s would be changed", it.Ref), nil
		}
	}
	for ref, had := range inv.Entries {
		if wanted.ByRef[ref] == nil && !had.Leaving && !had.Once {
			return fmt.Sprintf("%s would be deleted", ref), nil
		}
	}
	return "", nil
}
