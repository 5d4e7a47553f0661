//go:build soak

package world_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
)

// treeView is what "axle services tree -o json" prints.
type treeView struct {
	Failing string
	Notes   []string
	Objects []struct {
		Kind, Name, Health string
		Children           []struct {
			Name     string
			Children []struct{ Name, Health string }
		}
	}
}

// tree shows what a Deployment of a service owns, to an administrator and to a user
// who may read the service and has no rights in the cluster. No controller runs here,
// so the objects it would create are created by hand.
func (r *reach) tree() {
	ctx := r.t.Context()
	const failing = "Deployment web > ReplicaSet web-1 > Pod web-1-a: ImagePullBackOff: of image none"
	r.must(r.Git.Create(ctx, "trees"))
	_, err := r.Git.Commit(ctx, "trees", "main", "a tree", map[string]string{"web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n" +
		"spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: none}]}}}\n"})
	r.must(err)
	r.axle("repos", "add", "trees", r.Git.URL("trees"))
	// A command goes to any replica, which may be a moment behind the last one's.
	r.succeeds("services", "create", "edge/trees", "--repo", "trees", "--ref", "main")
	r.ownedByHand()

	show := func() (view treeView, err error) {
		result, err := r.Axle(ctx, "services", "tree", "edge/trees", "-o", "json")
		if err == nil {
			err = json.Unmarshal([]byte(result.Out), &view)
		}
		return view, err
	}
	r.until("the tree down to the pod", func() error {
		view, err := show()
		if err == nil && (view.Failing != failing || len(view.Notes) != 0 || len(view.Objects) != 1) {
			err = fmt.Errorf("it is %+v", view)
		}
		return err
	})
	text := r.succeeds("services", "tree", "trees", "--cluster", "edge")
	for _, want := range []string{"Deployment trees/web", "└─ ReplicaSet web-1", "   └─ Pod web-1-a", "\nfirst failure: " + failing} {
		if !strings.Contains(text, want) {
			r.t.Errorf("no %q in\n%s", want, text)
		}
	}

	r.axle("serviceaccounts", "create", "looker")
	r.succeeds("auth", "bind", "--service-account", "looker", "--action", "read", "--project", "default")
	token := r.succeeds("serviceaccounts", "token", "looker", "--scope", "read", "--expires", "1h")
	client, err := sdk.New(sdk.Config{URL: r.Origin(), Token: strings.TrimSpace(token)})
	r.must(err)
	r.until("who has no rights in the cluster sees the service's own objects", func() error {
		answer, err := client.Services.GetTree(ctx, connect.NewRequest(&hubv1.GetServiceTreeRequest{Ref: &hubv1.ServiceRef{Cluster: "edge", Name: "trees"}}))
		if err != nil {
			return err
		}
		m := answer.Msg
		noted := func(what string) bool {
			return slices.ContainsFunc(m.GetNotes(), func(n string) bool {
				return strings.HasPrefix(n, what+" of namespace trees: ") && strings.Contains(n, "(Forbidden)")
			})
		}
		if len(m.GetObjects()) != 1 || len(m.GetObjects()[0].GetChildren()) != 0 {
			r.t.Fatalf("the user sees what they may not: %v", m)
		}
		if !noted("pods") || !noted("replicasets") {
			return fmt.Errorf("the notes are %v", m.GetNotes())
		}
		return nil
	})
}

// succeeds repeats a command until it does.
func (r *reach) succeeds(args ...string) (out string) {
	r.t.Helper()
	r.until("axle "+strings.Join(args, " "), func() error {
		result, err := r.Axle(r.t.Context(), args...)
		out = result.Out
		return err
	})
	return out
}

// ownedByHand makes a ReplicaSet and a pod that cannot start of the Deployment.
func (r *reach) ownedByHand() {
	ctx, yes := r.t.Context(), true
	owner := func(kind string, o metav1.Object) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: o.GetName(), UID: o.GetUID(), Controller: &yes}}
	}
	var web *appsv1.Deployment
	r.until("the Deployment is there", func() (err error) {
		web, err = r.direct.AppsV1().Deployments("trees").Get(ctx, "web", metav1.GetOptions{})
		return err
	})
	set, err := r.direct.AppsV1().ReplicaSets("trees").Create(ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", OwnerReferences: owner("Deployment", web)},
		Spec:       appsv1.ReplicaSetSpec{Selector: web.Spec.Selector, Template: web.Spec.Template},
	}, metav1.CreateOptions{})
	r.must(err)
	spec := *web.Spec.Template.Spec.DeepCopy()
	none := false
	spec.SchedulerName, spec.AutomountServiceAccountToken = "nobody", &none
	pod, err := r.direct.CoreV1().Pods("trees").Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1-a", Labels: map[string]string{"app": "web"}, OwnerReferences: owner("ReplicaSet", set)}, Spec: spec,
	}, metav1.CreateOptions{})
	r.must(err)
	pod.Status.Phase = corev1.PodPending
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", Image: "none", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "of image none"}},
	}}
	_, err = r.direct.CoreV1().Pods("trees").UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	r.must(err)
}
