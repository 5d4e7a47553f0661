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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/agent/kube"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubepage"
	"github.com/axle-cd/axle/internal/logkey"
)

// customHealths is the kind of users' health rules.
var customHealths = schema.GroupVersionResource{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "customhealths"}

const (
	// maxRules bounds the rules of a cluster; later ones are left out.
	maxRules = 500
	// rulesQuiet is how long to wait for more changes.
	rulesQuiet = 200 * time.Millisecond
	// servedWithin is how many seconds to wait for a new kind.
	servedWithin = 10
)

// healthRules keeps the rules of users in line with the cluster. It makes no requests
// while nothing changes: a watch of metadata triggers the reads.
type healthRules struct {
	kube  *kube.Cluster
	rules *health.Rules
	// check reports whether a rule in CEL compiles, as verdicts.check does.
	check func(context.Context, *health.Expressions) error
	// changed is called when objects must be judged again.
	changed func()
	apis    chan struct{}
	seen    string
	// comes: the API server lists the kind, but does not serve it yet.
	comes bool
	// unchecked are CEL rules that could not be checked, by their object.
	unchecked map[string]uncheckedRule
}

type uncheckedRule struct {
	object v1alpha1.CustomHealth
	rule   *health.Expressions
}

func newHealthRules(k *kube.Cluster, rules *health.Rules, check func(context.Context, *health.Expressions) error, changed func()) *healthRules {
	return &healthRules{kube: k, rules: rules, check: check, changed: changed, apis: make(chan struct{}, 1)}
}

// apisChanged says that the served kinds changed: the kind of the rules may have been
// added or removed.
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
			h.kube.Log.Warn("cannot read the health rules; the known ones stay in force", logkey.Error, err)
			retry = h.kube.Clock.After(max(backoff.Next(), time.Second))
		case !served && (again > 0 || h.comes):
			// A kind that was just defined is served a moment later, without any
			// event.
			again = max(0, again-1)
			retry = h.kube.Clock.After(time.Second)
		case len(h.unchecked) > 0:
			retry = h.kube.Clock.After(max(backoff.Next(), time.Second))
		default:
			backoff.Reset()
		}
		if err == nil && served != watching {
			stop()
			watching, stop = served, func() {}
			if served {
				inner, cancel := context.WithCancel(ctx)
				stop = cancel
				running.Go(func() { h.kube.Watch(inner, customHealths, events) })
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
		case <-h.kube.Clock.After(rulesQuiet):
		}
	}
}

// read applies the rules in the cluster; served is false if it does not have the
// kind.
func (h *healthRules) read(ctx context.Context) (served bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	h.comes = false
	var objects []v1alpha1.CustomHealth
	seen := "some"
	_, err = kubepage.Objects(ctx, h.kube.Client.CoreV1().RESTClient(), customHealths, "", metav1.ListOptions{}, func(item *unstructured.Unstructured) error {
		var one v1alpha1.CustomHealth
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &one); err != nil {
			h.kube.Log.Warn("cannot read a health rule", logkey.Object, item.GetNamespace()+"/"+item.GetName(), logkey.Error, err)
			return nil
		}
		objects = append(objects, one)
		seen += "\n" + string(one.UID) + " " + one.Namespace + "/" + one.Name + " " + one.Spec.Group + " " + one.Spec.Version + " " + one.Spec.Kind + "\n" + one.Spec.Script
		if e := one.Spec.Expressions; e != nil {
			seen += fmt.Sprintf("\n%q", *e)
		}
		if len(objects) == maxRules {
			return kubepage.ErrEnough
		}
		return nil
	}, func(err error) error {
		h.kube.Log.Warn("cannot read a health rule", logkey.Error, err)
		return nil
	})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		h.take(ctx, nil, "")
		// The served kinds must be known before their changes can be noticed. The
		// kind may exist by now, and then it does not change any more.
		s, serveErr := h.kube.Serves(ctx)
		if serveErr == nil && apierrors.IsNotFound(err) {
			_, h.comes = s.Kinds[customHealths.GroupVersion().WithKind("CustomHealth")]
		}
		return false, serveErr
	}
	if err != nil {
		return false, err
	}
	if len(objects) == 0 {
		seen = ""
	}
	h.take(ctx, objects, seen)
	return true, nil
}

// take puts rules into force if they changed.
func (h *healthRules) take(ctx context.Context, objects []v1alpha1.CustomHealth, seen string) {
	if h.recheck(ctx); seen == h.seen {
		return
	}
	h.seen = seen
	list, problems := health.FromObjects(objects)
	list = h.checked(ctx, objects, list, problems)
	for _, problem := range problems {
		h.kube.Log.Warn("ignoring a health rule", logkey.Error, problem)
	}
	shadowed := h.rules.Replace(list)
	for _, name := range shadowed {
		h.kube.Log.Warn("a health rule is shadowed by another one for its kind", logkey.Object, name)
	}
	h.kube.Log.Info("health rules are in force", logkey.Count, len(list))
	h.changed()
	for _, one := range objects {
		name := one.Namespace + "/" + one.Name
		ready := inForce(one)
		if problem := problems[name]; problem != nil {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "Invalid", errcode.Message(problem)
		} else if slices.Contains(shadowed, name) {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "Shadowed", "another rule for this kind comes before it, by namespace and name"
		} else if _, waits := h.unchecked[name]; waits {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionUnknown, "Unchecked", "it is not known yet whether the expressions compile: the program that evaluates them does not answer; until then objects with this rule are Unknown"
		}
		h.say(ctx, one, ready)
	}
}

// checked leaves out CEL rules that do not compile. Rules that could not be checked
// stay: they may be valid, and without them another rule would judge.
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
			h.kube.Log.Warn("cannot check a health rule", logkey.Object, c.Name, logkey.Error, err)
			at := slices.IndexFunc(objects, func(o v1alpha1.CustomHealth) bool { return o.Namespace+"/"+o.Name == c.Name })
			h.unchecked[c.Name] = uncheckedRule{objects[at], rule}
		}
		return false
	})
}

// recheck checks rules again that could not be checked. If one is invalid, all rules
// are applied again.
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

// unread is a value that no rules have.
const unread = "unread"

func inForce(one v1alpha1.CustomHealth) metav1.Condition {
	return metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "InForce", Message: "objects are judged by this rule", ObservedGeneration: one.Generation}
}

// say writes an object's condition if it changed.
func (h *healthRules) say(ctx context.Context, one v1alpha1.CustomHealth, ready metav1.Condition) {
	conditions := slices.Clone(one.Status.Conditions)
	if !meta.SetStatusCondition(&conditions, ready) {
		return
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"observedGeneration": one.Generation, "conditions": conditions}})
	if err == nil {
		_, err = h.kube.Dynamic.Resource(customHealths).Namespace(one.Namespace).
			Patch(ctx, one.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "axle-agent"}, "status")
	}
	if err != nil {
		h.kube.Log.Debug("cannot write the status of a health rule", logkey.Object, one.Namespace+"/"+one.Name, logkey.Error, err)
	}
}
