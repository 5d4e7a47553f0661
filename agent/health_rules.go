package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

// customHealths is the kind in which users write rules of health.
var customHealths = schema.GroupVersionResource{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "customhealths"}

const (
	// maxRules bounds the rules of a cluster; those after it are left out.
	maxRules = 500
	// rulesQuiet is how long more changes are waited for.
	rulesQuiet = 200 * time.Millisecond
	// servedWithin is how many seconds a new kind is waited for.
	servedWithin = 10
)

// healthRules keeps the rules of users as the cluster has them. It sends
// nothing while nothing changes: a watch of metadata says when to read.
type healthRules struct {
	kube  *kube
	rules *health.Rules
	// check reports whether a rule in CEL compiles, as verdicts.check does.
	check func(context.Context, *health.Expressions) error
	// changed is called when objects must be judged anew.
	changed func()
	apis    chan struct{}
	seen    string
	// comes: the API server says that it serves the kind, and does not find it.
	comes bool
	// unchecked are rules in CEL that could not be checked, by their object.
	unchecked map[string]uncheckedRule
}

type uncheckedRule struct {
	object v1alpha1.CustomHealth
	rule   *health.Expressions
}

func newHealthRules(k *kube, rules *health.Rules, check func(context.Context, *health.Expressions) error, changed func()) *healthRules {
	return &healthRules{kube: k, rules: rules, check: check, changed: changed, apis: make(chan struct{}, 1)}
}

// apisChanged says that the cluster serves other kinds than before: the kind
// of the rules may have come or gone.
func (h *healthRules) apisChanged() {
	select {
	case h.apis <- struct{}{}:
	default:
	}
}

// run reads the rules when they change, until the context ends.
func (h *healthRules) run(ctx context.Context) error {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	events := make(chan struct{}, 1)
	watching, stop, again := false, func() {}, 0
	var running sync.WaitGroup
	defer running.Wait()
	defer func() { stop() }()
	for {
		served, err := h.read(ctx)
		var retry <-chan time.Time
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			h.kube.log.Warn("the rules of health cannot be read; those known stay", logkey.Error, err)
			retry = h.kube.clock.After(max(backoff.Next(), time.Second))
		case !served && (again > 0 || h.comes):
			// A kind that has just been defined is served a moment later, and
			// nothing tells when.
			again = max(0, again-1)
			retry = h.kube.clock.After(time.Second)
		case len(h.unchecked) > 0:
			retry = h.kube.clock.After(max(backoff.Next(), time.Second))
		default:
			backoff.Reset()
		}
		if err == nil && served != watching {
			stop()
			watching, stop = served, func() {}
			if served {
				inner, cancel := context.WithCancel(ctx)
				stop = cancel
				running.Go(func() { h.kube.watch(inner, customHealths, events) })
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-events:
		case <-h.apis:
			again = servedWithin
		case <-retry:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-h.kube.clock.After(rulesQuiet):
		}
	}
}

// read takes the rules that are in the cluster; served is false when it does
// not have the kind.
func (h *healthRules) read(ctx context.Context) (served bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	h.comes = false
	list, err := h.kube.dynamic.Resource(customHealths).List(ctx, metav1.ListOptions{Limit: maxRules})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		h.take(ctx, nil, "")
		// What is served must be known for its changes to be told. The kind may
		// be there by now, and then no change of it is.
		s, serveErr := h.kube.serves(ctx)
		if serveErr == nil && apierrors.IsNotFound(err) {
			_, h.comes = s.kinds[customHealths.GroupVersion().WithKind("CustomHealth")]
		}
		return false, serveErr
	}
	if err != nil {
		return false, err
	}
	var objects []v1alpha1.CustomHealth
	seen := "some"
	for _, item := range list.Items {
		var one v1alpha1.CustomHealth
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &one); err != nil {
			h.kube.log.Warn("a rule of health cannot be read", logkey.Object, item.GetNamespace()+"/"+item.GetName(), logkey.Error, err)
			continue
		}
		objects = append(objects, one)
		seen += "\n" + string(one.UID) + " " + one.Namespace + "/" + one.Name + " " + one.Spec.Group + " " + one.Spec.Version + " " + one.Spec.Kind + "\n" + one.Spec.Script
		if e := one.Spec.Expressions; e != nil {
			seen += fmt.Sprintf("\n%q", *e)
		}
	}
	if len(objects) == 0 {
		seen = ""
	}
	h.take(ctx, objects, seen)
	return true, nil
}

// take puts rules into force when they are others than before.
func (h *healthRules) take(ctx context.Context, objects []v1alpha1.CustomHealth, seen string) {
	if h.recheck(ctx); seen == h.seen {
		return
	}
	h.seen = seen
	list, problems := health.FromObjects(objects)
	list = h.checked(ctx, objects, list, problems)
	for _, problem := range problems {
		h.kube.log.Warn("a rule of health is left out", logkey.Error, problem)
	}
	shadowed := h.rules.Replace(list)
	for _, name := range shadowed {
		h.kube.log.Warn("a rule of health is shadowed by another for its kind", logkey.Object, name)
	}
	h.kube.log.Info("rules of health are in force", logkey.Count, len(list))
	h.changed()
	for _, one := range objects {
		name := one.Namespace + "/" + one.Name
		ready := inForce(one)
		if problem := problems[name]; problem != nil {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "Invalid", errcode.Message(problem)
		} else if slices.Contains(shadowed, name) {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "Shadowed", "another rule for this kind comes before it, by namespace and name"
		} else if _, waits := h.unchecked[name]; waits {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionUnknown, "Unchecked", "whether the expressions compile is not known yet: the program that judges by them does not answer; its objects are Unknown until it does"
		}
		h.say(ctx, one, ready)
	}
}

// checked leaves rules in CEL out that do not compile. Those of which nobody can
// tell stay: they may be right, and without them another rule would judge.
func (h *healthRules) checked(ctx context.Context, objects []v1alpha1.CustomHealth, list []health.Custom, problems map[string]error) []health.Custom {
	h.unchecked = map[string]uncheckedRule{}
	return slices.DeleteFunc(list, func(c health.Custom) bool {
		rule, ok := c.Rule.(*health.Expressions)
		if !ok {
			return false
		}
		err := h.check(ctx, rule)
		if errcode.Is(err, errcode.Invalid) {
			problems[c.Name] = err
			return true
		}
		if err != nil {
			h.kube.log.Warn("a rule of health cannot be checked", logkey.Object, c.Name, logkey.Error, err)
			at := slices.IndexFunc(objects, func(o v1alpha1.CustomHealth) bool { return o.Namespace+"/"+o.Name == c.Name })
			h.unchecked[c.Name] = uncheckedRule{objects[at], rule}
		}
		return false
	})
}

// recheck asks again about rules that could not be checked. When one is wrong
// all are taken anew.
func (h *healthRules) recheck(ctx context.Context) {
	for name, one := range h.unchecked {
		switch err := h.check(ctx, one.rule); {
		case errcode.Is(err, errcode.Invalid):
			h.seen = unread
			return
		case err == nil:
			delete(h.unchecked, name)
			h.say(ctx, one.object, inForce(one.object))
		}
	}
}

// unread is what no rules look like.
const unread = "unread"

func inForce(one v1alpha1.CustomHealth) metav1.Condition {
	return metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "InForce", Message: "objects are judged by this rule", ObservedGeneration: one.Generation}
}

// say writes an object's condition when it is another than before.
func (h *healthRules) say(ctx context.Context, one v1alpha1.CustomHealth, ready metav1.Condition) {
	conditions := slices.Clone(one.Status.Conditions)
	if !meta.SetStatusCondition(&conditions, ready) {
		return
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"observedGeneration": one.Generation, "conditions": conditions}})
	if err == nil {
		_, err = h.kube.dynamic.Resource(customHealths).Namespace(one.Namespace).
			Patch(ctx, one.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "axle-agent"}, "status")
	}
	if err != nil {
		h.kube.log.Debug("the status of a rule of health cannot be written", logkey.Object, one.Namespace+"/"+one.Name, logkey.Error, err)
	}
}
