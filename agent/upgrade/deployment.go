package upgrade

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// Name is the installed agent's Deployment.
	Name = "axle-agent"
	// candidateName is the Deployment of the candidate.
	candidateName = "axle-agent-candidate"
	nameLabel     = "app.kubernetes.io/name"
	versionLabel  = "app.kubernetes.io/version"
	manager       = "axle-agent"
	// candidateFlag passes the upgrade's key to a process.
	candidateFlag = "--candidate="
)

// WithoutCandidate returns the command line of the installed agent.
func WithoutCandidate(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, candidateFlag) })
}

// Offer is called with the rendered objects of the agent's own service. A Deployment
// of the agent with another image or other arguments starts an upgrade, or reports
// the state of the running one. Any other is Same, to be applied like every object.
// key names the hub's request.
func (k *Keeper) Offer(ctx context.Context, objects []*unstructured.Unstructured, key string) (Wanted, error) {
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "Deployment" && o.GetName() == Name && (o.GetNamespace() == k.config.Namespace || o.GetNamespace() == "")
	})
	if i < 0 {
		return Wanted{Same: true}, nil
	}
	if k.config.Candidate != "" {
		return Wanted{}, errCandidate
	}
	wanted, err := rendered(objects[i])
	if err != nil {
		return Wanted{}, err
	}
	wanted.Namespace = k.config.Namespace
	live, err := k.deployment(ctx, Name)
	if err != nil {
		return Wanted{}, err
	}
	if sameProgram(live.Spec.Template.Spec, wanted.Spec.Template.Spec) {
		return Wanted{Same: true}, nil
	}
	return k.begin(ctx, wanted, keyOf(key))
}

// rendered reads a Deployment as it was rendered. Invalid: it is none, or runs nothing.
func rendered(object *unstructured.Unstructured) (wanted appsv1.Deployment, err error) {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &wanted); err != nil {
		return wanted, errcode.New(errcode.Invalid, "cannot read the agent's Deployment: %w", err)
	}
	if len(wanted.Spec.Template.Spec.Containers) == 0 {
		return wanted, errcode.New(errcode.Invalid, "the agent's Deployment has no container")
	}
	return wanted, nil
}

// kept reads a Deployment of the record, which somebody may have changed in the ConfigMap.
func kept(text json.RawMessage) (d appsv1.Deployment, err error) {
	if err := json.Unmarshal(text, &d); err != nil {
		return d, errcode.New(errcode.Internal, "cannot read the Deployment in ConfigMap %s: %w", recordName, err)
	}
	if len(d.Spec.Template.Spec.Containers) == 0 {
		return d, errcode.New(errcode.Internal, "the Deployment in ConfigMap %s has no container", recordName)
	}
	return d, nil
}

// keyOf returns a key that is safe in a command line.
func keyOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// begin starts a candidate, or reports its state.
func (k *Keeper) begin(ctx context.Context, wanted appsv1.Deployment, key string) (Wanted, error) {
	text, err := json.Marshal(wanted)
	if err != nil {
		return Wanted{}, err
	}
	k.together.Lock()
	defer k.together.Unlock()
	var r record
	var w word
	err = k.change(ctx, func(now *record, said *word) bool {
		fresh := now.Phase == none && now.FailedKey != key || now.Phase == candidateRenders && now.Key != key
		if fresh {
			*now = record{Phase: candidateRenders, Key: key, Version: wanted.Labels[versionLabel], Since: k.config.Clock.Now(), Deployment: text}
			*said = word{}
		}
		r, w = *now, *said
		return fresh
	})
	if err != nil {
		return Wanted{}, err
	}
	if r.Phase == none {
		return Wanted{Failed: true, Message: r.Failure}, nil
	}
	if r.Phase == candidateRenders {
		if err := k.startCandidate(ctx, r); err != nil {
			return Wanted{}, err
		}
		k.active.Store(true)
		select {
		case k.begun <- struct{}{}:
		default:
		}
	}
	message := fmt.Sprintf("version %s renders every service in shadow", r.Version)
	if w.Message != "" {
		message += ": " + w.Message
	}
	return Wanted{Message: message + k.trouble(ctx)}, nil
}

func (k *Keeper) deployment(ctx context.Context, name string) (*appsv1.Deployment, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	d, err := k.config.Client.AppsV1().Deployments(k.config.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "read Deployment %s/%s: %w", k.config.Namespace, name, err)
	}
	return d, nil
}

// sameProgram compares what makes a different agent. Everything else in its pod may
// change, or be changed by others.
func sameProgram(a, b corev1.PodSpec) bool {
	return len(a.Containers) > 0 && len(b.Containers) > 0 && a.Containers[0].Image == b.Containers[0].Image &&
		slices.Equal(WithoutCandidate(a.Containers[0].Args), WithoutCandidate(b.Containers[0].Args))
}

// isWanted reports whether this process is the installed new version.
func (k *Keeper) isWanted(ctx context.Context, r record) (bool, error) {
	wanted, err := kept(r.Deployment)
	if k.config.Pod == "" || err != nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pod, err := k.config.Client.CoreV1().Pods(k.config.Namespace).Get(ctx, k.config.Pod, metav1.GetOptions{})
	if err != nil {
		return false, errcode.New(errcode.Unavailable, "read this agent's pod %s/%s: %w", k.config.Namespace, k.config.Pod, err)
	}
	return sameProgram(pod.Spec, wanted.Spec.Template.Spec), nil
}

// startCandidate creates the candidate's Deployment if it does not exist.
func (k *Keeper) startCandidate(ctx context.Context, r record) error {
	d, err := kept(r.Deployment)
	if err != nil {
		return err
	}
	labels := map[string]string{nameLabel: candidateName, partOf: "axle"}
	d.ObjectMeta = metav1.ObjectMeta{Name: candidateName, Namespace: k.config.Namespace, Labels: labels}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{nameLabel: candidateName}}
	d.Spec.Template.Labels = labels
	args := &d.Spec.Template.Spec.Containers[0].Args
	*args = append(WithoutCandidate(*args), candidateFlag+r.Key)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	all := k.config.Client.AppsV1().Deployments(k.config.Namespace)
	live, err := all.Get(ctx, candidateName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = all.Create(ctx, &d, metav1.CreateOptions{FieldManager: manager})
		k.config.Log.Info("starting the new agent beside this one", logkey.Version, r.Version)
	case err == nil && live.DeletionTimestamp == nil && !slices.Equal(live.Spec.Template.Spec.Containers[0].Args, *args):
		// Left over from an earlier upgrade.
		live.Spec = d.Spec
		_, err = all.Update(ctx, live, metav1.UpdateOptions{FieldManager: manager})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return errcode.New(errcode.Unavailable, "create Deployment %s/%s: %w", k.config.Namespace, candidateName, err)
	}
	return nil
}

// replace writes the new version into this agent's own Deployment. Kubernetes then
// ends this process.
func (k *Keeper) replace(ctx context.Context, r record) error { return k.install(ctx, r.Deployment) }

// install makes the installed agent's Deployment run the same as another Deployment.
func (k *Keeper) install(ctx context.Context, text json.RawMessage) error {
	wanted, err := kept(text)
	if err != nil {
		return err
	}
	live, err := k.deployment(ctx, Name)
	if err != nil || sameProgram(live.Spec.Template.Spec, wanted.Spec.Template.Spec) {
		return err
	}
	selector, replicas := live.Spec.Selector, live.Spec.Replicas
	live.Spec = wanted.Spec
	live.Spec.Selector, live.Spec.Replicas = selector, replicas
	if live.Labels == nil {
		live.Labels = map[string]string{}
	}
	live.Labels[versionLabel] = wanted.Labels[versionLabel]
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := k.config.Client.AppsV1().Deployments(k.config.Namespace).Update(ctx, live, metav1.UpdateOptions{FieldManager: manager}); err != nil {
		return errcode.New(errcode.Unavailable, "write Deployment %s/%s: %w", k.config.Namespace, Name, err)
	}
	return nil
}

// removeCandidate deletes the candidate and waits until its pods are gone, so that
// two agents never work at once.
func (k *Keeper) removeCandidate(ctx context.Context) error {
	if err := k.deleteCandidate(ctx); err != nil {
		return err
	}
	return k.candidateGone(ctx)
}

func (k *Keeper) deleteCandidate(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	background := metav1.DeletePropagationBackground
	err := k.config.Client.AppsV1().Deployments(k.config.Namespace).Delete(limited, candidateName, metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil && !apierrors.IsNotFound(err) {
		return errcode.New(errcode.Unavailable, "delete Deployment %s/%s: %w", k.config.Namespace, candidateName, err)
	}
	return nil
}

func (k *Keeper) candidateGone(ctx context.Context) error {
	since := k.config.Clock.Now()
	for {
		pods, err := k.candidatePods(ctx)
		if err != nil {
			return err
		}
		// A pod on a lost node never ends; in that case the hub refuses a second
		// agent.
		if len(pods) == 0 || k.config.Clock.Now().Sub(since) > goneWithin {
			return nil
		}
		if !k.wait(ctx, min(k.config.Tick, goneWithin/10)) {
			return nil
		}
	}
}

func (k *Keeper) candidatePods(ctx context.Context) ([]corev1.Pod, error) {
	return k.pods(ctx, candidateName)
}

func (k *Keeper) installedPods(ctx context.Context) ([]corev1.Pod, error) { return k.pods(ctx, Name) }

func (k *Keeper) pods(ctx context.Context, name string) ([]corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pods, err := k.config.Client.CoreV1().Pods(k.config.Namespace).List(ctx, metav1.ListOptions{LabelSelector: nameLabel + "=" + name})
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "list the new agent's pods in %s: %w", k.config.Namespace, err)
	}
	return pods.Items, nil
}

// trouble says why the candidate's pod does not run, empty if it does.
func (k *Keeper) trouble(ctx context.Context) string { return k.waits(ctx, k.candidatePods) }

// waits says why one of some pods does not run.
func (k *Keeper) waits(ctx context.Context, some func(context.Context) ([]corev1.Pod, error)) string {
	pods, err := some(ctx)
	if err != nil {
		return ""
	}
	for _, p := range pods {
		for _, c := range p.Status.ContainerStatuses {
			if w := c.State.Waiting; w != nil {
				return fmt.Sprintf(" (its pod %s waits: %s %s)", p.Name, w.Reason, w.Message)
			}
		}
	}
	return ""
}
