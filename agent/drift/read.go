package drift

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/axle-cd/axle/agent/health"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// readLimit bounds the read of one object.
const readLimit = 10 * time.Second

// read asks the API server for one object.
func (w *Watcher) read(ctx context.Context, k *kindWatch, ref kubeobj.Ref) (kubeobj.Live, bool, error) {
	s := &stream{w: w, k: k}
	raw, err := w.fetch(ctx, k.kind, ref, s.accept())
	if apierrors.IsNotFound(err) {
		return kubeobj.Live{}, false, nil
	}
	if err != nil {
		return kubeobj.Live{}, false, err
	}
	_, live, _, err := s.reduce(raw)
	return live, err == nil, err
}

func (w *Watcher) fetch(ctx context.Context, kind kubeobj.Kind, ref kubeobj.Ref, accept string) ([]byte, error) {
	path := "/apis/" + kind.Group + "/" + kind.Version
	if kind.Group == "" {
		path = "/api/" + kind.Version
	}
	if ref.Namespace != "" {
		path += "/namespaces/" + ref.Namespace
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	return w.rest.Get().AbsPath(path, kind.Resource, ref.Name).SetHeader("Accept", accept).MaxRetries(0).Do(ctx).Raw()
}

// State is the state of one object in a Finding.
type State string

// The states of a Finding.
const (
	// Drifted: the object differs from what was applied. It is healed or, if only
	// people's additions differ, reported.
	Drifted State = "Drifted"
	// Contested: healed too often; another writer changes it too.
	Contested State = "Contested"
	// Unknown: the kind cannot be watched.
	Unknown State = "Unknown"
)

// Finding is one object that is not known to be in its desired state.
type Finding struct {
	Ref     kubeobj.Ref
	State   State
	Message string
}

// Findings returns the problems of a service's objects, worst first; none means that
// all are known to be as they were applied. Messages hold names of objects and of
// managers, and the error of the owner's heal.
func (w *Watcher) Findings(service string) []Finding {
	w.mu.Lock()
	var all []Finding
	blind := map[kubeobj.Kind]string{}
	for ref, m := range w.marksOf[service] {
		w.looks++
		if m.state != "" {
			all = append(all, Finding{Ref: ref, State: m.state, Message: m.message()})
		}
	}
	for _, k := range w.kinds {
		if k.state == unknown {
			blind[k.kind] = k.kind.String() + ": " + k.message
		}
	}
	owner := w.owner
	w.mu.Unlock()
	if len(blind) > 0 {
		for _, want := range owner.Objects(service) {
			if why, unknown := blind[want.Kind]; unknown {
				all = append(all, Finding{Ref: want.Ref, State: Unknown, Message: why})
			}
		}
	}
	order := map[State]int{Contested: 0, Drifted: 1, Unknown: 2}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(order[a.State], order[b.State]), a.Ref.Compare(b.Ref))
	})
	return all
}

// Components returns the state of the objects for health.RollUp and
// health.Pack. Objects of kinds that cannot be watched are Unknown.
func (w *Watcher) Components(objects []kubeobj.Expected) []*agentv1.Component {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*agentv1.Component, 0, len(objects))
	for _, want := range objects {
		c := &agentv1.Component{Group: want.Ref.Group, Version: want.Kind.Version, Kind: want.Ref.Kind,
			Namespace: want.Ref.Namespace, Name: want.Ref.Name, Uid: string(want.UID)}
		m := w.marks[want.Ref]
		if c.Synced = m == nil || m.state == ""; !c.Synced {
			action := "waiting"
			if m.shown {
				action = "reported"
			}
			c.Drift = driftedFields(m.fields, action)
		}
		w.healthLocked(want, c)
		all = append(all, c)
	}
	return all
}

func (w *Watcher) healthLocked(want kubeobj.Expected, c *agentv1.Component) {
	k := w.kinds[want.Kind.GroupKind()]
	switch {
	case k == nil || k.state == syncing:
		c.Health, c.Message = string(health.Unknown), "it is not watched yet"
		return
	case k.state == unknown:
		c.Health, c.Message = string(health.Unknown), k.message
		return
	}
	live, found := k.objects[name{want.Ref.Namespace, want.Ref.Name}]
	switch {
	case found:
		c.Uid, c.Message = string(live.UID), live.Message
		c.Health = cmp.Or(live.Health, string(health.Healthy))
		if why := w.rootCauses[want.Ref]; why.text != "" && c.Health != string(health.Healthy) {
			c.Message = strings.TrimPrefix(c.Message+"; "+why.text, "; ")
			if why.crashes && c.Health == string(health.Progressing) {
				c.Health = string(health.Degraded)
			}
		}
		w.judgePaceLocked(want.Ref, c)
	case want.Unrun:
		c.Health, c.Message = string(health.Progressing), "it has not run yet"
	case want.Once:
		c.Health, c.Message = string(health.Healthy), "it has ended and was removed"
	default:
		c.Health, c.Message, c.Synced = string(health.Missing), "it is not in the cluster", false
	}
}
