package clusterapi

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubepage"
	"github.com/axle-cd/axle/internal/logkey"
)

// The kinds of Cluster API that are read.
var (
	clusters    = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}
	deployments = schema.GroupVersionResource{Group: clusters.Group, Version: clusters.Version, Resource: "machinedeployments"}
	instances   = schema.GroupVersionResource{Group: clusters.Group, Version: clusters.Version, Resource: "machines"}
	pools       = schema.GroupVersionResource{Group: clusters.Group, Version: clusters.Version, Resource: "machinepools"}
)

// The labels of the objects of a cluster: its name, and the names of its pools in its topology.
const (
	clusterLabel    = "cluster.x-k8s.io/cluster-name"
	deploymentLabel = "topology.cluster.x-k8s.io/deployment-name"
	poolLabel       = "topology.cluster.x-k8s.io/pool-name"
)

// object is what is read of an object of Cluster API.
type object struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas int32  `json:"replicas"`
		Version  string `json:"version"`
	} `json:"spec"`
	Status struct {
		machines
		Phase   string `json:"phase"`
		NodeRef struct {
			Name string `json:"name"`
		} `json:"nodeRef"`
		ControlPlane machines           `json:"controlPlane"`
		Conditions   []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// machines are the counts that all kinds have.
type machines struct {
	Desired  int32 `json:"desiredReplicas"`
	Ready    int32 `json:"readyReplicas"`
	UpToDate int32 `json:"upToDateReplicas"`
	Versions []struct {
		Version string `json:"version"`
	} `json:"versions"`
}

// place is where a cluster is.
type place struct{ namespace, name string }

// observe returns the states of clusters by their places, in Cluster API's words, by one list
// of each kind. One that is not there yet is not in it.
func (c *Clusters) observe(ctx context.Context, of map[place]*child) (map[place]*agentv1.ChildState, error) {
	states := map[place]*agentv1.ChildState{}
	have := map[place][]object{} // the machines of clusters of which some are to be replaced
	err := c.each(ctx, clusters, func(o object) {
		at := place{o.Namespace, o.Name}
		if of[at] == nil {
			return
		}
		c.mu.Lock()
		of[at].is(o.UID)
		c.mu.Unlock()
		s := &agentv1.ChildState{Phase: o.Status.Phase, ControlPlane: o.Status.ControlPlane.message("", "")}
		for _, condition := range o.Status.Conditions {
			s.Conditions = append(s.Conditions, &agentv1.ChildCondition{
				Type: condition.Type, Status: string(condition.Status), Reason: condition.Reason, Message: condition.Message, Since: clock.Micros(condition.LastTransitionTime.Time),
			})
		}
		states[at] = s
	})
	if err != nil || len(states) == 0 {
		return nil, err
	}
	for resource, label := range map[schema.GroupVersionResource]string{deployments: deploymentLabel, pools: poolLabel} {
		err := c.each(ctx, resource, func(o object) {
			s := states[place{o.Namespace, o.Labels[clusterLabel]}]
			if s == nil {
				return
			}
			name := o.Labels[label]
			if name == "" {
				name = o.Name
			}
			o.Status.Desired = o.Spec.Replicas
			s.Pools = append(s.Pools, o.Status.message(name, o.Status.Phase))
		})
		if err != nil && !apierrors.IsNotFound(err) { // a kind that is not served has no objects
			return nil, err
		}
	}
	err = c.each(ctx, instances, func(o object) {
		if s := states[place{o.Namespace, o.Labels[clusterLabel]}]; s != nil {
			s.Machines = append(s.Machines, o.machine())
			if at := (place{o.Namespace, o.Labels[clusterLabel]}); len(of[at].replace) > 0 {
				have[at] = append(have[at], o)
			}
		}
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	for at, s := range states {
		if err == nil {
			c.replace(ctx, s, of[at].replace, have[at])
		}
		keepMachines(s)
		slices.SortFunc(s.GetPools(), func(a, b *agentv1.ChildMachines) int { return strings.Compare(a.GetName(), b.GetName()) })
	}
	return states, nil
}

// is notes which Cluster object a cluster has. Another one is another cluster, with machines
// of its own and nothing of the agent of the one before. Clusters.mu is held.
func (one *child) is(uid types.UID) {
	if one.uid != "" && one.uid != uid {
		one.connected, one.next = false, time.Time{}
	}
	one.uid = uid
}

// reportedMachines is how many machines of a cluster are reported.
const reportedMachines = 100

// machine is what is reported of a Machine.
func (o object) machine() *agentv1.ChildMachine {
	m := &agentv1.ChildMachine{
		Name: o.Name, Uid: string(o.UID), Pool: cmp.Or(o.Labels[deploymentLabel], o.Labels[poolLabel]), Phase: o.Status.Phase,
		Node: o.Status.NodeRef.Name, Version: o.Spec.Version, CreatedAt: clock.Micros(o.CreationTimestamp.Time),
	}
	m.Message = o.message("Ready", metav1.ConditionFalse, metav1.ConditionUnknown)
	if o.DeletionTimestamp != nil {
		m.Message = o.going()
	}
	return m
}

// message is that of a condition that has one of some statuses, or its reason.
func (o object) message(condition string, statuses ...metav1.ConditionStatus) string {
	for _, c := range o.Status.Conditions {
		if c.Type == condition && slices.Contains(statuses, c.Status) {
			return cmp.Or(c.Message, c.Reason)
		}
	}
	return ""
}

// going is what the deletion of a machine waits for.
func (o object) going() string {
	return cmp.Or(o.message("Deleting", metav1.ConditionTrue), "it is being deleted")
}

// keepMachines leaves those that a report has, the ones first that are not ready.
func keepMachines(s *agentv1.ChildState) {
	slices.SortFunc(s.GetMachines(), func(a, b *agentv1.ChildMachine) int {
		if unready := a.GetMessage() != ""; unready != (b.GetMessage() != "") {
			if unready {
				return -1
			}
			return 1
		}
		return cmp.Or(strings.Compare(a.GetPool(), b.GetPool()), strings.Compare(a.GetName(), b.GetName()))
	})
	kept := s.GetMachines()[:min(len(s.GetMachines()), reportedMachines)]
	s.MoreMachines, s.Machines = int32(len(s.GetMachines())-len(kept)), kept
}

func (m machines) message(name, phase string) *agentv1.ChildMachines {
	out := &agentv1.ChildMachines{Name: name, Phase: phase, Desired: m.Desired, Ready: m.Ready, UpToDate: m.UpToDate}
	for _, v := range m.Versions {
		out.Versions = append(out.Versions, v.Version)
	}
	slices.Sort(out.GetVersions())
	return out
}

// pageSize is how many objects are read at once.
const pageSize = 100

// each calls back for the objects of a kind, in all namespaces.
func (c *Clusters) each(ctx context.Context, resource schema.GroupVersionResource, do func(object)) error {
	more, path := "", kubepage.Path(resource, "")
	for {
		request := c.config.Client.CoreV1().RESTClient().Get().AbsPath(path...).SetHeader("Accept", "application/json").Param("limit", strconv.Itoa(pageSize)).Param("continue", more)
		page, err := kubepage.Each(ctx, request, func(item []byte) error {
			o, err := read(item)
			switch {
			case errors.Is(err, bounded.ErrTooLarge): // whoever wrote it holds up nobody else
				c.config.Log.Warn("an object of Cluster API is left out", "resource", resource.Resource, logkey.Error, err)
			case err != nil:
				return err
			default:
				do(o)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if more = page.Continue; more == "" {
			return nil
		}
	}
}

func read(item []byte) (o object, err error) {
	if err := kubepage.Decode(item, &o); err != nil {
		return o, errcode.New(errcode.Unprocessable, "an object %s/%s has fields that Cluster API does not give it: %w", o.Namespace, o.Name, err)
	}
	return o, nil
}

// settled reports whether nothing about a cluster is on its way.
func settled(s *agentv1.ChildState) bool {
	still := func(m *agentv1.ChildMachines) bool {
		return m.GetReady() == m.GetDesired() && m.GetUpToDate() == m.GetDesired()
	}
	moves := slices.ContainsFunc(s.GetPools(), func(m *agentv1.ChildMachines) bool { return !still(m) })
	if slices.ContainsFunc(s.GetReplacements(), func(r *agentv1.ChildReplacement) bool { return !r.GetDone() && !r.GetRefused() }) {
		return false
	}
	return s.GetPhase() == "Provisioned" && s.GetMessage() == "" && still(s.GetControlPlane()) && !moves
}
