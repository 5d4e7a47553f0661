package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// configurationName is the AgentConfiguration that counts.
	configurationName = "default"
	// leastInterval is what an AgentConfiguration may ask for; flags may ask
	// for less.
	leastInterval = 10 * time.Second
	// maxPasses bounds maxConcurrentReconciles.
	maxPasses = 100
)

var configurationResource = v1alpha1.GroupVersion.WithResource("agentconfigurations")

// configured takes settings over; *poll.Loop does.
type configured interface{ Configure(s poll.Settings) }

// configuration follows the AgentConfiguration named default. Where the
// cluster does not serve the kind, it waits for the CRD and asks nothing.
type configuration struct {
	kube *kube
	loop configured
	// apis is poked when the cluster serves other kinds.
	apis chan struct{}
}

func newConfiguration(k *kube, loop configured) *configuration {
	return &configuration{kube: k, loop: loop, apis: make(chan struct{}, 1)}
}

// apisChanged says that the CRD may have come.
func (c *configuration) apisChanged() {
	select {
	case c.apis <- struct{}{}:
	default:
	}
}

// run takes every change over until the context ends.
func (c *configuration) run(ctx context.Context) error {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	for {
		if !c.served(ctx) {
			c.loop.Configure(poll.Settings{})
			select {
			case <-ctx.Done():
				return nil
			case <-c.apis:
			}
			continue
		}
		start := c.kube.clock.Now()
		err := c.follow(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if apierrors.IsForbidden(err) {
			c.kube.log.Warn("the agent's account may not read AgentConfiguration; flags and the hub alone count", logkey.Error, err)
			backoff.Reset()
			select {
			case <-ctx.Done():
				return nil
			case <-c.apis:
			case <-c.kube.clock.After(10 * time.Minute):
			}
			continue
		}
		if err != nil {
			c.kube.log.Debug("the watch of AgentConfiguration broke", logkey.Error, err)
		}
		if c.kube.clock.Now().Sub(start) > time.Minute {
			backoff.Reset()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.kube.clock.After(backoff.Next()):
		}
	}
}

// served reports whether the cluster knows the kind, from memory.
func (c *configuration) served(ctx context.Context) bool {
	s, err := c.kube.serves(ctx)
	if err != nil {
		return true // the watch will tell
	}
	_, ok := s.kinds[schema.GroupVersionKind(v1alpha1.GroupVersion.WithKind("AgentConfiguration"))]
	return ok
}

// follow reads the object, then each change of it, until the watch ends.
func (c *configuration) follow(ctx context.Context) error {
	all := c.kube.dynamic.Resource(configurationResource)
	only := metav1.ListOptions{FieldSelector: "metadata.name=" + configurationName}
	list, err := all.List(ctx, only)
	if err != nil {
		return err
	}
	var now *unstructured.Unstructured
	if len(list.Items) > 0 {
		now = &list.Items[0]
	}
	c.take(ctx, now)
	only.ResourceVersion, only.AllowWatchBookmarks = list.GetResourceVersion(), true
	w, err := all.Watch(ctx, only)
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		switch {
		case event.Type == watch.Error:
			return apierrors.FromObject(event.Object)
		case !ok || event.Type == watch.Bookmark:
		case event.Type == watch.Deleted:
			c.take(ctx, nil)
		default:
			c.take(ctx, object)
		}
	}
	return nil
}

// take makes the object's settings the present ones and says on it what came
// of them.
func (c *configuration) take(ctx context.Context, object *unstructured.Unstructured) {
	if object == nil {
		c.loop.Configure(poll.Settings{})
		return
	}
	var conf v1alpha1.AgentConfiguration
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &conf); err != nil {
		c.kube.log.Warn("the AgentConfiguration cannot be read and changes nothing", logkey.Error, err)
		return
	}
	settings, problems := settingsOf(conf.Spec)
	c.loop.Configure(settings)
	c.report(ctx, &conf, problems, notActing(conf.Spec))
}

// settingsOf reads what acts. A value that cannot be used is named and left
// out; the rest counts.
func settingsOf(spec v1alpha1.AgentConfigurationSpec) (s poll.Settings, problems []string) {
	duration := func(name string, text *string) time.Duration {
		if text == nil || *text == "" {
			return 0
		}
		d, err := time.ParseDuration(*text)
		if err != nil || d < leastInterval {
			problems = append(problems, fmt.Sprintf("%s %.40q is not a duration of at least %s", name, *text, leastInterval))
			return 0
		}
		return d
	}
	s.Interval = duration("servicePollInterval", spec.ServicePollInterval)
	s.Whole = duration("clusterPingInterval", spec.ClusterPingInterval)
	if n := spec.MaxConcurrentReconciles; n != nil {
		if *n < 1 || *n > maxPasses {
			problems = append(problems, fmt.Sprintf("maxConcurrentReconciles %d is not from 1 to %d", *n, maxPasses))
		} else {
			s.Passes = *n
		}
	}
	return s, problems
}

// acting are the fields that settingsOf reads.
var acting = map[string]bool{"servicePollInterval": true, "clusterPingInterval": true, "maxConcurrentReconciles": true}

// notActing names the fields that are set and do nothing yet.
func notActing(spec v1alpha1.AgentConfigurationSpec) []string {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil
	}
	var fields map[string]any
	if json.Unmarshal(text, &fields) != nil {
		return nil
	}
	var names []string
	for name := range fields {
		if !acting[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// report writes the conditions when they differ. An account that may not is no
// reason to work otherwise.
func (c *configuration) report(ctx context.Context, conf *v1alpha1.AgentConfiguration, problems, idle []string) {
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Taken", Message: "the agent works by this", ObservedGeneration: conf.Generation}
	if len(problems) > 0 {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "Invalid", strings.Join(problems, "; ")
	}
	supported := metav1.Condition{Type: "Supported", Status: metav1.ConditionTrue, Reason: "AllFields", ObservedGeneration: conf.Generation}
	if len(idle) > 0 {
		supported.Status, supported.Reason = metav1.ConditionFalse, "NotImplemented"
		supported.Message = "kept, without effect yet: " + strings.Join(idle, ", ")
	}
	conditions := append([]metav1.Condition(nil), conf.Status.Conditions...)
	changed := meta.SetStatusCondition(&conditions, ready)
	changed = meta.SetStatusCondition(&conditions, supported) || changed
	if !changed && conf.Status.ObservedGeneration == conf.Generation {
		return
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"conditions": conditions, "notActing": idle, "observedGeneration": conf.Generation,
	}})
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, kubeTimeout)
	defer cancel()
	_, err = c.kube.dynamic.Resource(configurationResource).Patch(ctx, conf.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "axle-agent"}, "status")
	if err != nil {
		c.kube.log.Debug("the status of the AgentConfiguration cannot be written", logkey.Error, err)
	}
}
