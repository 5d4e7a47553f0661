//go:build soak

package world_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/port"
	"github.com/axle-cd/axle/test/world"
)

// reach is two replicas, an agent and an API server with a pod, all of them
// processes, and what people do in the cluster through the replicas.
type reach struct {
	*fleet
	agent   *world.Agent
	metrics string // where the agent shows its own
	path    string // of the cluster below a replica's URL
	token   string
	direct  kubernetes.Interface
	seen    atomic.Int64 // ConfigMaps that the informer added
}

func newReach(t *testing.T) *reach {
	t.Helper()
	takePlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	w, err := world.Start(ctx, world.Config{Clusters: []string{"edge"}, Replicas: 2, Shells: true})
	if err != nil {
		t.Fatal(err)
	}
	r := &reach{fleet: &fleet{World: w, t: t}}
	t.Cleanup(func() {
		if t.Failed() {
			r.showLogs()
			if r.agent != nil {
				t.Logf("end of the agent's log:\n%s", r.agent.Tail())
			}
		}
		if err := w.Close(); err != nil {
			t.Logf("end of the world: %v", err)
		}
	})
	r.must(w.Login(ctx))
	if r.metrics, err = port.Address(); err != nil {
		t.Fatal(err)
	}
	r.agent, err = w.ConnectProcess(ctx, "edge", world.AgentOptions{Flags: []string{"--metrics-listen", r.metrics}})
	r.must(err)
	r.direct, err = kubernetes.NewForConfig(w.Cluster("edge").Config())
	r.must(err)
	// The objects in the manifests of an installed agent.
	_, err = r.direct.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "axle-admins"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "axle:admins"}},
	}, metav1.CreateOptions{})
	r.must(err)
	r.pod()
	config, err := clientcmd.Load([]byte(r.axle("clusters", "kubeconfig", "edge")))
	r.must(err)
	u, err := url.Parse(config.Clusters["edge"].Server)
	r.must(err)
	r.path, r.token = u.Path, config.AuthInfos["edge"].Token
	r.follow()
	return r
}

// pod runs until the end of the test.
func (r *reach) pod() {
	r.t.Helper()
	none := false
	_, err := r.direct.CoreV1().Pods("default").Create(r.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "one"},
		Spec: corev1.PodSpec{AutomountServiceAccountToken: &none, Containers: []corev1.Container{{
			Name: "main", Image: kube.ImagePrefix + "sh:1", Args: []string{"-c", "exec sleep 3600"},
		}}},
	}, metav1.CreateOptions{})
	r.must(err)
	r.until("the pod runs", func() error {
		pod, err := r.direct.CoreV1().Pods("default").Get(r.t.Context(), "one", metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("status %+v", pod.Status)
		}
		return err
	})
}

// run makes a step a separate test.
func (r *reach) run(name string, step func()) {
	r.t.Run(name, func(t *testing.T) {
		whole := r.t
		r.t = t
		defer func() { r.t = whole }()
		step()
	})
}

// until waits for a condition as long as a test of the world may.
func (r *reach) until(what string, condition func() error) {
	r.t.Helper()
	eventually.For(r.t, within, what, condition)
}

// at is a client's configuration through one address of the hub.
func (r *reach) at(origin string) *rest.Config {
	return &rest.Config{Host: origin + r.path, BearerToken: r.token, QPS: -1}
}

// follow keeps an informer behind the front, as a controller is.
func (r *reach) follow() {
	r.t.Helper()
	api, err := kubernetes.NewForConfig(r.at(r.Replicated.Front.URL))
	r.must(err)
	factory := informers.NewSharedInformerFactoryWithOptions(api, 0, informers.WithNamespace("default"))
	_, err = factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { r.seen.Add(1) }})
	r.must(err)
	ctx, stop := context.WithCancel(context.WithoutCancel(r.t.Context()))
	factory.Start(ctx.Done())
	r.t.Cleanup(func() {
		stop()
		factory.Shutdown()
	})
}

// informed makes an object past the hub and waits until the informer has it.
func (r *reach) informed(name string) {
	r.t.Helper()
	before := r.seen.Load()
	_, err := r.direct.CoreV1().ConfigMaps("default").Create(r.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	r.must(err)
	r.until("the informer has "+name, func() error {
		if r.seen.Load() <= before {
			return errors.New("it has not")
		}
		return nil
	})
}

// doing is one thing that is under way.
type doing struct {
	what  string
	ended chan error
	// silent is the end of a SPDY connection, which client-go mistakes for the
	// command's end, whatever cut it.
	silent bool
}

// exec runs a shell's script in the pod; in and out are its ends.
func (r *reach) exec(ctx context.Context, origin string, spdy bool, script string, in io.Reader, out io.Writer) error {
	config := r.at(origin)
	u, err := url.Parse(config.Host + "/api/v1/namespaces/default/pods/one/exec")
	if err != nil {
		return err
	}
	u.RawQuery = url.Values{"stdin": {strconv.FormatBool(in != nil)}, "stdout": {"true"}, "stderr": {"true"}, "command": {"sh", "-c", script}}.Encode()
	var executor remotecommand.Executor
	if spdy {
		executor, err = remotecommand.NewSPDYExecutor(config, http.MethodPost, u)
	} else {
		executor, err = remotecommand.NewWebSocketExecutor(config, http.MethodGet, u.String())
	}
	if err != nil {
		return err
	}
	return executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: io.Discard})
}

// nulls are an upload without an end.
type nulls struct{}

func (nulls) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// begin starts a command, one by SPDY, an upload and a watch through one
// replica, and returns once all are under way. mark is in the command lines in
// the pod.
func (r *reach) begin(origin, mark string) []doing {
	r.t.Helper()
	command := r.running(origin, "a command", false, "echo ready; exec cat - /"+mark, blocked(r.t))
	older := r.running(origin, "a command by SPDY", true, "echo ready; exec cat - /"+mark, blocked(r.t))
	upload := r.running(origin, "an upload", false, "echo ready; exec cat - /"+mark+" > /dev/null", nulls{})
	watch := doing{what: "a watch", ended: make(chan error, 1)}
	body, _ := r.watch(origin)
	if _, err := body.ReadString('\n'); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		_, err := io.Copy(io.Discard, body)
		watch.ended <- err
	}()
	return []doing{command, older, upload, watch}
}

// blocked is standard input without any data.
func blocked(t *testing.T) io.Reader {
	in, end := io.Pipe()
	t.Cleanup(func() { _ = end.Close() })
	return in
}

// running starts a script and waits for its first line.
func (r *reach) running(origin, what string, spdy bool, script string, in io.Reader) doing {
	r.t.Helper()
	d := doing{what: what, ended: make(chan error, 1), silent: spdy}
	out, print := io.Pipe()
	go func() {
		err := r.exec(r.t.Context(), origin, spdy, script, in, print)
		_ = print.CloseWithError(io.ErrUnexpectedEOF)
		d.ended <- err
	}()
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || line != "ready\n" {
		r.t.Fatalf("%s began with %q, %v", what, line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return d
}

// watch opens one by hand, to see how it ends; end ends it.
func (r *reach) watch(origin string) (body *bufio.Reader, end func()) {
	r.t.Helper()
	config := r.at(origin)
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, config.Host+"/api/v1/pods?watch=true", nil)
	r.must(err)
	request.Header.Set("Authorization", "Bearer "+r.token)
	answer, err := http.DefaultTransport.RoundTrip(request)
	r.must(err)
	end = func() { _ = answer.Body.Close() }
	r.t.Cleanup(end)
	if answer.StatusCode != http.StatusOK {
		r.t.Fatalf("a watch is answered with %s", answer.Status)
	}
	return bufio.NewReader(answer.Body), end
}

// over waits until everything has ended, each with an error.
func (r *reach) over(who string, all []doing) {
	r.t.Helper()
	began := time.Now()
	for _, d := range all {
		select {
		case err := <-d.ended:
			if err == nil && !d.silent {
				r.t.Errorf("%s was killed, and %s ended as if all were well", who, d.what)
			}
		case <-time.After(within):
			r.t.Fatalf("%s was killed, and %s goes on", who, d.what)
		}
	}
	r.t.Logf("%s was killed: everybody knew after %v", who, time.Since(began).Round(time.Millisecond))
}

// nothingLeft waits until no process of a mark is in the pod, no replica
// counts a stream, but those of the informer, and the agent is as it was.
func (r *reach) nothingLeft(mark string, goroutines int) {
	r.t.Helper()
	r.until("nothing is left of what was under way", func() error {
		if left := processes(mark); len(left) > 0 {
			return fmt.Errorf("processes %q", left)
		}
		streams := 0
		for _, hub := range r.Replicated.Hubs {
			if n, err := metric(hub.URL, "axle_tunnel_streams"); err == nil {
				streams += n
			}
		}
		if streams > 4 { // an informer's watch, counted at both when it is forwarded, and its list
			return fmt.Errorf("%d streams", streams)
		}
		n, err := metric("http://"+r.metrics, "go_goroutines")
		if err == nil && n > goroutines+20 {
			err = fmt.Errorf("%d goroutines in the agent, %d before", n, goroutines)
		}
		return err
	})
}

// processes are the command lines on this machine with a mark, of pods too.
func processes(mark string) (found []string) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte(mark)) {
			found = append(found, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

// metric reads a gauge from /metrics.
func metric(origin, name string) (int, error) {
	answer, err := http.Get(origin + "/metrics")
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`(?m)^` + name + ` (\d+)`).FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("%s shows no %s", origin, name)
	}
	return strconv.Atoi(string(found[1]))
}

// works does everything once, to its end, through each replica.
func (r *reach) works() {
	r.t.Helper()
	for _, hub := range r.Replicated.Hubs {
		r.until(hub.Name+" reaches the cluster", func() error {
			ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
			defer cancel()
			var out bytes.Buffer
			if err := r.exec(ctx, hub.URL, false, "cat", strings.NewReader("all of it"), &out); err != nil || out.String() != "all of it" {
				return fmt.Errorf("a command printed %q: %w", out.String(), err)
			}
			out.Reset()
			if err := r.exec(ctx, hub.URL, true, "wc -c", io.LimitReader(nulls{}, 3<<20), &out); err != nil || strings.TrimSpace(out.String()) != "3145728" {
				return fmt.Errorf("of an upload came %q: %w", out.String(), err)
			}
			return nil
		})
		watch, end := r.watch(hub.URL)
		if line, err := watch.ReadString('\n'); err != nil || !strings.Contains(line, "ADDED") {
			r.t.Errorf("a watch through %s begins with %q, %v", hub.Name, line, err)
		}
		end()
	}
}

// holder is the replica that has the tunnel.
func (r *reach) holder() (holder *world.Replica) {
	r.t.Helper()
	r.until("one replica has the tunnel", func() error {
		holder = nil
		for _, hub := range r.Replicated.Hubs {
			if n, err := metric(hub.URL, "axle_tunnel_up"); err == nil && n == 1 {
				holder = hub
			}
		}
		if holder == nil {
			return errors.New("none has")
		}
		return nil
	})
	return holder
}

func (r *reach) goroutines() (n int) {
	r.t.Helper()
	r.until("the agent counts", func() (err error) {
		n, err = metric("http://"+r.metrics, "go_goroutines")
		return err
	})
	return n
}

// beginAll is begin through each replica.
func (r *reach) beginAll(mark string) (all []doing) {
	r.t.Helper()
	for _, hub := range r.Replicated.Hubs {
		all = append(all, r.begin(hub.URL, mark)...)
	}
	r.until("all of them run in the pod", func() error {
		if n := len(processes(mark)); n < len(r.Replicated.Hubs)*3 {
			return fmt.Errorf("%d processes do; the test proves nothing", n)
		}
		return nil
	})
	return all
}

// TestPeopleInAClusterOfProcesses is what people do in a cluster while the processes
// in between end as processes do. The agent is killed, and then the replica that has
// its tunnel, during commands, uploads and watches through both replicas: the clients
// are told, nothing is left over, a controller's watch continues, and a repeated
// request works.
func TestPeopleInAClusterOfProcesses(t *testing.T) {
	t.Parallel()
	r := newReach(t)
	r.works()
	r.informed("first")
	r.run("a large list", r.largeList)
	r.run("the agent is killed", func() {
		goroutines := r.goroutines()
		all := r.beginAll("mark-of-the-agent")
		r.must(r.agent.Kill())
		r.over("the agent", all)
		r.must(r.agent.Start())
		r.works()
		r.informed("after-the-agent")
		r.nothingLeft("mark-of-the-agent", goroutines)
	})
	r.run("the replica is killed", func() {
		goroutines, holder := r.goroutines(), r.holder()
		all := r.beginAll("mark-of-the-replica")
		r.must(holder.Kill())
		r.over(holder.Name, all)
		r.informed("after-the-replica") // by the other one
		r.nothingLeft("mark-of-the-replica", goroutines)
		r.must(holder.Start(t.Context()))
		r.works()
	})
	r.run("the tree of a service", r.tree)
}
