package upgrade_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/agent/upgrade"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

const patience = time.Minute

// stage is one installation on a real API server, without anything that runs
// pods: the test is the kubelet.
type stage struct {
	t         *testing.T
	client    kubernetes.Interface
	namespace string
	// working counts the agents at work; it must never be above 1.
	working atomic.Int32
	twice   atomic.Bool
	running sync.WaitGroup
	clock   ahead
}

// ahead is the machine's clock moved forward: timeouts end when a test says so,
// however long a busy machine takes before that.
type ahead struct {
	clock.Real
	by atomic.Int64
}

// Now is the time plus the offset.
func (a *ahead) Now() time.Time { return a.Real.Now().Add(time.Duration(a.by.Load())) }

// move ends every patience that began before.
func (a *ahead) move() { a.by.Add(int64(2 * upgrade.DefaultWithin)) }

func newStage(t *testing.T) *stage {
	t.Helper()
	cluster := kube.Shared(t)
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, client: client, namespace: cluster.Namespace(t)}
	t.Cleanup(func() {
		s.running.Wait()
		if s.twice.Load() {
			t.Error("two agents worked at once")
		}
	})
	if _, err := client.AppsV1().Deployments(s.namespace).Create(t.Context(), s.deployment("one"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.pod("agent-one", "one")
	return s
}

// deployment is the agent's at a version.
func (s *stage) deployment(version string) *appsv1.Deployment {
	labels := map[string]string{"app.kubernetes.io/name": "axle-agent"}
	d := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "axle-agent", Namespace: s.namespace, Labels: map[string]string{"app.kubernetes.io/version": version}},
	}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec(version)}
	return d
}

func podSpec(version string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "agent:" + version, Args: []string{"run"}}}}
}

// pod creates the pod of an installed agent, so that it can find out what it is.
func (s *stage) pod(name, version string) {
	s.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace}, Spec: podSpec(version)}
	if _, err := s.client.CoreV1().Pods(s.namespace).Create(s.t.Context(), p, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// offered is the rendered result of the agent's own service.
func (s *stage) offered(version string) []*unstructured.Unstructured {
	s.t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.deployment(version))
	if err != nil {
		s.t.Fatal(err)
	}
	return []*unstructured.Unstructured{{Object: object}}
}

// agent is one process: an installed agent, or a candidate.
type agent struct {
	*upgrade.Keeper
	stop func()
}

func (s *stage) keeper(change func(*upgrade.Config)) *upgrade.Keeper {
	s.t.Helper()
	c := upgrade.Config{
		Client: s.client, Namespace: s.namespace, Version: "one", Pod: "agent-one", Tick: 20 * time.Millisecond, Clock: &s.clock,
		Log: slog.New(slog.NewTextHandler(s.t.Output(), nil)),
	}
	change(&c)
	k, err := upgrade.New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	return k
}

// run starts a process that ends with the test, or by stop.
func (s *stage) run(k *upgrade.Keeper, run func(ctx context.Context) error) agent {
	ctx, cancel := context.WithCancel(s.t.Context())
	var once sync.WaitGroup
	once.Add(1)
	s.running.Go(func() {
		defer once.Done()
		if err := run(ctx); err != nil {
			s.t.Errorf("an agent ended with %v", err)
		}
	})
	return agent{k, func() { cancel(); once.Wait() }}
}

// work is an agent at work.
func (s *stage) work(ctx context.Context) error {
	if s.working.Add(1) > 1 {
		s.twice.Store(true)
	}
	<-ctx.Done()
	s.working.Add(-1)
	return nil
}

// installed starts the installed agent.
func (s *stage) installed(change func(*upgrade.Config)) agent {
	k := s.keeper(change)
	return s.run(k, func(ctx context.Context) error { return k.Run(ctx, s.work) })
}

// candidate starts the program of the candidate's Deployment, as a kubelet would, and
// ends it with the Deployment.
func (s *stage) candidate(work upgrade.Work) agent {
	s.t.Helper()
	key := ""
	eventually.For(s.t, patience, "there is a candidate", func() error {
		d, err := s.client.AppsV1().Deployments(s.namespace).Get(s.t.Context(), "axle-agent-candidate", metav1.GetOptions{})
		if err == nil {
			_, key, _ = strings.Cut(strings.Join(d.Spec.Template.Spec.Containers[0].Args, " "), "--candidate=")
		}
		return err
	})
	k := s.keeper(func(c *upgrade.Config) { c.Version, c.Pod, c.Candidate = "two", "", key })
	if work.Run == nil {
		work.Run = s.work
	}
	a := s.run(k, func(ctx context.Context) error { return k.RunCandidate(ctx, work) })
	s.running.Go(func() {
		_ = eventually.Wait(s.t.Context(), 10*patience, s.noCandidate)
		a.stop()
	})
	return a
}

func (s *stage) noCandidate() error {
	_, err := s.client.AppsV1().Deployments(s.namespace).Get(s.t.Context(), "axle-agent-candidate", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return errors.Join(errors.New("the candidate is still there"), err)
}

// image is the image of the installed Deployment.
func (s *stage) image() string {
	s.t.Helper()
	d, err := s.client.AppsV1().Deployments(s.namespace).Get(s.t.Context(), "axle-agent", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return d.Spec.Template.Spec.Containers[0].Image
}

// offer offers a version until the result is as expected.
func (s *stage) offer(k *upgrade.Keeper, version, key string, wanted func(upgrade.Wanted) bool) {
	s.t.Helper()
	eventually.For(s.t, patience, "version "+version+" is offered", func() error {
		got, err := k.Offer(s.t.Context(), s.offered(version), key)
		if err == nil && !wanted(got) {
			err = fmt.Errorf("it came to %+v", got)
		}
		return err
	})
}

func begun(w upgrade.Wanted) bool  { return !w.Same && !w.Failed }
func failed(w upgrade.Wanted) bool { return w.Failed }

func (s *stage) works() {
	s.t.Helper()
	eventually.For(s.t, patience, "one agent works", func() error {
		if n := s.working.Load(); n != 1 {
			return fmt.Errorf("%d do", n)
		}
		return nil
	})
}

var well = upgrade.Work{
	Render: func(context.Context) (upgrade.CandidateRender, error) {
		return upgrade.CandidateRender{Services: 200, Compared: 200, Different: 2, First: "web"}, nil
	},
	Good: func() error { return nil },
}

func TestNewAgentTakesOver(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	old := s.installed(func(*upgrade.Config) {})
	s.works()
	if got, err := old.Offer(t.Context(), s.offered("one"), "k"); err != nil || !got.Same {
		t.Errorf("what is installed came to %+v, %v", got, err)
	}
	s.offer(old.Keeper, "two", "k", begun)
	s.candidate(well)
	eventually.For(t, patience, "the new version is installed", func() error {
		if image := s.image(); image != "agent:two" {
			return errors.New(image)
		}
		return nil
	})
	if s.working.Load() != 1 {
		t.Error("the candidate does not work while the old agent ends")
	}
	// Kubernetes ends the old pod, then starts the new one.
	old.stop()
	s.pod("agent-two", "two")
	next := s.installed(func(c *upgrade.Config) { c.Version, c.Pod = "two", "agent-two" })
	eventually.For(t, patience, "the candidate goes", s.noCandidate)
	s.works()
	if got, err := next.Offer(t.Context(), s.offered("two"), "k"); err != nil || !got.Same {
		t.Errorf("what is installed came to %+v, %v", got, err)
	}
}

func TestBadAgentIsTakenBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		work upgrade.Work
		// late is the state in which the patience with it ends, if it does.
		late string
		says string
	}{
		"renders otherwise": {upgrade.Work{
			Render: func(context.Context) (upgrade.CandidateRender, error) {
				return upgrade.CandidateRender{Services: 100, Compared: 100, Different: 2, First: "web (ConfigMap a would be changed)"}, nil
			},
			Good: well.Good,
		}, "", "would change 2 of 100 unchanged services, such as web"},
		"never renders": {upgrade.Work{
			Render: func(context.Context) (upgrade.CandidateRender, error) {
				return upgrade.CandidateRender{}, errors.New("no hub")
			}, Good: well.Good,
		}, "Shadowing", "not rendered everything within"},
		"is never well": {upgrade.Work{Render: well.Render, Good: func() error { return errors.New("the hub was not asked yet") }}, "Working", "not healthy within"},
		"ends its work": {upgrade.Work{Render: well.Render, Good: func() error { return errors.New("not yet") }, Run: func(context.Context) error {
			return errors.New("cannot open its data folder")
		}}, "", "cannot open its data folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			old := s.installed(func(*upgrade.Config) {})
			s.works()
			s.offer(old.Keeper, "two", "k", begun)
			s.candidate(test.work)
			if test.late != "" {
				eventually.For(t, patience, "the candidate is "+test.late, func() error { return s.said(test.late) })
				s.clock.move()
			}
			s.offer(old.Keeper, "two", "k", failed)
			eventually.For(t, patience, "the candidate goes", s.noCandidate)
			s.works()
			got, err := old.Offer(t.Context(), s.offered("two"), "k")
			if err != nil || !got.Failed || !strings.Contains(got.Message, test.says) {
				t.Errorf("it came to %+v, %v; want %q", got, err, test.says)
			}
			if image := s.image(); image != "agent:one" {
				t.Errorf("%s is installed", image)
			}
			// Something else is tried again.
			s.offer(old.Keeper, "two", "another", begun)
			eventually.For(t, patience, "there is a candidate again", func() error {
				if s.noCandidate() == nil {
					return errors.New("there is none")
				}
				return nil
			})
		})
	}
}

// A candidate is healthy, but its installed version never starts: the previous
// version comes back, without help and without a moment in which no agent works.
func TestAgentThatCannotBeInstalledIsTakenBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	old := s.installed(func(*upgrade.Config) {})
	s.works()
	s.offer(old.Keeper, "two", "k", begun)
	candidate := s.candidate(well)
	eventually.For(t, patience, "the new version is installed", func() error {
		if image := s.image(); image != "agent:two" {
			return errors.New(image)
		}
		return nil
	})
	old.stop() // and no pod of the new version ever runs
	s.clock.move()
	eventually.For(t, patience, "the version before is installed again", func() error {
		if image := s.image(); image != "agent:one" {
			return errors.New(image)
		}
		return nil
	})
	if s.working.Load() != 1 {
		t.Error("nobody works until the version before does")
	}
	// The candidate is killed too before the old agent is back.
	candidate.stop()
	s.candidate(well)
	s.works()
	next := s.installed(func(*upgrade.Config) {})
	eventually.For(t, patience, "the candidate goes", s.noCandidate)
	s.works()
	got, err := next.Offer(t.Context(), s.offered("two"), "k")
	if err != nil || !got.Failed || !strings.Contains(got.Message, "did not start as the installed agent within 15m0s") {
		t.Errorf("it came to %+v, %v", got, err)
	}
	s.offer(next.Keeper, "two", "another", begun)
}

// Both sides are killed and started again while the candidate works.
func TestUpgradeGoesOnAfterKills(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	old := s.installed(func(*upgrade.Config) {})
	s.works()
	s.offer(old.Keeper, "two", "k", begun)
	old.stop()
	// A restart while the candidate renders works on, and looks at the candidate.
	old = s.installed(func(*upgrade.Config) {})
	s.works()
	var isWell atomic.Bool
	work := upgrade.Work{Render: well.Render, Good: func() error {
		if isWell.Load() {
			return nil
		}
		return errors.New("not yet")
	}}
	candidate := s.candidate(work)
	eventually.For(t, patience, "the candidate has the work", func() error { return s.said("Working") })
	old.stop()
	candidate.stop()
	if n := s.working.Load(); n != 0 {
		t.Fatalf("%d work after both were killed", n)
	}
	old = s.installed(func(*upgrade.Config) {})
	s.candidate(work)
	s.works()
	isWell.Store(true)
	eventually.For(t, patience, "the new version is installed", func() error {
		if image := s.image(); image != "agent:two" {
			return errors.New(image)
		}
		return nil
	})
}

// said returns nil when the candidate said a state.
func (s *stage) said(state string) error {
	m, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(s.t.Context(), "axle-agent-upgrade", metav1.GetOptions{})
	if err == nil && !strings.Contains(m.Data["candidate"], `"state":"`+state+`"`) {
		err = errors.New(m.Data["candidate"])
	}
	return err
}
