package podlogs

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// maxAnswer bounds what an answer becomes in memory, in bytes.
	maxAnswer = 128 << 20
	// maxPods is how many pods of one workload are looked at.
	maxPods = 500
)

// API makes requests to one API server as a person. Errors have the codes of errcode:
// NotFound, Forbidden, Invalid for what can never work, Unavailable and Exhausted for
// what can work later.
type API interface {
	// Get returns the answer to path and query.
	Get(ctx context.Context, path string) ([]byte, error)
	// Watch calls each for every event until the watch ends, which is no error.
	Watch(ctx context.Context, path string, each func(kind string, object []byte) error) error
	// Logs calls each with pieces of a log until it ends.
	Logs(ctx context.Context, path string, each func(piece []byte) error) error
}

// Workload is a Pod, or what owns pods.
type Workload struct{ Namespace, Kind, Name string }

func (w Workload) String() string { return w.Namespace + "/" + w.Kind + "/" + w.Name }

// resources are the API paths of the kinds that own pods.
var resources = map[string]string{
	"Deployment": "/apis/apps/v1/namespaces/%/deployments/", "StatefulSet": "/apis/apps/v1/namespaces/%/statefulsets/",
	"DaemonSet": "/apis/apps/v1/namespaces/%/daemonsets/", "ReplicaSet": "/apis/apps/v1/namespaces/%/replicasets/",
	"ReplicationController": "/api/v1/namespaces/%/replicationcontrollers/", "Job": "/apis/batch/v1/namespaces/%/jobs/",
	"CronJob": "/apis/batch/v1/namespaces/%/cronjobs/", "Pod": "/api/v1/namespaces/%/pods/",
	"Service": "/api/v1/namespaces/%/services/",
}

// KindOf is the kind that a person names: in any case, in the plural, or by its short name.
func KindOf(text string) (string, error) {
	short := map[string]string{"deploy": "Deployment", "sts": "StatefulSet", "ds": "DaemonSet", "rs": "ReplicaSet", "rc": "ReplicationController", "cj": "CronJob", "po": "Pod", "svc": "Service"}
	word := strings.ToLower(text)
	if kind, ok := short[word]; ok {
		return kind, nil
	}
	kinds := make([]string, 0, len(resources))
	for kind := range resources {
		if lower := strings.ToLower(kind); word == lower || word == lower+"s" {
			return kind, nil
		}
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return "", errcode.New(errcode.Invalid, "%q owns no pods; name one of %s", text, strings.Join(kinds, ", "))
}

// Reads reports whether a kind owns pods. A Service has those of others.
func Reads(kind string) bool { return resources[kind] != "" && kind != "Service" }

// pod is what is read of a Pod.
type pod struct {
	// of is the workload that it was found by.
	of       Workload
	Metadata struct {
		Name, Namespace, UID string
		CreationTimestamp    metav1.Time
		ResourceVersion      string
		OwnerReferences      []struct{ UID string }
	}
	Spec struct {
		InitContainers, Containers, EphemeralContainers []struct{ Name, RestartPolicy string }
	}
	Status struct {
		Phase                                                                string
		InitContainerStatuses, ContainerStatuses, EphemeralContainerStatuses []containerStatus
	}
}

type containerStatus struct {
	Name         string
	Ready        bool
	RestartCount int
	State        struct {
		Waiting    *struct{ Reason string }
		Running    *struct{}
		Terminated *struct{ ExitCode int }
	}
}

// over reports whether nothing of a pod runs any more.
func (p *pod) over() bool { return p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" }

func (p *pod) ready() bool {
	return p.Status.Phase == "Succeeded" || !slices.ContainsFunc(p.Status.ContainerStatuses, func(c containerStatus) bool { return !c.Ready })
}

func (p *pod) status(container string) (containerStatus, bool) {
	for _, list := range [][]containerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses, p.Status.EphemeralContainerStatuses} {
		for _, c := range list {
			if c.Name == container {
				return c, true
			}
		}
	}
	return containerStatus{}, false
}

// containers are those to read: the named ones, or all but init containers that
// have done their work or have not begun. others are the names of the rest.
func (p *pod) containers(only []string) (read, others []string) {
	take := func(name string, wanted bool) {
		if len(only) > 0 {
			wanted = slices.Contains(only, name)
		}
		if wanted {
			read = append(read, name)
		} else {
			others = append(others, name)
		}
	}
	for _, c := range p.Spec.InitContainers {
		s, known := p.status(c.Name)
		take(c.Name, c.RestartPolicy == "Always" || known && s.State.Waiting == nil && (s.State.Terminated == nil || s.State.Terminated.ExitCode != 0))
	}
	for _, c := range p.Spec.Containers {
		take(c.Name, true)
	}
	for _, c := range p.Spec.EphemeralContainers {
		take(c.Name, false)
	}
	return read, others
}

func podPath(namespace, name string) string {
	return "/api/v1/namespaces/" + url.PathEscape(namespace) + "/pods/" + url.PathEscape(name)
}

func get(ctx context.Context, api API, path string, into any) error {
	text, err := api.Get(ctx, path)
	if err != nil {
		return err
	}
	if err := bounded.JSON(text, into, maxAnswer); err != nil {
		return errcode.New(errcode.Unavailable, "the cluster's answer is not JSON: %w", err)
	}
	return nil
}

// listOf is path and query of a workload's pods, and whether others can start later.
func listOf(ctx context.Context, api API, w Workload) (path string, query url.Values, grows bool, err error) {
	path, query = "/api/v1/namespaces/"+url.PathEscape(w.Namespace)+"/pods", url.Values{}
	if w.Kind == "Pod" {
		query.Set("fieldSelector", "metadata.name="+w.Name)
		return path, query, false, nil
	}
	at, ok := resources[w.Kind]
	if !ok {
		return "", nil, false, errcode.New(errcode.Invalid, "%s owns no pods", w)
	}
	namespaced := strings.Replace(at, "%", url.PathEscape(w.Namespace), 1)
	if w.Kind == "CronJob" {
		w, err = lastJob(ctx, api, w, namespaced)
		if err != nil {
			return "", nil, false, err
		}
		namespaced = strings.Replace(resources["Job"], "%", url.PathEscape(w.Namespace), 1)
	}
	var object struct {
		Spec struct{ Selector map[string]any }
	}
	if err := get(ctx, api, namespaced+url.PathEscape(w.Name), &object); err != nil {
		return "", nil, false, err
	}
	selector, err := selectorOf(w, object.Spec.Selector)
	if err != nil {
		return "", nil, false, err
	}
	query.Set("labelSelector", selector)
	return path, query, true, nil
}

// selectorOf is a workload's selector as a query has it.
func selectorOf(w Workload, fields map[string]any) (string, error) {
	if w.Kind == "ReplicationController" || w.Kind == "Service" {
		fields = map[string]any{"matchLabels": fields}
	}
	var s metav1.LabelSelector
	labels, _ := fields["matchLabels"].(map[string]any)
	s.MatchLabels = map[string]string{}
	for key, value := range labels {
		s.MatchLabels[key], _ = value.(string)
	}
	expressions, _ := fields["matchExpressions"].([]any)
	for _, e := range expressions {
		of, _ := e.(map[string]any)
		r := metav1.LabelSelectorRequirement{}
		r.Key, _ = of["key"].(string)
		operator, _ := of["operator"].(string)
		r.Operator = metav1.LabelSelectorOperator(operator)
		values, _ := of["values"].([]any)
		for _, v := range values {
			text, _ := v.(string)
			r.Values = append(r.Values, text)
		}
		s.MatchExpressions = append(s.MatchExpressions, r)
	}
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return "", errcode.New(errcode.Unprocessable, "%s selects no pods", w) // and not all of the namespace
	}
	selector, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return "", errcode.New(errcode.Unprocessable, "the selector of %s: %w", w, err)
	}
	return selector.String(), nil
}

// lastJob is the newest job of a CronJob.
func lastJob(ctx context.Context, api API, w Workload, at string) (Workload, error) {
	var owner pod
	if err := get(ctx, api, at+url.PathEscape(w.Name), &owner); err != nil {
		return w, err
	}
	var list struct{ Items []pod }
	jobs := strings.TrimSuffix(strings.Replace(resources["Job"], "%", url.PathEscape(w.Namespace), 1), "/")
	if err := get(ctx, api, jobs+"?limit=500", &list); err != nil {
		return w, err
	}
	var last *pod
	for i, j := range list.Items {
		if slices.ContainsFunc(j.Metadata.OwnerReferences, func(o struct{ UID string }) bool { return o.UID == owner.Metadata.UID }) &&
			(last == nil || last.Metadata.CreationTimestamp.Before(&j.Metadata.CreationTimestamp)) {
			last = &list.Items[i]
		}
	}
	if last == nil {
		return w, errcode.New(errcode.NotFound, "%s has no job, so no pods", w)
	}
	return Workload{w.Namespace, "Job", last.Metadata.Name}, nil
}

// list is a page of pods.
type podList struct {
	Metadata struct{ ResourceVersion, Continue string }
	Items    []pod
}

// sorted puts what is not ready first, and then the newest.
func sorted(pods []pod) []pod {
	slices.SortStableFunc(pods, func(a, b pod) int {
		if a.ready() != b.ready() {
			return cmp.Compare(rank(a), rank(b))
		}
		return cmp.Or(b.Metadata.CreationTimestamp.Compare(a.Metadata.CreationTimestamp.Time), cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	return pods
}

func rank(p pod) int {
	if p.ready() {
		return 1
	}
	return 0
}
