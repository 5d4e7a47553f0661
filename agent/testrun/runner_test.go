package testrun_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/agent/testrun"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/scrub"
	"github.com/axle-cd/axle/test/kube"
)

// within bounds waits; nothing is judged by it.
const within = 2 * time.Minute

// hub records the reports, and can be unavailable.
type hub struct {
	mu    sync.Mutex
	away  bool
	calls int
	runs  map[string]*agentv1.TestRun
}

func (h *hub) ReportTests(_ context.Context, r *agentv1.ReportTestsRequest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls++; h.away {
		return errcode.New(errcode.Unavailable, "away")
	}
	if h.runs == nil {
		h.runs = map[string]*agentv1.TestRun{}
	}
	for _, run := range r.GetRuns() {
		h.runs[run.GetServiceId()] = proto.CloneOf(run)
	}
	return nil
}

func (h *hub) run(service string) *agentv1.TestRun {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[service]
}

func (h *hub) setAway(away bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.away = away
}

// bed is one cluster that runs pods as processes, for all tests.
type bed struct {
	*kube.Cluster
	client kubernetes.Interface
}

var cluster = sync.OnceValues(func() (*bed, error) {
	c, err := kube.Lease(context.Background(), kube.ClusterConfig{Controllers: true, Binaries: map[string]string{"sh": "/bin/sh"}})
	if err != nil {
		return nil, err
	}
	closeBed = c.Close
	client, err := kubernetes.NewForConfig(c.Config())
	return &bed{c, client}, err
})

var closeBed = func() error { return nil }

func TestMain(m *testing.M) {
	code := m.Run()
	if err := closeBed(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// stage is a runner with its hub, a namespace, and a folder that its tests'
// containers see as /state.
type stage struct {
	*bed
	t         *testing.T
	hub       *hub
	namespace string
	state     string
	file      string
	runner    *testrun.Runner
	stop      func()

	mu    sync.Mutex
	ready bool
}

func newStage(t *testing.T) *stage {
	t.Helper()
	b, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{bed: b, t: t, hub: &hub{}, namespace: b.Namespace(t), state: t.TempDir(), file: filepath.Join(t.TempDir(), "tests.json"), ready: true}
	// Until its account is there a new namespace takes no pods.
	eventually.For(t, within, "the namespace has its account", func() error {
		_, err := s.client.CoreV1().ServiceAccounts(s.namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *stage) start() {
	s.t.Helper()
	runner, err := testrun.New(testrun.Config{File: s.file, Hub: s.hub, BootID: "b", Ready: func(string) (bool, string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.ready, "not Healthy"
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = runner.Run(ctx)
	}()
	s.runner, s.stop = runner, func() { cancel(); <-ended }
}

func (s *stage) setReady(ready bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = ready
}

// job is a test that runs a script; its annotations are lines of YAML.
func (s *stage) job(name, script string, annotations ...string) *unstructured.Unstructured {
	s.t.Helper()
	if len(annotations) == 0 {
		annotations = []string{"axle-cd.github.io/hook: Test"}
	}
	quoted, _ := yaml.Marshal(script)
	return s.object(fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata:
  name: %s
  annotations: {%s}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      containers:
      - name: main
        image: axle.test/sh:1
        command: ["/usr/local/bin/sh", "-c"]
        args:
        - %s
        volumeMounts: [{name: state, mountPath: /state}]
      volumes: [{name: state, hostPath: {path: %q}}]
`, name, strings.Join(annotations, ", "), strings.ReplaceAll(string(quoted), "\n", "\n          "), s.state))
}

func (s *stage) object(text string) *unstructured.Unstructured {
	s.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		s.t.Fatalf("%v in %s", err, text)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		s.t.Fatal(err)
	}
	return object
}

// permit is the permit of the stage's service.
func (s *stage) permit(change func(*tenancy.Request)) tenancy.Permit {
	s.t.Helper()
	request := tenancy.Request{Service: "svc-" + s.namespace, Namespace: s.namespace}
	if change != nil {
		change(&request)
	}
	permit, err := tenancy.New(s.Config(), "axle-system").Permit(request)
	if err != nil {
		s.t.Fatal(err)
	}
	return permit
}

func (s *stage) want(key string, objects ...*unstructured.Unstructured) {
	s.runner.Want(testrun.Request{Service: "svc-" + s.namespace, Name: "shop", Namespace: s.namespace, Permit: s.permit(nil), Key: key, Revision: 3, SourceRevision: "abc",
		Scrub: scrub.New(map[string]string{"config.password": "hunter22"}), Tests: objects})
}

func (s *stage) gate() string { return s.runner.Gate("svc-" + s.namespace) }

// until waits for a state of the run at the hub.
func (s *stage) until(what string, condition func(run *agentv1.TestRun) bool) *agentv1.TestRun {
	s.t.Helper()
	var run *agentv1.TestRun
	eventually.For(s.t, within, what, func() error {
		if run = s.hub.run("svc-" + s.namespace); run == nil || !condition(run) {
			return fmt.Errorf("the hub knows %v", run)
		}
		return nil
	})
	return run
}

// let writes a file that a script waits for.
func (s *stage) let(name string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.state, name), nil, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// waitFor is the line of a script that waits for such a file.
func waitFor(name string) string {
	return "while [ ! -e /state/" + name + " ]; do sleep 0.1; done\n"
}

func (s *stage) jobs() []string {
	s.t.Helper()
	list, err := s.client.BatchV1().Jobs(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	var all []string
	for _, j := range list.Items {
		all = append(all, j.Name)
	}
	return all
}

// TestTestsRunAndAreRepeated: two tests, of which one fails at first: the log
// is seen while it runs, without the secret; the gate is shut until the retry
// has passed; reports are read.
func TestTestsRunAndAreRepeated(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.setReady(false)
	good := s.job("good", `echo hello
cat <<END
-----BEGIN JUNIT-----
<testsuite name="api"><testcase name="a" time="0.5"/><testcase name="b"><skipped/></testcase></testsuite>
-----END JUNIT-----
END
echo bye`)
	flaky := s.job("flaky", `echo attempt with hunter22
if [ ! -e /state/second ]; then
`+waitFor("go")+`echo it breaks; touch /state/second; exit 7
fi
echo it works`, "axle-cd.github.io/hook: Test", `axle-cd.github.io/test-retries: "1"`)
	s.want("k1", good, flaky)
	s.until("the tests wait for the service", func(r *agentv1.TestRun) bool { return r.GetState() == "Waiting" && r.GetMessage() == "not Healthy" })
	if gate := s.gate(); gate != "whose tests have not run yet" {
		t.Errorf("before: %q", gate)
	}
	s.setReady(true)
	run := s.until("the log is seen while the test runs", func(r *agentv1.TestRun) bool {
		return strings.Contains(r.GetTests()[1].GetTail(), "attempt") && r.GetTests()[0].GetState() == "Passed"
	})
	if live := run.GetTests()[1]; live.GetState() != "Running" || live.GetTail() != "attempt with [secret config.password]\n" || live.GetAttempt() != 1 || live.GetAttempts() != 2 {
		t.Errorf("while it runs: %v", live)
	}
	if gate := s.gate(); gate != "whose tests run" {
		t.Errorf("while it runs: %q", gate)
	}
	s.let("go")
	s.until("the second attempt", func(r *agentv1.TestRun) bool { return r.GetTests()[1].GetAttempt() == 2 })
	run = s.until("the end", func(r *agentv1.TestRun) bool { return r.GetState() == "Passed" })
	if gate := s.gate(); gate != "" {
		t.Errorf("after: %q", gate)
	}
	one, two := run.GetTests()[0], run.GetTests()[1]
	if one.GetTail() != "hello\nbye\n" || one.GetEndedAt() < one.GetStartedAt() || one.GetStartedAt() == 0 {
		t.Errorf("good: %v", one)
	}
	if r := one.GetReport(); r.GetTests() != 2 || r.GetSkipped() != 1 || r.GetFailures() != 0 || r.GetDurationMicros() != 500_000 {
		t.Errorf("report: %v", r)
	}
	if two.GetTail() != "attempt with [secret config.password]\nit works\n" || two.GetState() != "Passed" || two.GetMessage() != "" {
		t.Errorf("flaky: %v", two)
	}
	if run.GetRevision() != 3 || run.GetKey() != "k1" || run.GetEndedAt() == 0 {
		t.Errorf("run: %v", run)
	}
}

// TestFailedTests: whatever keeps a test from passing is said, with the reason,
// and shuts the gate; an optional one does not.
func TestFailedTests(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "taken", Namespace: s.namespace}}
	if _, err := s.client.CoreV1().ConfigMaps(s.namespace).Create(t.Context(), mine, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := s.object(`{apiVersion: v1, kind: Pod, metadata: {name: helm, annotations: {helm.sh/hook: test}}, spec: {restartPolicy: Never,
		containers: [{name: main, image: "axle.test/sh:1", command: [/usr/local/bin/sh, -c], args: ["echo from $WORD; exit 3"], envFrom: [{configMapRef: {name: words}}]}]}}`)
	words := s.object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: words, annotations: {helm.sh/hook: test}}, data: {WORD: helm}}`)
	broken := s.job("broken", `echo no; exit 1`, "axle-cd.github.io/hook: Test", `axle-cd.github.io/test-optional: "true"`)
	slow := s.job("slow", `sleep 1000`)
	if err := unstructured.SetNestedField(slow.Object, int64(1), "spec", "activeDeadlineSeconds"); err != nil {
		t.Fatal(err)
	}
	s.want("k1", words, pod, broken, slow)
	run := s.until("the end", func(r *agentv1.TestRun) bool { return r.GetState() == "Failed" })
	results := map[string]*agentv1.TestResult{}
	for _, r := range run.GetTests() {
		results[r.GetName()] = r
	}
	if r := results["helm"]; r.GetState() != "Failed" || r.GetTail() != "from helm\n" || !strings.Contains(r.GetMessage(), "exit code 3") {
		t.Errorf("helm: %v", r)
	}
	if r := results["slow"]; r.GetState() != "Failed" || !strings.Contains(r.GetMessage(), "deadline") {
		t.Errorf("slow: %v", r)
	}
	if !strings.Contains(run.GetMessage(), "helm: ") || !strings.Contains(run.GetMessage(), "(and 1 more)") {
		t.Errorf("run: %v", run.GetMessage())
	}
	if gate := s.gate(); !strings.HasPrefix(gate, "whose tests failed: ") {
		t.Errorf("gate: %q", gate)
	}
	if problems := s.runner.Problems("svc-" + s.namespace); len(problems) != 3 {
		t.Errorf("problems: %q", problems)
	}

	// The next revision's tests run again; an object of somebody else that is in the
	// way is reported.
	s.want("k2", s.object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: taken, annotations: {helm.sh/hook: test}}}`), s.job("fine", "true"))
	run = s.until("the second run", func(r *agentv1.TestRun) bool { return r.GetKey() == "k2" && r.GetState() == "Failed" })
	if !strings.Contains(run.GetMessage(), "taken already exists and is not a test of this service") {
		t.Errorf("second run: %v", run)
	}
	if jobs := s.jobs(); len(jobs) != 2 {
		t.Errorf("Jobs: %q", jobs)
	}
	s.runner.Forget(s.permit(nil))
	eventually.For(t, within, "everything of the tests is gone", func() error {
		if jobs := s.jobs(); len(jobs) > 0 {
			return fmt.Errorf("Jobs: %q", jobs)
		}
		maps, err := s.client.CoreV1().ConfigMaps(s.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "axle-cd.github.io/test-of"})
		if err != nil || len(maps.Items) > 0 {
			return fmt.Errorf("%d ConfigMaps, %v", len(maps.Items), err)
		}
		return nil
	})
	if gate := s.gate(); gate != "" {
		t.Errorf("gate of a service without tests: %q", gate)
	}
}

// TestARestartGoesOn: an agent that is restarted while a test runs follows the same
// Job; one that is started after the end runs nothing again, and reports what the hub
// missed.
func TestARestartGoesOn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	objects := func() []*unstructured.Unstructured {
		return []*unstructured.Unstructured{s.job("long", "echo started >> /state/starts\necho one\n"+waitFor("go")+"echo two")}
	}
	s.want("k1", objects()...)
	s.until("the test runs", func(r *agentv1.TestRun) bool { return strings.Contains(r.GetTests()[0].GetTail(), "one") })
	s.stop()
	s.hub.setAway(true)
	s.start()
	if gate := s.gate(); gate != "" {
		t.Errorf("before the first pass of a restarted agent: %q", gate)
	}
	s.want("k1", objects()...)
	if gate := s.gate(); gate != "whose tests run" {
		t.Errorf("after the restart: %q", gate)
	}
	s.let("go")
	eventually.For(t, within, "the test passes", func() error {
		if gate := s.gate(); gate != "" {
			return fmt.Errorf("%s", gate)
		}
		return nil
	})
	s.stop()
	s.hub.setAway(false)
	s.start()
	s.want("k1", objects()...)
	run := s.until("the hub hears of it", func(r *agentv1.TestRun) bool { return r.GetState() == "Passed" })
	if tail := run.GetTests()[0].GetTail(); tail != "one\ntwo\n" {
		t.Errorf("tail: %q", tail)
	}
	starts, err := os.ReadFile(filepath.Join(s.state, "starts"))
	if err != nil || string(starts) != "started\n" {
		t.Errorf("starts: %q, %v", starts, err)
	}
}

// TestANewerRevisionEndsATest whose Job then goes.
func TestANewerRevisionEndsATest(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.want("k1", s.job("same", "echo first\nsleep 1000"))
	s.until("the first runs", func(r *agentv1.TestRun) bool { return strings.Contains(r.GetTests()[0].GetTail(), "first") })
	s.want("k2", s.job("same", "echo second"))
	run := s.until("the second passes", func(r *agentv1.TestRun) bool { return r.GetKey() == "k2" && r.GetState() == "Passed" })
	if tail := run.GetTests()[0].GetTail(); tail != "second\n" {
		t.Errorf("tail: %q", tail)
	}
	s.hub.mu.Lock()
	calls := s.hub.calls
	s.hub.mu.Unlock()
	s.want("k2", s.job("same", "echo second"))
	s.stop()
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.hub.calls > calls+1 {
		t.Errorf("a run that has ended was reported %d times more", s.hub.calls-calls)
	}
}

// TestTestsStayWhereTheServiceMayBe: with one test in another namespace, or with an
// object of a kind that is not allowed, nothing is requested from the API server; the
// zero permit runs nothing.
func TestTestsStayWhereTheServiceMayBe(t *testing.T) {
	s := newStage(t)
	limited := s.permit(func(r *tenancy.Request) {
		r.Account, r.Limits = "default", tenancy.Limits{Project: "shop", Namespaces: []string{"team-*"}, Kinds: []string{"Job.batch"}}
	})
	elsewhere := s.job("out", "true")
	elsewhere.SetNamespace("kube-system")
	for name, test := range map[string]struct {
		permit  tenancy.Permit
		objects []*unstructured.Unstructured
		says    string
	}{
		"namespace": {limited, []*unstructured.Unstructured{s.job("in", "true"), elsewhere}, "namespace kube-system is the cluster's own, which project shop may not change"},
		"kind": {limited, []*unstructured.Unstructured{s.job("in", "true"),
			s.object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: out, annotations: {helm.sh/hook: test}}}`)}, "kind ConfigMap is not one of those"},
		"no permit": {tenancy.Permit{}, []*unstructured.Unstructured{s.job("in", "true")}, "has no permit"},
	} {
		s.runner.Want(testrun.Request{Service: "svc-" + s.namespace, Name: "shop", Namespace: s.namespace, Permit: test.permit, Key: name, Tests: test.objects})
		run := s.until("the end", func(r *agentv1.TestRun) bool { return r.GetKey() == name && r.GetState() == "Failed" })
		if !strings.Contains(run.GetMessage(), test.says) {
			t.Errorf("%s: %v", name, run)
		}
		if jobs := s.jobs(); len(jobs) > 0 {
			t.Errorf("%s: Jobs: %q", name, jobs)
		}
	}
}

// TestStoppedTestsGoOnWhenTheyAreWantedAgain: a service is refused while its
// test runs, and permitted again.
func TestStoppedTestsGoOnWhenTheyAreWantedAgain(t *testing.T) {
	s := newStage(t)
	slow := s.job("slow", waitFor("go"))
	s.want("k1", slow)
	s.until("it runs", func(r *agentv1.TestRun) bool { return len(s.jobs()) == 1 })
	s.runner.Stop("svc-" + s.namespace)
	s.let("go")
	s.want("k1", slow)
	run := s.until("the end", func(r *agentv1.TestRun) bool { return r.GetState() == "Passed" })
	if attempt := run.GetTests()[0].GetAttempt(); attempt != 1 {
		t.Errorf("attempt %d", attempt)
	}
}
