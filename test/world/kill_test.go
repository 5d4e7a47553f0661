package world_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/world"
)

const (
	// killWithin bounds one step of one run, with its restarts.
	killWithin = 3 * time.Minute
	// killRunsAtOnce is how many agents run at the same time.
	killRunsAtOnce = 8
	// deathsPerStep is how often an agent dies in one step of a sampled run.
	deathsPerStep = 4
)

// killBed is a hub and one API server, on which each run has its own agent, two
// services and namespaces.
type killBed struct {
	*world.World
	t     *testing.T
	api   *sdk.Client
	admin kubernetes.Interface
	any   dynamic.Interface
	// digests are those of the folders of killSteps, once a run has seen them.
	mu      sync.Mutex
	digests map[string]string
}

// killRun is one life of the services, through all steps.
type killRun struct {
	*killBed
	name  string
	proxy *killProxy
	agent *world.Agent
	ids   map[string]string
	// calls are what each step asked for, deaths what happened in it.
	calls  [][]apiCall
	deaths [][]death
}

// TestKillAtEveryCall kills the agent with SIGKILL before and after its calls to the
// API server, during an installation of 40 objects, an upgrade, a hand-over of
// objects to another service and a prune. It restarts the agent, and compares the
// final state with an undisturbed run. Each kind of call (verb, kind, step) is hit
// before and after it; with AXLE_SOAK=1 every single call is (make soak).
func TestKillAtEveryCall(t *testing.T) {
	t.Parallel()
	b := newKillBed(t)
	quiet := b.run("quiet", nil)
	if n := len(quiet.objects()); n < 30 {
		t.Fatalf("the undisturbed run left %d objects", n)
	}
	want := quiet.end()
	plans := samplePlan(quiet.calls)
	if os.Getenv("AXLE_SOAK") != "" {
		plans = fullPlan(quiet.calls)
	}
	t.Logf("%d calls, %d runs with deaths", len(slices.Concat(quiet.calls...)), len(plans))
	places := make(chan struct{}, killRunsAtOnce)
	var group sync.WaitGroup
	var mu sync.Mutex
	hit := map[string]bool{}
	for n, plan := range plans {
		group.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if t.Context().Err() != nil || t.Failed() {
				return
			}
			r := b.run(fmt.Sprintf("run%03d", n), plan)
			if r == nil {
				return
			}
			if diff := cmp.Diff(want, r.end()); diff != "" {
				t.Errorf("%s died %v and left something else (- undisturbed, + killed):\n%s\n%s", r.name, r.deaths, diff, r.agent.Tail())
			}
			mu.Lock()
			defer mu.Unlock()
			for step, deaths := range r.deaths {
				for _, d := range deaths {
					hit[killSteps[step].name+" "+d.String()] = true
				}
			}
		})
	}
	group.Wait()
	missed := 0
	for _, plan := range plans {
		for step, deaths := range plan {
			for _, d := range deaths {
				if name := killSteps[step].name + " " + d.String(); !hit[name] {
					missed++
					t.Logf("nobody came to die %s", name)
				}
			}
		}
	}
	t.Logf("%d kinds of deaths, %d did not come about", len(hit), missed)
	if len(hit) < 3*missed {
		t.Errorf("only %d of %d deaths came about: the test proves little", len(hit), len(hit)+missed)
	}
}

// samplePlan hits each kind of call once before and once after it happens.
// Deaths of a step are spread so that one run has some of them, in the order of
// the calls.
func samplePlan(calls [][]apiCall) (plans [][][]death) {
	perStep := make([][]death, len(calls))
	for step, all := range calls {
		seen := map[string]bool{}
		for _, c := range all {
			if !seen[c.key] {
				seen[c.key] = true
				perStep[step] = append(perStep[step], death{key: c.key, nth: 1}, death{key: c.key, nth: 1, after: true})
			}
		}
	}
	most := 0
	for _, deaths := range perStep {
		most = max(most, (len(deaths)+deathsPerStep-1)/deathsPerStep)
	}
	for n := range most {
		plan := make([][]death, len(calls))
		for step, deaths := range perStep {
			for i := n; i < len(deaths); i += most {
				plan[step] = append(plan[step], deaths[i])
			}
		}
		plans = append(plans, plan)
	}
	return plans
}

// fullPlan hits every call, one in each step of a run.
func fullPlan(calls [][]apiCall) (plans [][][]death) {
	most := 0
	for _, all := range calls {
		most = max(most, len(all))
	}
	for n := range most {
		for _, after := range []bool{false, true} {
			plan := make([][]death, len(calls))
			for step, all := range calls {
				if n < len(all) {
					plan[step] = []death{{nth: n + 1, after: after}}
				}
			}
			plans = append(plans, plan)
		}
	}
	return plans
}

func newKillBed(t *testing.T) *killBed {
	t.Helper()
	takePlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	w, err := world.Start(ctx, world.Config{Clusters: []string{"shared"}, Hub: []string{"--repo-poll-interval", "2s"}})
	if err != nil {
		t.Fatal(err)
	}
	b := &killBed{World: w, t: t, digests: map[string]string{}}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Logf("end of the world: %v", err)
		}
	})
	conf := w.Cluster("shared").Config()
	if b.admin, err = kubernetes.NewForConfig(conf); err != nil {
		t.Fatal(err)
	}
	if b.any, err = dynamic.NewForConfig(conf); err != nil {
		t.Fatal(err)
	}
	b.login(ctx)
	b.must(w.Git.Create(ctx, "kill"))
	files := map[string]gitserver.Content{}
	for name, text := range killFiles() {
		files[name] = text
	}
	_, err = w.Git.Commit(ctx, "kill", "main", "all steps", files)
	b.must(err)
	_, err = b.api.Repositories.Create(ctx, connect.NewRequest(&hubv1.CreateRepositoryRequest{Name: "kill", Type: "git", Url: w.Git.URL("kill")}))
	b.must(err)
	return b
}

func (b *killBed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *killBed) login(ctx context.Context) {
	token, err := os.ReadFile(b.Hub.SetupTokenFile())
	b.must(err)
	stranger, err := sdk.New(sdk.Config{URL: b.Origin()})
	b.must(err)
	made, err := stranger.Sessions.Setup(ctx, connect.NewRequest(&hubv1.SetupRequest{SetupToken: strings.TrimSpace(string(token)), Email: "admin@example.test"}))
	b.must(err)
	b.api, err = sdk.New(sdk.Config{URL: b.Origin(), Token: made.Msg.GetSecret()})
	b.must(err)
}

// run brings the services of one run through all steps. What goes wrong fails
// the test; then it returns nil.
func (b *killBed) run(name string, plan [][]death) *killRun {
	r := &killRun{killBed: b, name: name, ids: map[string]string{}}
	if err := r.start(); err != nil {
		b.t.Errorf("%s: %v", name, err)
		return nil
	}
	defer func() { _ = r.agent.Kill() }()
	for n, step := range killSteps {
		var deaths []death
		if plan != nil {
			deaths = plan[n]
		}
		r.proxy.begin(deaths)
		if err := r.step(n); err != nil {
			_, fired := r.proxy.end()
			b.t.Errorf("%s, %s, died %v: %v\nasked for:\n%s\nend of the agent's log:\n%s", name, step.name, fired, err, r.recent(), r.agent.Tail())
			return nil
		}
		calls, fired := r.proxy.end()
		r.calls, r.deaths = append(r.calls, calls), append(r.deaths, fired)
	}
	return r
}

func (r *killRun) recent() string {
	r.proxy.mu.Lock()
	defer r.proxy.mu.Unlock()
	var text strings.Builder
	for _, c := range r.proxy.calls[max(0, len(r.proxy.calls)-40):] {
		text.WriteString(c.key + " " + c.path + "\n")
	}
	return text.String()
}

// start connects a cluster and starts its agent behind a proxy.
func (r *killRun) start() error {
	ctx, cancel := context.WithTimeout(r.t.Context(), killWithin)
	defer cancel()
	made, err := r.api.Clusters.Create(ctx, connect.NewRequest(&hubv1.CreateClusterRequest{Name: r.name}))
	if err != nil {
		return err
	}
	r.proxy = newKillProxy(r.t, r.Cluster("shared"), "agent-"+r.name)
	r.agent, err = r.NewAgent(r.name, world.AgentOptions{KubeURL: r.proxy.URL, Token: made.Msg.GetBootstrapToken(),
		Flags: []string{"--namespace", "axle-" + r.name, "--metrics-listen", "off"}})
	if err != nil {
		return err
	}
	r.proxy.kill = func() { _ = r.agent.Kill() }
	r.proxy.begin(nil)
	return r.agent.Start()
}

// step requests what a step wants and runs until it is reached, with a new agent for
// each one that is killed.
func (r *killRun) step(n int) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), killWithin)
	defer cancel()
	// The heir is told first: between the two calls the moved objects must always be
	// wanted by a service.
	if n == 0 || killSteps[n].heir != killSteps[n-1].heir {
		if err := r.declare(ctx, "heir", killSteps[n].heir, n == 0); err != nil {
			return err
		}
	}
	if err := r.declare(ctx, "app", killSteps[n].app, n == 0); err != nil {
		return err
	}
	return eventually.Wait(ctx, killWithin, func() error {
		select {
		case <-r.proxy.died:
			if err := r.agent.Start(); err != nil {
				return err
			}
		default:
		}
		return errors.Join(r.done(ctx, "app", killSteps[n].app), r.done(ctx, "heir", killSteps[n].heir))
	})
}

func (r *killRun) declare(ctx context.Context, name, folder string, create bool) error {
	ref := &hubv1.ServiceRef{Cluster: r.name, Name: name}
	spec := &hubv1.ServiceSpec{Namespace: r.name + "-" + name, Repository: "kill", Git: &hubv1.Git{Ref: "main", Folder: folder},
		Configuration: map[string]string{"run": r.name}}
	var made *connect.Response[hubv1.Service]
	var err error
	if create {
		made, err = r.api.Services.Create(ctx, connect.NewRequest(&hubv1.CreateServiceRequest{Ref: ref, Spec: spec}))
	} else {
		made, err = r.api.Services.Update(ctx, connect.NewRequest(&hubv1.UpdateServiceRequest{Ref: ref, Spec: spec, Fields: []string{"git.folder"}}))
	}
	if err == nil {
		r.ids[name] = made.Msg.GetId()
	}
	return err
}

// done returns nil once a service is synced at a folder.
func (r *killRun) done(ctx context.Context, name, folder string) error {
	got, err := r.api.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: r.name, Name: name}}))
	if err != nil {
		return err
	}
	s := got.Msg
	r.mu.Lock()
	defer r.mu.Unlock()
	want := r.digests[folder]
	for other, digest := range r.digests {
		if other != folder && digest == s.GetDesiredDigest() {
			return fmt.Errorf("%s is still at %s", name, other)
		}
	}
	if want == "" && s.GetDesiredDigest() != "" {
		want = s.GetDesiredDigest()
		r.digests[folder] = want
	}
	if want == "" || s.GetDesiredDigest() != want || s.GetAppliedDigest() != want || s.GetSync() != "Synced" || len(s.GetErrors()) > 0 {
		return fmt.Errorf("%s: %s %s %s %v", name, s.GetSync(), s.GetReason(), s.GetMessage(), s.GetErrors())
	}
	return nil
}

// killKinds are the kinds of the manifests.
func killKinds(run string) []schema.GroupVersionResource {
	const rbac = "rbac.authorization.k8s.io"
	return []schema.GroupVersionResource{
		{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "serviceaccounts"},
		{Version: "v1", Resource: "services"}, {Version: "v1", Resource: "limitranges"}, {Version: "v1", Resource: "namespaces"},
		{Group: rbac, Version: "v1", Resource: "roles"}, {Group: rbac, Version: "v1", Resource: "rolebindings"},
		{Group: rbac, Version: "v1", Resource: "clusterroles"}, {Group: rbac, Version: "v1", Resource: "clusterrolebindings"},
		{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"},
		{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		{Group: run + ".example.org", Version: "v1", Resource: "things"},
	}
}

// objects are everything in the cluster that has the run's name in it.
func (r *killRun) objects() map[string]string {
	all := map[string]string{}
	for _, kind := range killKinds(r.name) {
		list, err := r.any.Resource(kind).List(r.t.Context(), metav1.ListOptions{})
		if err != nil {
			r.t.Errorf("%s: %v", r.name, err)
			continue
		}
		for _, o := range list.Items {
			text := r.plain(o)
			if strings.HasPrefix(o.GetNamespace(), r.name+"-") || strings.Contains(o.GetName(), r.name) {
				all[r.anonymous(kind.Resource+" "+o.GetNamespace()+"/"+o.GetName())] = text
			}
		}
	}
	return all
}

// plain is an object without what differs between two installations of it.
func (r *killRun) plain(o unstructured.Unstructured) string {
	var fields []string
	for _, m := range o.GetManagedFields() {
		if m.Operation == metav1.ManagedFieldsOperationApply {
			fields = append(fields, m.Manager+" "+string(m.FieldsV1.GetRawBytes()))
		}
	}
	slices.Sort(fields)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(o.Object, "status")
	o.Object["applied"] = strings.Join(fields, "\n")
	text, err := json.MarshalIndent(o.Object, "", " ")
	if err != nil {
		return err.Error()
	}
	return r.anonymous(string(text))
}

var clusterIDs = regexp.MustCompile(`cl_[a-z0-9]+`)

// anonymous replaces the names of the run.
func (r *killRun) anonymous(text string) string {
	text = strings.ReplaceAll(text, r.name, "RUN")
	for name, id := range r.ids {
		text = strings.ReplaceAll(text, id, "ID-"+name)
	}
	return clusterIDs.ReplaceAllString(text, "CLUSTER")
}

// ending is the final state of a run.
type ending struct {
	Objects   map[string]string
	Inventory map[string]string
	// Deleted are the objects that were deleted on the way.
	Deleted []string
}

func (r *killRun) end() ending {
	e := ending{Objects: r.objects(), Inventory: map[string]string{}}
	for name := range e.Objects {
		if strings.Contains(name, "axle-inventory-") {
			delete(e.Objects, name)
		}
	}
	secrets, err := r.admin.CoreV1().Secrets("axle-"+r.name).List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		r.t.Errorf("%s: %v", r.name, err)
		return e
	}
	for _, s := range secrets.Items {
		e.Inventory[r.anonymous(s.Name)] = r.inventory(s)
	}
	for _, path := range r.proxy.Deletes() {
		if !strings.Contains(path, "inventory") {
			e.Deleted = append(e.Deleted, r.anonymous(path))
		}
	}
	slices.Sort(e.Deleted)
	e.Deleted = slices.Compact(e.Deleted)
	return e
}

// inventory reads one Secret of an inventory, without random parts.
func (r *killRun) inventory(secret corev1.Secret) string {
	reader, err := zstd.NewReader(nil)
	if err != nil {
		return err.Error()
	}
	defer reader.Close()
	raw, err := reader.DecodeAll(secret.Data["inventory"], nil)
	if err != nil {
		return err.Error()
	}
	var shard struct {
		State   map[string]any
		Entries []map[string]any
	}
	if err := json.Unmarshal(raw, &shard); err != nil {
		return err.Error()
	}
	for _, field := range []string{"appliedAt", "waitUntil", "specDigest", "goal", "settings", "seen"} {
		delete(shard.State, field)
	}
	for _, e := range shard.Entries {
		// Hashes of Things hold their group, which has the run's name.
		for _, field := range []string{"u", "h", "o", "os"} {
			if len(field) == 1 && field != "o" || e["k"] == "Thing" {
				delete(e, field)
			}
		}
	}
	slices.SortFunc(shard.Entries, func(a, b map[string]any) int {
		return strings.Compare(fmt.Sprint(a["k"], a["ns"], a["nm"]), fmt.Sprint(b["k"], b["ns"], b["nm"]))
	})
	text, err := json.MarshalIndent(shard, "", " ")
	if err != nil {
		return err.Error()
	}
	return r.anonymous(string(text))
}
