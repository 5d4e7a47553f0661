package drift

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/kubeobj"
)

const (
	// rootCauseEvery is how often to look for unhealthy workloads, rootCauseAgain how often
	// to request the pods of one.
	rootCauseEvery = 3 * time.Second
	rootCauseAgain = 30 * time.Second
	// rootCauseDenied is how long to make no requests after a refusal.
	rootCauseDenied = 10 * time.Minute
	// rootCausesAtOnce bounds the workloads per look, podsRead the pods per workload.
	rootCausesAtOnce = 5
	podsRead         = "100"
	// fewBytes is more than so many pods have that somebody wrote for use.
	fewBytes = 8 << 20
	// A container crashes when it restarted crashRestarts times, is not ready, and
	// ended with an error within crashRecent. With the back-off of kubelet that is
	// about five minutes after its first end, so that what waits for its database
	// does not count.
	crashRestarts = 5
	crashRecent   = 10 * time.Minute
)

// workloads are kinds whose pods show why they are unhealthy.
var workloads = map[schema.GroupKind]bool{
	{Group: "apps", Kind: "Deployment"}: true, {Group: "apps", Kind: "StatefulSet"}: true, {Group: "apps", Kind: "DaemonSet"}: true,
	{Group: "apps", Kind: "ReplicaSet"}: true, {Group: "batch", Kind: "Job"}: true, {Group: "argoproj.io", Kind: "Rollout"}: true,
	helmRelease: true,
}

// rootCause is the root cause in the pods of a workload.
type rootCause struct {
	text string
	// crashes says that a container of the pod ends with an error again and again.
	// Kubernetes has no deadline for that once a Deployment was available, and none at
	// all for a StatefulSet.
	crashes bool
}

// knownCause is a root cause, and when to ask for it again.
type knownCause struct {
	rootCause
	next time.Time
}

// findRootCauses requests the pods of unhealthy workloads until the context ends: two
// requests for each, every 30 s, and none while all are healthy.
func (w *Watcher) findRootCauses(ctx context.Context) {
	var denied time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.cfg.Clock.After(rootCauseEvery):
		}
		now := w.cfg.Clock.Now()
		w.tellStalls(now)
		if now.Before(denied) {
			continue
		}
		for _, s := range w.sick(now) {
			cause, err := w.rootCauseOf(ctx, s.kind, s.ref)
			if ctx.Err() != nil {
				return
			}
			if apierrors.IsForbidden(err) {
				denied = now.Add(rootCauseDenied)
				break
			}
			w.mu.Lock()
			if err != nil {
				cause = w.rootCauses[s.ref].rootCause
			}
			if w.rootCauses[s.ref].rootCause != cause {
				w.tellLocked(s.service)
			}
			w.rootCauses[s.ref] = knownCause{cause, now.Add(rootCauseAgain)}
			w.mu.Unlock()
		}
	}
}

type sickWorkload struct {
	kind    kubeobj.Kind
	ref     kubeobj.Ref
	service string
}

// sick returns the workloads to ask about now, and forgets the root cause of those
// that are healthy or gone.
func (w *Watcher) sick(now time.Time) []sickWorkload {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []sickWorkload
	for gk, k := range w.kinds {
		if !workloads[gk] || k.state != synced {
			continue
		}
		for at, live := range k.objects {
			bad := live.Health == string(health.Progressing) || live.Health == string(health.Degraded)
			ref := kubeobj.Ref{Group: gk.Group, Kind: gk.Kind, Namespace: at.namespace, Name: at.name}
			if bad && len(all) < rootCausesAtOnce && !w.rootCauses[ref].next.After(now) {
				all = append(all, sickWorkload{k.kind, ref, live.Service})
			}
		}
	}
	for ref := range w.rootCauses {
		k := w.kinds[schema.GroupKind{Group: ref.Group, Kind: ref.Kind}]
		if k == nil {
			delete(w.rootCauses, ref)
			continue
		}
		if live, there := k.objects[name{ref.Namespace, ref.Name}]; !there || live.Health == string(health.Healthy) {
			delete(w.rootCauses, ref)
		}
	}
	return all
}

// firstBadPod names the worst pod of a workload, with its owners and the reason;
// empty if no pod gives one.
func (w *Watcher) firstBadPod(ctx context.Context, kind kubeobj.Kind, ref kubeobj.Ref) (none rootCause, err error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	path := "/apis/" + kind.Group + "/" + kind.Version + "/namespaces/" + url.PathEscape(ref.Namespace)
	raw, err := w.rest.Get().AbsPath(path, kind.Resource, ref.Name).SetHeader("Accept", acceptWhole).MaxRetries(0).Do(ctx).Raw()
	if err != nil {
		return none, err
	}
	var owner struct {
		Spec struct {
			Selector *metav1.LabelSelector `json:"selector"`
		} `json:"spec"`
		// A Rollout that refers to a Deployment has no selector in its specification.
		Status struct {
			Selector string `json:"selector"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &owner); err != nil {
		return none, err
	}
	selector, err := metav1.LabelSelectorAsSelector(owner.Spec.Selector)
	if err == nil && selector.Empty() {
		selector, err = labels.Parse(owner.Status.Selector)
	}
	if err != nil || selector.Empty() {
		return none, nil
	}
	pods, err := few(ctx, w.rest.Get().AbsPath("/api/v1/namespaces/"+url.PathEscape(ref.Namespace)+"/pods").Param("labelSelector", selector.String()))
	return worstPod(pods, w.cfg.Clock.Now()), err
}

// few returns the first objects of a list, as long as they are of a usual size.
func few(ctx context.Context, r *rest.Request) ([]map[string]any, error) {
	body, err := r.Param("limit", podsRead).SetHeader("Accept", acceptWhole).MaxRetries(0).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var list struct{ Items []map[string]any }
	return list.Items, bounded.ReadJSON(body, &list, fewBytes)
}

// worstPod says why the worst of some pods is unhealthy. Of several equally bad pods
// it uses the newest, which belongs to the newest revision.
func worstPod(items []map[string]any, now time.Time) rootCause {
	type verdict struct {
		pod    *unstructured.Unstructured
		result health.Result
	}
	var bad []verdict
	for _, item := range items {
		pod := &unstructured.Unstructured{Object: item}
		pod.SetAPIVersion("v1")
		pod.SetKind("Pod")
		if result := health.Of(pod); result.Status != health.Healthy && result.Message != "" && pod.GetDeletionTimestamp() == nil {
			bad = append(bad, verdict{pod, result})
		}
	}
	if len(bad) == 0 {
		return rootCause{}
	}
	worst := slices.MinFunc(bad, func(a, b verdict) int {
		if a.result.Status != b.result.Status && health.Worst(a.result.Status, b.result.Status) == a.result.Status {
			return -1
		}
		if a.result.Status != b.result.Status {
			return 1
		}
		return cmp.Or(b.pod.GetCreationTimestamp().Compare(a.pod.GetCreationTimestamp().Time), cmp.Compare(a.pod.GetName(), b.pod.GetName()))
	})
	text := "Pod " + worst.pod.GetName() + ": " + worst.result.Message
	for _, o := range worst.pod.GetOwnerReferences() {
		if o.Controller != nil && *o.Controller && o.Kind == "ReplicaSet" {
			text = "ReplicaSet " + o.Name + ", " + text
		}
	}
	return rootCause{short(text), worst.result.Status == health.Degraded && crashes(worst.pod, now)}
}

func crashes(object *unstructured.Unstructured, now time.Time) bool {
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &pod); err != nil {
		return false
	}
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		end := c.LastTerminationState.Terminated
		return !c.Ready && c.RestartCount >= crashRestarts && end != nil && end.ExitCode != 0 && now.Sub(end.FinishedAt.Time) < crashRecent
	})
}
