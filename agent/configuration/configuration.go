package configuration

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

	"github.com/axle-cd/axle/agent/kube"
	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// configurationName is the name of the AgentConfiguration in use.
	configurationName = "default"
	// leastInterval is the shortest interval that an AgentConfiguration may set;
	// flags may set a shorter one.
	leastInterval = 10 * time.Second
	// maxPasses bounds maxConcurrentReconciles.
	maxPasses = 100
)

var configurationResource = v1alpha1.GroupVersion.WithResource("agentconfigurations")

// Configured accepts settings; *poll.Loop implements it.
type Configured interface{ Configure(s poll.Settings) }

// Follower follows the AgentConfiguration named default. If the cluster does not
// serve the kind, it waits for the CRD and makes no requests.
type Follower struct {
	kube *kube.Cluster
	loop Configured
	// apis receives a value when the served kinds change.
	apis chan struct{}
}

// New returns a follower; Run must be called.
func New(k *kube.Cluster, loop Configured) *Follower {
	return &Follower{kube: k, loop: loop, apis: make(chan struct{}, 1)}
}

// APIsChanged says that the CRD may have been installed.
func (c *Follower) APIsChanged() {
	select {
	case c.apis <- struct{}{}:
	default:
	}
}

// Run applies every change until the context ends.
func (c *Follower) Run(ctx context.Context) error {
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
		start := c.kube.Clock.Now()
		err := c.follow(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if apierrors.IsForbidden(err) {
			c.kube.Log.Warn("the agent's account may not read AgentConfiguration; only flags and the hub apply", logkey.Error, err)
			backoff.Reset()
			select {
			case <-ctx.Done():
				return nil
			case <-c.apis:
			case <-c.kube.Clock.After(10 * time.Minute):
			}
			continue
		}
		if err != nil {
			c.kube.Log.Debug("the watch of AgentConfiguration ended", logkey.Error, err)
		}
		if c.kube.Clock.Now().Sub(start) > time.Minute {
			backoff.Reset()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.kube.Clock.After(backoff.Next()):
		}
	}
}

// served reports from memory whether the cluster serves the kind.
func (c *Follower) served(ctx context.Context) bool {
	s, err := c.kube.Serves(ctx)
	if err != nil {
		return true // the watch will show it
	}
	_, ok := s.Kinds[schema.GroupVersionKind(v1alpha1.GroupVersion.WithKind("AgentConfiguration"))]
	return ok
}

// follow reads the object, then each change of it, until the watch ends.
func (c *Follower) follow(ctx context.Context) error {
	all := c.kube.Dynamic.Resource(configurationResource)
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

// take applies the object's settings and writes the result to its status.
func (c *Follower) take(ctx context.Context, object *unstructured.Unstructured) {
	if object == nil {
		c.loop.Configure(poll.Settings{})
		return
	}
	conf, settings, problems, err := read(object)
	if err != nil {
		c.kube.Log.Warn("ignoring an AgentConfiguration that cannot be read", logkey.Error, err)
		return
	}
	c.loop.Configure(settings)
	c.report(ctx, &conf, problems, notActing(conf.Spec))
}

// read reads an AgentConfiguration as settingsOf does.
func read(object *unstructured.Unstructured) (conf v1alpha1.AgentConfiguration, s poll.Settings, problems []string, err error) {
	if err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &conf); err == nil {
		s, problems = settingsOf(conf.Spec)
	}
	return conf, s, problems, err
}

// settingsOf reads the fields that have an effect. An invalid value is reported and
// left out; the others apply.
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

// notActing names the fields that are set and have no effect yet.
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

// report writes the conditions if they changed. A missing permission for that does
// not affect the settings.
func (c *Follower) report(ctx context.Context, conf *v1alpha1.AgentConfiguration, problems, idle []string) {
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Taken", Message: "the agent uses this configuration", ObservedGeneration: conf.Generation}
	if len(problems) > 0 {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "Invalid", strings.Join(problems, "; ")
	}
	supported := metav1.Condition{Type: "Supported", Status: metav1.ConditionTrue, Reason: "AllFields", ObservedGeneration: conf.Generation}
	if len(idle) > 0 {
		supported.Status, supported.Reason = metav1.ConditionFalse, "NotImplemented"
		supported.Message = "stored, but without effect yet: " + strings.Join(idle, ", ")
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
	ctx, cancel := context.WithTimeout(ctx, kube.Timeout)
	defer cancel()
	_, err = c.kube.Dynamic.Resource(configurationResource).Patch(ctx, conf.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "axle-agent"}, "status")
	if err != nil {
		c.kube.Log.Debug("cannot write the status of the AgentConfiguration", logkey.Error, err)
	}
}
