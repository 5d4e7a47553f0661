package clusterapi

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/logkey"
)

// replace deletes the machines of a cluster that are to be replaced, and notes in its state
// how far each is. Cluster API drains them, and their MachineSets make others once they are gone.
// have are all machines of that cluster: a uid of another one is none of them, and one that is
// gone is never had again, so a machine is deleted once however often this is repeated.
func (c *Clusters) replace(ctx context.Context, s *agentv1.ChildState, wanted []*agentv1.MachineReplacement, have []object) {
	for _, w := range wanted {
		r := &agentv1.ChildReplacement{Uid: w.GetUid()}
		s.Replacements = append(s.Replacements, r)
		at := slices.IndexFunc(have, func(o object) bool { return string(o.UID) == w.GetUid() })
		if at < 0 {
			r.Message = lacks(s, w.GetPool(), have)
			r.Done = r.GetMessage() == ""
			continue
		}
		o := have[at]
		if owner := metav1.GetControllerOf(&o.ObjectMeta); owner == nil || owner.Kind != "MachineSet" {
			r.Message, r.Refused = "no MachineSet of Cluster API would make another machine in its place", true
			continue
		}
		if o.DeletionTimestamp != nil {
			r.Message = o.going()
			continue
		}
		err := c.config.Dynamic.Resource(instances).Namespace(o.Namespace).Delete(ctx, o.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(w.GetUid())})
		switch {
		case err == nil:
			c.config.Log.Info("a machine is deleted, because it is to be replaced", logkey.Object, "Machine "+o.Namespace+"/"+o.Name)
			r.Message = "it is being deleted"
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err): // those are seen as gone by the next look
			r.Message = "it cannot be deleted: " + err.Error()
		}
	}
}

// lacks is how many machines a pool lacks, empty for none. A pool that is gone lacks none.
func lacks(s *agentv1.ChildState, pool string, have []object) string {
	at := slices.IndexFunc(s.GetPools(), func(m *agentv1.ChildMachines) bool { return m.GetName() == pool })
	if at < 0 {
		return ""
	}
	ready := int32(0)
	for _, o := range have {
		if o.machine().GetPool() == pool && o.DeletionTimestamp == nil && o.message("Ready", metav1.ConditionTrue) != "" {
			ready++
		}
	}
	if want := s.GetPools()[at].GetDesired(); ready < want {
		return fmt.Sprintf("it is gone, and %d of the %d machines of node pool %s are ready", ready, want, pool)
	}
	return ""
}
