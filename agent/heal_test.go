package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/drift"
	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/test/kube"
)

const patience = time.Minute

// pair is an engine and the watches that heal with it, as the agent runs them.
type pair struct {
	t       testing.TB
	cluster *kube.Cluster
	user    string
	admin   kubernetes.Interface
	gate    *tenancy.Gate
	engine  *apply.Engine
	watcher *drift.Watcher
	// clock is theirs, the real one when nil.
	clock *clock.Manual

	mu       sync.Mutex
	needPass map[string]int
}

// start runs a pair on a cluster until the test ends or stop is called.
func start(t testing.TB, cluster *kube.Cluster, user string, groups ...string) (p *pair, stop func()) {
	t.Helper()
	return startAt(t, nil, cluster, user, groups...)
}

// startAt is start with a clock that the test moves.
func startAt(t testing.TB, manual *clock.Manual, cluster *kube.Cluster, user string, groups ...string) (p *pair, stop func()) {
	t.Helper()
	p = &pair{t: t, cluster: cluster, user: user, clock: manual, needPass: map[string]int{}}
	var moved clock.Clock = clock.Real{}
	if manual != nil {
		moved = manual
	}
	rest, err := cluster.ConfigFor(user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	if p.admin, err = kubernetes.NewForConfig(cluster.Config()); err != nil {
		t.Fatal(err)
	}
	_, err = p.admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "axle-system"}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	watching, err := cluster.ConfigFor(user+watches, groups...)
	if err != nil {
		t.Fatal(err)
	}
	p.watcher, err = drift.New(drift.Config{REST: watching, ClusterID: "c-1", Clock: moved, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), NeedPass: func(service string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.needPass[service]++
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.gate = tenancy.New(rest, "axle-system")
	if p.engine, err = apply.New(apply.Config{REST: rest, ClusterID: "c-1", Live: p.watcher, Clock: moved}); err != nil {
		t.Fatal(err)
	}
	if err := p.engine.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.watcher.Run(ctx, p.engine)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return p, stop
}

func (p *pair) pass(service apply.Service, manifests string) apply.Result {
	p.t.Helper()
	var objects []*unstructured.Unstructured
	for doc := range strings.SplitSeq(manifests, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			p.t.Fatal(err)
		}
		objects = append(objects, o)
	}
	permit, err := p.gate.Permit(tenancy.Request{Service: service.ID, Namespace: service.Namespace})
	if err != nil {
		p.t.Fatal(err)
	}
	result, err := p.engine.Pass(p.t.Context(), permit, service, objects)
	if err != nil {
		p.t.Fatal(err)
	}
	return result
}

// quiet waits until the watches agree with what was applied.
func (p *pair) quiet(service string) {
	p.t.Helper()
	eventually.For(p.t, patience, "the watches agree with the inventory", func() error {
		for _, o := range p.engine.Objects(service) {
			live, found, synced := p.watcher.Lookup(o.Kind, o.Ref)
			if !synced || !found || live.UID != o.UID {
				return fmt.Errorf("%s: found %v, in sync %v", o.Ref, found, synced)
			}
		}
		if all := p.watcher.Findings(service); len(all) > 0 {
			return fmt.Errorf("%+v", all)
		}
		return nil
	})
}

// watches is the suffix of the watcher's user name.
const watches = "-watches"

// requests are the pair's requests since the mark, without open watches and without
// the requests every 30 s about unhealthy workloads: without controllers no workload
// becomes healthy.
func (p *pair) requests(mark int64) kube.AuditEvents {
	p.t.Helper()
	events, err := p.cluster.AuditSince(mark)
	if err != nil {
		p.t.Fatal(err)
	}
	var all kube.AuditEvents
	for _, e := range events.Requests() {
		asksWhy := e.User.Name == p.user+watches && (e.Verb == "get" || e.Object.Resource == "pods")
		if (e.User.Name == p.user || e.User.Name == p.user+watches) && e.Verb != "watch" && !asksWhy {
			all = append(all, e)
		}
	}
	return all
}

func (p *pair) mark() int64 {
	p.t.Helper()
	mark, err := p.cluster.AuditMark()
	if err != nil {
		p.t.Fatal(err)
	}
	return mark
}

const web = `apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {key: value}
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {password: "correct horse"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.org/web:1"}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`

func service(id string) apply.Service {
	return apply.Service{ID: id, Name: id, Namespace: "ns-" + id, TarballDigest: "axle1:1", SpecDigest: "s1:1", CreateNamespace: true, RequireOwnership: true}
}

// silent returns the agent's requests, or shows that it makes none.
func (p *pair) silent(service apply.Service, passes int) (sent kube.AuditEvents) {
	p.t.Helper()
	mark := p.mark()
	for range passes {
		if result := p.pass(service, web); result.Sync != apply.SyncSynced || len(result.Problems) > 0 {
			p.t.Fatalf("pass without a change: %+v", result)
		}
	}
	return p.requests(mark)
}

func TestUnchangedObjectsNeedNoRequestsAndDeletedOnesComeBack(t *testing.T) {
	cluster := kube.New(t, kube.ClusterConfig{Audit: true})
	p, stop := start(t, cluster, "agent-one", "system:masters")
	s := service("quiet")
	if result := p.pass(s, web); result.Applied != 4 || result.Phase != apply.PhaseApplied {
		t.Fatalf("install: %+v", result)
	}
	p.quiet(s.ID)
	if sent := p.silent(s, 20); len(sent) > 0 {
		t.Errorf("20 passes without a change send requests:\n%s", sent)
	}

	p.restores(s)
	p.quiet(s.ID)
	p.silent(s, 1) // may write into the inventory what the heal made
	if sent := p.silent(s, 20); len(sent) > 0 {
		t.Errorf("20 passes after a heal send requests:\n%s", sent)
	}

	// A new agent knows all this from the inventory and its watches.
	stop()
	p, _ = start(t, cluster, "agent-two", "system:masters")
	p.quiet(s.ID)
	if sent := p.silent(s, 1); len(sent) > 0 {
		t.Errorf("the first pass after a restart sends requests:\n%s", sent)
	}
}

// restores deletes an object by hand and waits until it is back.
func (p *pair) restores(s apply.Service) {
	p.t.Helper()
	maps := p.admin.CoreV1().ConfigMaps(s.Namespace)
	old, err := maps.Get(p.t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := maps.Delete(p.t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		p.t.Fatal(err)
	}
	began := time.Now()
	eventually.For(p.t, patience, "a deleted object comes back", func() error {
		now, err := maps.Get(p.t.Context(), "web", metav1.GetOptions{})
		if err == nil && (now.UID == old.UID || now.Data["key"] != "value") {
			return errors.New("it is the old one")
		}
		return err
	})
	p.t.Logf("back after %v", time.Since(began).Round(time.Millisecond))
}

// An agent whose watches are not there must be caught by the same count.
func TestAgentWithoutWatchesIsCaught(t *testing.T) {
	cluster := kube.New(t, kube.ClusterConfig{Audit: true})
	p, stop := start(t, cluster, "agent-blind", "system:masters")
	s := service("blind")
	p.pass(s, web)
	p.quiet(s.ID)
	stop()
	rest, err := cluster.ConfigFor("agent-blind", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	if p.engine, err = apply.New(apply.Config{REST: rest, ClusterID: "c-1"}); err != nil {
		t.Fatal(err)
	}
	if err := p.engine.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if sent := p.silent(s, 1); len(sent) == 0 {
		t.Error("an agent that cannot know whether something changed sent no request")
	}
}

func TestDriftIsHealedOrReported(t *testing.T) {
	cluster := kube.New(t, kube.ClusterConfig{Controllers: true, Kwok: true, Audit: true})
	p, _ := start(t, cluster, "agent", "system:masters")
	s := service("drift")
	p.pass(s, web)
	p.quiet(s.ID)
	deployments := p.admin.AppsV1().Deployments(s.Namespace)
	patch := func(manager, body string, sub ...string) {
		t.Helper()
		_, err := deployments.Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{FieldManager: manager}, sub...)
		if err != nil {
			t.Fatal(err)
		}
	}
	eventually.For(t, patience, "the service is healthy", func() error {
		if got := health.RollUp(p.watcher.Components(p.engine.Objects(s.ID))); got.Status != health.Healthy {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})

	// A person changed one of our values, and removed our label.
	patch("kubectl-edit", `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"example.org/evil:1"}]}}}}`)
	patch("kubectl-label", `{"metadata":{"labels":{"`+kubeobj.ManagedLabel+`":null}}}`)
	eventually.For(t, patience, "a changed field is put back", func() error {
		d, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if image := d.Spec.Template.Spec.Containers[0].Image; image != "example.org/web:1" || d.Labels[kubeobj.ManagedLabel] == "" {
			return fmt.Errorf("image %s, labels %v", image, d.Labels)
		}
		return nil
	})
	p.quiet(s.ID)

	// An autoscaler may scale.
	patch("autoscaler", `{"spec":{"replicas":5}}`, "scale")
	// A person's addition is only reported.
	patch("kubectl-edit", `{"spec":{"template":{"spec":{"containers":[{"name":"spy","image":"example.org/spy:1"}]}}}}`)
	eventually.For(t, patience, "an addition is reported", func() error {
		all := p.watcher.Findings(s.ID)
		if len(all) != 1 || all[0].State != drift.Drifted || !strings.Contains(all[0].Message, "kubectl-edit") {
			return fmt.Errorf("%+v", all)
		}
		return nil
	})
	d, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if *d.Spec.Replicas != 5 || len(d.Spec.Template.Spec.Containers) != 2 {
		t.Errorf("replicas %d, containers %d: what is not drift was put back", *d.Spec.Replicas, len(d.Spec.Template.Spec.Containers))
	}

	// In a strict service it goes.
	s.Strict, s.SpecDigest = true, "s1:2"
	if result := p.pass(s, web); result.Sync != apply.SyncSynced {
		t.Errorf("the strict pass: %+v", result)
	}
	d, err = deployments.Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Spec.Template.Spec.Containers) != 1 {
		t.Error("a strict service leaves what a person added")
	}
	p.quiet(s.ID)
}
