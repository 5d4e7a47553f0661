package apply_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// stage is a Live on which a test says how objects do; Jobs run until it says
// that they ended.
type stage struct {
	*oracle
	mu     sync.Mutex
	health map[string]string
}

func (s *stage) set(name, health string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.health[name] = health
}

func (s *stage) Lookup(kind kubeobj.Kind, ref kubeobj.Ref) (live kubeobj.Live, found, synced bool) {
	live, found, synced = s.oracle.Lookup(kind, ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind.Kind == "Job" {
		live.Health, live.Message = "Progressing", "it runs"
	}
	if h := s.health[ref.Name]; h != "" {
		live.Health, live.Message = h, "it is "+h
	}
	return live, found, synced
}

// theatre is a bed with a stage and a clock.
type theatre struct {
	*bed
	stage  *stage
	now    *clock.Manual
	change func(*apply.Config)
}

func newTheatre(t *testing.T) *theatre {
	t.Helper()
	b := newBed(t, nil)
	th := &theatre{bed: b, stage: &stage{oracle: b.live, health: map[string]string{}}, now: clock.NewManual(time.Unix(1e9, 0))}
	th.change = func(cfg *apply.Config) { cfg.Live, cfg.Clock = th.stage, th.now }
	th.engine = b.restart(th.change)
	return th
}

func (th *theatre) reboot() { th.engine = th.restart(th.change) }

// job returns a Job, nil if it does not exist.
func (th *theatre) job(namespace, name string) *batchv1.Job {
	th.t.Helper()
	job, err := th.admin.BatchV1().Jobs(namespace).Get(th.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		th.t.Fatal(err)
	}
	return job
}

func (th *theatre) there(namespace, name string) bool {
	_, err := th.configMap(namespace, name)
	return err == nil
}

func jobDoc(name string, annotations ...string) string {
	text := "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: " + name + "\n"
	if len(annotations) > 0 {
		text += "  annotations:\n"
	}
	for _, a := range annotations {
		text += "    " + a + "\n"
	}
	return text + "spec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{name: main, image: example.org/job:1}]\n"
}

func preSync(name string, more ...string) string {
	return jobDoc(name, append([]string{"argocd.argoproj.io/hook: PreSync"}, more...)...)
}

func postSync(name string, more ...string) string {
	return jobDoc(name, append([]string{`helm.sh/hook: "post-install,post-upgrade"`}, more...)...)
}

func TestHooksRunOnceForEachRevisionAndPhasesWait(t *testing.T) {
	th := newTheatre(t)
	service := newService("d1")
	ns := service.Namespace
	docs := []string{postSync("after"), configMap("main", "v"), preSync("before")}

	result := th.pass(service, docs...)
	if result.Phase != apply.PhaseWaiting || result.Sync != apply.SyncApplying || !result.Partly || !strings.Contains(result.Message, "before") {
		t.Errorf("while the first hook runs: %+v", result)
	}
	if th.job(ns, "before") == nil || th.there(ns, "main") {
		t.Fatal("the sync did not wait for its hook")
	}
	th.reboot()
	if result = th.pass(service, docs...); !result.Partly || result.Applied != 0 {
		t.Errorf("after a restart: %+v", result)
	}
	th.stage.set("before", "Healthy")
	th.stage.set("main", "Progressing")
	if result = th.pass(service, docs...); !th.there(ns, "main") || th.job(ns, "after") != nil || result.Phase != apply.PhaseWaiting || !result.Partly {
		t.Errorf("the phase after did not wait for health: %+v", result)
	}
	th.stage.set("main", "Healthy")
	if result = th.pass(service, docs...); th.job(ns, "after") == nil || result.Phase != apply.PhaseWaiting || result.Partly {
		t.Errorf("the last hook: %+v", result)
	}
	if state, _ := th.engine.State(service.ID); state.TarballDigest != "" {
		t.Error("it is called applied while a hook runs")
	}
	th.stage.set("after", "Healthy")
	if result = th.pass(service, docs...); result.Phase != apply.PhaseApplied {
		t.Errorf("in the end: %+v", result)
	}
	first := th.job(ns, "before").UID

	// Nothing runs again, whatever becomes of the objects.
	th.reboot()
	mark := th.mark()
	for range 3 {
		if result = th.pass(service, docs...); result.Phase != apply.PhaseApplied || result.Applied != 0 {
			t.Errorf("unchanged: %+v", result)
		}
	}
	if sent := th.requests(mark); len(sent) != 0 {
		t.Errorf("passes without a change send requests:\n%s", sent)
	}
	// A new revision runs them again, although they are the same.
	service.TarballDigest = "d2"
	if result = th.pass(service, docs...); result.Phase != apply.PhaseApplied || th.job(ns, "before").UID == first {
		t.Errorf("the next revision: %+v", result)
	}
}

func TestHooksOfOneStageFollowTheirWeights(t *testing.T) {
	th := newTheatre(t)
	service := newService("d1")
	docs := []string{preSync("second", `argocd.argoproj.io/sync-wave: "2"`), preSync("first", `argocd.argoproj.io/sync-wave: "1"`)}
	th.pass(service, docs...)
	if th.job(service.Namespace, "first") == nil || th.job(service.Namespace, "second") != nil {
		t.Error("the second hook did not wait for the first")
	}
	th.stage.set("first", "Healthy")
	th.pass(service, docs...)
	if th.job(service.Namespace, "second") == nil {
		t.Error("the second hook did not follow")
	}
}

func TestFailedHookIsToldAndTriedAgain(t *testing.T) {
	th := newTheatre(t)
	service := newService("d1")
	ns := service.Namespace
	docs := []string{preSync("before"), configMap("main", "v"), jobDoc("sorry", "argocd.argoproj.io/hook: SyncFail")}
	th.pass(service, docs...)
	if th.job(ns, "sorry") != nil {
		t.Error("the hook for failures runs before one")
	}
	first := th.job(ns, "before").UID
	th.stage.set("before", "Degraded")
	result := th.pass(service, docs...)
	if result.Phase != apply.PhaseFailed || result.Sync != apply.SyncFailed || result.Reason != apply.ReasonHook ||
		!strings.Contains(result.Message, "before") || !strings.Contains(result.Message, "it is Degraded") || result.Again < time.Minute || result.Again > 10*time.Minute {
		t.Errorf("%+v", result)
	}
	if th.job(ns, "sorry") == nil || th.there(ns, "main") {
		t.Error("the hook for failures did not run, or the sync went on")
	}
	th.reboot()
	if result = th.pass(service, docs...); result.Reason != apply.ReasonHook || !strings.Contains(result.Message, "it is Degraded") || th.job(ns, "before").UID != first {
		t.Errorf("before its time: %+v", result)
	}
	th.now.Advance(11 * time.Minute)
	th.stage.set("before", "")
	if result = th.pass(service, docs...); result.Phase != apply.PhaseWaiting || th.job(ns, "before").UID == first {
		t.Errorf("the second try: %+v", result)
	}
	th.stage.set("before", "Healthy")
	if result = th.pass(service, docs...); result.Phase != apply.PhaseApplied || !th.there(ns, "main") {
		t.Errorf("in the end: %+v", result)
	}
}

func TestHookThatNeverEndsMeetsItsDeadline(t *testing.T) {
	for name, test := range map[string]struct {
		more  string
		limit time.Duration
	}{
		"the default": {"", 10 * time.Minute}, "its own": {"  activeDeadlineSeconds: 60\n", 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			th := newTheatre(t)
			service := newService("d1")
			th.pass(service, preSync("before")+test.more)
			th.now.Advance(test.limit - time.Second)
			if result := th.pass(service, preSync("before")+test.more); result.Phase != apply.PhaseWaiting {
				t.Errorf("in time: %+v", result)
			}
			th.now.Advance(2 * time.Second)
			if result := th.pass(service, preSync("before")+test.more); result.Reason != apply.ReasonHook || !strings.Contains(result.Message, "not ended in time") {
				t.Errorf("late: %+v", result)
			}
		})
	}
}

func TestDeletePoliciesOfHooks(t *testing.T) {
	for name, test := range map[string]struct {
		policy, end string
		stays       bool
	}{
		"succeeded, ends well":    {"HookSucceeded", "Healthy", false},
		"succeeded, fails":        {"HookSucceeded", "Degraded", true},
		"failed, ends well":       {"HookFailed", "Healthy", true},
		"failed, fails":           {"HookFailed", "Degraded", false},
		"before the next, fails":  {"BeforeHookCreation", "Degraded", true},
		"both, ends well":         {"HookSucceeded,HookFailed", "Healthy", false},
		"nothing said, ends well": {"", "Healthy", true},
	} {
		t.Run(name, func(t *testing.T) {
			th := newTheatre(t)
			service := newService("d1")
			doc := preSync("before", fmt.Sprintf("argocd.argoproj.io/hook-delete-policy: %q", test.policy))
			th.pass(service, doc)
			th.stage.set("before", test.end)
			th.pass(service, doc)
			if job := th.job(service.Namespace, "before"); (job != nil && job.DeletionTimestamp == nil) != test.stays {
				t.Errorf("the hook's object: %v", job)
			}
			// A hook whose object is gone has still run.
			if th.reboot(); test.end == "Healthy" {
				if result := th.pass(service, doc); result.Phase != apply.PhaseApplied || result.Applied != 0 {
					t.Errorf("afterwards: %+v", result)
				}
			}
		})
	}
}

func TestHookThatVanishes(t *testing.T) {
	for name, test := range map[string]struct {
		more string
		want apply.Phase
	}{
		"by its own time to live": {"  ttlSecondsAfterFinished: 0\n", apply.PhaseApplied}, "by somebody": {"", apply.PhaseFailed},
	} {
		t.Run(name, func(t *testing.T) {
			th := newTheatre(t)
			service := newService("d1")
			th.pass(service, preSync("before")+test.more)
			background := metav1.DeletePropagationBackground
			if err := th.admin.BatchV1().Jobs(service.Namespace).Delete(t.Context(), "before", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
				t.Fatal(err)
			}
			if result := th.pass(service, preSync("before")+test.more); result.Phase != test.want {
				t.Errorf("%+v", result)
			}
		})
	}
}

func TestNewerRevisionEndsHealthWaitsButNoHook(t *testing.T) {
	th := newTheatre(t)
	service := newService("d1")
	ns := service.Namespace
	th.stage.set("main", "Progressing")
	th.pass(service, configMap("main", "v"), postSync("after"))
	if th.job(ns, "after") != nil {
		t.Fatal("the hook did not wait")
	}
	service.TarballDigest = "d2"
	result := th.pass(service, configMap("other", "v"), preSync("before"))
	if th.job(ns, "before") == nil || result.Phase != apply.PhaseWaiting {
		t.Errorf("a newer revision waits for the health of an older one: %+v", result)
	}
	// The hook of the second revision is not cut off by the third.
	running := th.job(ns, "before").UID
	service.TarballDigest = "d3"
	result = th.pass(service, configMap("third", "v"), preSync("before"))
	if th.there(ns, "third") || th.job(ns, "before").UID != running || !strings.Contains(result.Message, "earlier revision") {
		t.Errorf("while a hook runs: %+v", result)
	}
	th.stage.set("before", "Healthy")
	if th.pass(service, configMap("third", "v"), preSync("before")); th.job(ns, "before").UID == running {
		t.Error("the third revision's hook did not run")
	}
	th.pass(service, configMap("third", "v"), preSync("before"))
	if !th.there(ns, "third") {
		t.Error("the third revision is not applied")
	}
}

func TestHealDuringAWaitCoversWhatIsReached(t *testing.T) {
	th := newTheatre(t)
	service := newService("d1")
	th.pass(service, configMap("main", "v"), configMap("late", "v", `annotations: {deployment.plural.sh/sync-hook: post-sync}`))
	service.TarballDigest = "d2"
	th.stage.set("main", "Progressing")
	th.pass(service, configMap("main", "new"), configMap("late", "new", `annotations: {deployment.plural.sh/sync-hook: post-sync}`))
	held := func(name string) bool {
		e, _ := th.engine.Expected(kubeobj.Ref{Kind: "ConfigMap", Namespace: service.Namespace, Name: name})
		return e.Held
	}
	if held("main") || !held("late") {
		t.Errorf("held: main %v, late %v", held("main"), held("late"))
	}
}

func TestHealthWaitThatExpiresRunsTheHooksForFailures(t *testing.T) {
	th := newTheatre(t)
	service := newService("d1")
	th.stage.set("main", "Progressing")
	docs := []string{configMap("main", "v"), postSync("after"), jobDoc("sorry", "argocd.argoproj.io/hook: SyncFail")}
	th.pass(service, docs...)
	th.now.Advance(11 * time.Minute)
	result := th.pass(service, docs...)
	if result.Reason != apply.ReasonHealth || th.job(service.Namespace, "sorry") == nil || th.job(service.Namespace, "after") != nil {
		t.Errorf("%+v", result)
	}
	th.stage.set("main", "Healthy")
	th.stage.set("after", "Healthy")
	if result = th.pass(service, docs...); result.Phase != apply.PhaseApplied {
		t.Errorf("once it is healthy: %+v", result)
	}
}

func TestHooksOfADrain(t *testing.T) {
	th := newTheatre(t)
	service := newService("d1")
	service.DeleteNamespace = true
	ns := service.Namespace
	docs := []string{configMap("main", "v"), jobDoc("farewell", "helm.sh/hook: pre-delete"), jobDoc("gone", "argocd.argoproj.io/hook: PostDelete")}
	if result := th.pass(service, docs...); result.Phase != apply.PhaseApplied || th.job(ns, "farewell") != nil {
		t.Fatalf("%+v", result)
	}
	drain := func() apply.DrainResult {
		t.Helper()
		// Each step may be another agent's: nothing is known but the inventory.
		th.reboot()
		result, err := th.engine.Drain(t.Context(), th.permit(th.engine, service), service)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	if result := drain(); th.job(ns, "farewell") == nil || !th.there(ns, "main") || !strings.Contains(result.Message, "farewell") {
		t.Errorf("before: %+v", result)
	}
	th.stage.set("farewell", "Degraded")
	if result := drain(); !th.there(ns, "main") || !strings.Contains(result.Message, "detach") {
		t.Errorf("a failed hook: %+v", result)
	}
	th.now.Advance(11 * time.Minute)
	th.stage.set("farewell", "")
	drain() // forgets the failure
	drain()
	th.stage.set("farewell", "Healthy")
	if result := drain(); th.there(ns, "main") || th.job(ns, "gone") == nil || result.Done {
		t.Errorf("after: %+v", result)
	}
	th.stage.set("gone", "Healthy")
	if result := drain(); !result.Done {
		t.Errorf("in the end: %+v", result)
	}
}

func TestHookKilledAtAnyRequestRunsOnce(t *testing.T) {
	th := newTheatre(t)
	docs := []string{preSync("before"), configMap("main", "v"), postSync("after")}
	for _, name := range []string{"before", "after"} {
		th.stage.set(name, "Healthy")
	}
	for _, answer := range []bool{false, true} {
		finished := false
		for n := int64(1); !finished; n++ {
			service := newService("d1")
			mark := th.mark()
			killed := th.restart(func(cfg *apply.Config) { th.change(cfg); cut(n, answer)(cfg) })
			_, err := killed.Pass(t.Context(), th.permit(killed, service), service, objects(t, docs...))
			finished = err == nil
			th.reboot()
			for range 4 {
				if result := th.pass(service, docs...); result.Phase == apply.PhaseApplied {
					break
				}
			}
			if state, _ := th.engine.State(service.ID); state.Phase != apply.PhaseApplied {
				t.Fatalf("killed at request %d (answer lost: %v): %+v", n, answer, state)
			}
			uids := map[string]int{}
			for _, e := range th.requests(mark) {
				if e.Verb == "delete" {
					uids["deletes"]++
				}
			}
			if uids["deletes"] != 0 {
				t.Fatalf("killed at request %d (answer lost: %v): a hook was made twice", n, answer)
			}
			if n > 40 {
				t.Fatal("a small pass takes more than 40 requests")
			}
		}
	}
}
