package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubehealth"
)

// patience is how long a pod may say that it cannot start before the wait ends. A
// registry that answers wrongly once does not end it.
const patience = 10 * time.Second

// enoughRestarts of a container end the wait.
const enoughRestarts = 4

// awaited are the kinds that are waited for.
var awaited = []string{"StatefulSet", "Deployment", certificateKind}

// certificateKind is cert-manager's.
const certificateKind = "Certificate"

// waiter waits for the workloads and the certificate of a release; zero does not wait.
type waiter struct {
	place
	wait time.Duration
}

// await waits until all workloads of a manifest run and its certificate is there, and
// says what pods and cert-manager say.
func (i waiter) await(ctx context.Context, manifest string) error {
	if i.wait == 0 {
		return nil
	}
	list, err := objects(manifest, i.release, i.namespace)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(o *unstructured.Unstructured) bool { return !slices.Contains(awaited, o.GetKind()) })
	progress := i.app.Begin("waiting until the control plane runs")
	defer progress.End()
	var missing string
	var stuck time.Time
	done, err := i.app.PollUntil(ctx, i.wait, func(ctx context.Context) (bool, error) {
		waits, observed, err := i.waitsFor(ctx, list)
		if err == nil && len(waits) == 0 {
			return true, nil
		}
		words, hopeless, unread := i.words(ctx)
		if err := errors.Join(err, unread); err != nil { // an API server may be away for a moment
			if missing == "" || ctx.Err() == nil { // at the end of the wait, the look before names what is missing
				missing = err.Error()
			}
			return false, nil
		}
		missing = strings.Join(append(waits, words...), "; ")
		progress.Say("waiting: %s", missing)
		if hopeless == "" || !observed { // until then its pods are those of before
			stuck = time.Time{}
			return false, nil
		}
		if stuck.IsZero() {
			stuck = time.Now()
		}
		if time.Since(stuck) > patience {
			return false, errcode.New(errcode.Unavailable, "%s; when it is repaired, run the same command again", hopeless)
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	if !done {
		return errcode.New(errcode.Unavailable, "not everything runs within %s: %s; look at it with: %s -n %s get pods,events; run the same command again to go on waiting", i.wait, missing, i.kubectl(), i.namespace)
	}
	return nil
}

// unstick deletes the release's pods that keep ending. What was repaired since, such as
// a Secret, would reach them only after their back-off, which is up to 5 min, and until
// then they say what is no longer true.
func (i waiter) unstick(ctx context.Context) error {
	pods := i.cluster.Client.Resource(core("pods")).Namespace(i.namespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + i.release, Limit: 100})
	if err != nil {
		return errcode.New(errcode.Unavailable, "list the pods: %w", err)
	}
	for _, pod := range list.Items {
		if !keepsEnding(&pod) {
			continue
		}
		uid := pod.GetUID()
		err := pods.Delete(ctx, pod.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return errcode.New(errcode.Unavailable, "delete the pod %s, which kept ending: %w", pod.GetName(), err)
		}
		i.say("pod %s kept exiting; it is restarted", pod.GetName())
	}
	return nil
}

// keepsEnding is true for a pod of which a container waits to be started again.
func keepsEnding(pod *unstructured.Unstructured) bool {
	return slices.ContainsFunc(containers(pod), func(s map[string]any) bool {
		reason, _, _ := unstructured.NestedString(s, "state", "waiting", "reason")
		return reason == "CrashLoopBackOff"
	})
}

// waitsFor names the workloads that do not run yet, and a certificate that is not there. It
// has observed when the controllers of all workloads know their specifications of now.
func (i waiter) waitsFor(ctx context.Context, list []*unstructured.Unstructured) (waits []string, observed bool, err error) {
	observed = true
	for _, object := range list {
		resource, err := i.cluster.Resource(object)
		if err != nil {
			return nil, false, err
		}
		have, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			observed = false
			waits = append(waits, object.GetName()+" is gone")
			continue
		}
		if err != nil {
			return nil, false, errcode.New(errcode.Unavailable, "read %s: %w", object.GetName(), err)
		}
		if object.GetKind() == certificateKind {
			if text := unissued(have); text != "" {
				waits = append(waits, "certificate "+object.GetName()+": "+text)
			}
			continue
		}
		observed = observed && kubehealth.Observed(have)
		if health := kubehealth.Of(have); health.Status != kubehealth.Healthy {
			waits = append(waits, strings.TrimSpace(object.GetName()+" "+strings.ToLower(string(health.Status))+" "+health.Message))
		}
	}
	return waits, observed, nil
}

// unissued is what cert-manager says of a certificate that is not there.
func unissued(certificate *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(certificate.Object, "status", "conditions")
	text := "cert-manager has not looked at it yet"
	for _, item := range list {
		c, _ := item.(map[string]any)
		message, _ := c["message"].(string)
		switch {
		case c["type"] == "Ready" && c["status"] == "True":
			return ""
		case c["type"] == "Issuing" && c["status"] == "False": // why the last try failed
			return message
		case c["type"] == "Ready":
			text = message
		}
	}
	return text
}

// words are what the release's pods say that are not ready; hopeless is the one that
// cannot start by itself.
func (i waiter) words(ctx context.Context) (words []string, hopeless string, err error) {
	pods, err := i.cluster.Client.Resource(core("pods")).Namespace(i.namespace).
		List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + i.release, Limit: 100})
	if err != nil {
		return nil, "", errcode.New(errcode.Unavailable, "list the pods: %w", err)
	}
	for _, pod := range pods.Items {
		text := lastWords(&pod)
		health := kubehealth.Of(&pod)
		if health.Status == kubehealth.Healthy || text == "" && health.Message == "" {
			continue
		}
		text = "pod " + pod.GetName() + ": " + strings.TrimPrefix(health.Message+"; "+text, "; ")
		words = append(words, strings.TrimSuffix(text, "; "))
		if hopeless == "" && pod.GetDeletionTimestamp() == nil && cannotStart(&pod) { // what is deleted need not start
			hopeless = words[len(words)-1]
		}
	}
	return words, hopeless, nil
}

// lastWords is what a container of a pod said when it ended last.
func lastWords(pod *unstructured.Unstructured) string {
	for _, s := range containers(pod) {
		for _, state := range []string{"state", "lastState"} {
			end, _, _ := unstructured.NestedMap(s, state, "terminated")
			if text, _ := end["message"].(string); strings.TrimSpace(text) != "" {
				lines := strings.Split(strings.TrimSpace(text), "\n")
				return fmt.Sprintf("its last words: %s", lines[len(lines)-1])
			}
		}
	}
	return ""
}

// cannotStart is true for an image that cannot be pulled, a configuration that names
// what is not there, and a program that keeps ending.
func cannotStart(pod *unstructured.Unstructured) bool {
	for _, s := range containers(pod) {
		reason, _, _ := unstructured.NestedString(s, "state", "waiting", "reason")
		restarts, _, _ := unstructured.NestedInt64(s, "restartCount")
		switch {
		case strings.Contains(reason, "Image"), reason == "CreateContainerConfigError", restarts >= enoughRestarts:
			return true
		}
	}
	return false
}

func containers(pod *unstructured.Unstructured) []map[string]any {
	var all []map[string]any
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		items, _, _ := unstructured.NestedSlice(pod.Object, "status", list)
		for _, item := range items {
			if s, ok := item.(map[string]any); ok {
				all = append(all, s)
			}
		}
	}
	return all
}
