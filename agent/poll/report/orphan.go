package report

import (
	"fmt"

	"github.com/axle-cd/axle/agent/apply"
)

// orphaned describes a service that is in no list: where it is, whether Cluster API makes
// machines for it, and the commands that end it. Nobody else knows its name.
func (r *Reporter) orphaned(id string) string {
	state, found := r.cfg.Inventory.State(id)
	if !found {
		return "the hub does not list this service any more and did not order its removal; it is left as it is"
	}
	text := fmt.Sprintf("the hub does not list service %s of namespace %s and did not order its removal, as after a restore of this cluster or of the hub from a backup; its %d objects are left as they are", state.Name, state.Namespace, state.Objects)
	for _, o := range r.cfg.Inventory.Objects(id) {
		if o.Ref.Group == "cluster.x-k8s.io" && o.Ref.Kind == "Cluster" {
			text += fmt.Sprintf("; Cluster API makes the machines of its cluster %s if they are gone, which cost money: kubectl delete clusters.cluster.x-k8s.io %s -n %s removes them, if the cluster was destroyed", o.Ref.Name, o.Ref.Name, o.Ref.Namespace)
			break
		}
	}
	return text + fmt.Sprintf("; once its objects are gone, or another service has them, kubectl delete secrets -A -l %s=%s ends this report", apply.InventoryLabel, id)
}
