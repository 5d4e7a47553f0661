package scale

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/world"
)

const (
	proxyCluster = "edge"
	proxyWait    = 2 * time.Minute
	// proxyPath is where the stand-in of a pod serves bodies.
	proxyPath = "/api/v1/namespaces/default/pods/bodies:%s/proxy/%d"
)

// ProxyConfig says what Proxy measures.
type ProxyConfig struct {
	// Requests of each kind are timed; zero is 500.
	Requests int
	// Watches are open at once; zero is 400, of the 450 streams of a cluster.
	Watches  int
	Progress func(format string, args ...any)
}

// Proxied is what using a cluster through the hub costs. CPU is the hub's and
// the agent's together, TLS of the client and of the tunnel included.
type Proxied struct {
	GetAddedP50        float64            `json:"get_added_p50_ms"`
	GetAddedP99        float64            `json:"get_added_p99_ms"`
	CPUPerRequest      float64            `json:"cpu_ms_per_request"`
	Down               float64            `json:"down_mb_s_per_core"`
	Up                 float64            `json:"up_mb_s_per_core"`
	AllocPerByte       float64            `json:"alloc_bytes_per_byte"`
	ExecRTT            float64            `json:"exec_rtt_ms"`
	ExecCPU            float64            `json:"exec_cpu_ms"`
	RSSPerWatch        float64            `json:"rss_kb_per_idle_watch"`
	RSSPerAgent        *float64           `json:"rss_kb_per_idle_agent"`
	FastBesideStalled  float64            `json:"fast_beside_50_stalled_ms"`
	Reconnect1000      *float64           `json:"reconnect_1000_s"`
	Peers              map[string]float64 `json:"peers"`
	Down10, Up10       float64            `json:"-"`
	DownWall, UpWall   float64            `json:"-"`
	DirectP50, OverP50 float64            `json:"-"`
}

// proxyBench is one run.
type proxyBench struct {
	ProxyConfig
	w            *world.World
	agent        *world.Agent
	agentMetrics string
	over         *rest.Config
	client       *http.Client
	direct       *http.Client
	port         string
	idle         float64 // CPU per second while nothing is asked
	result       Proxied
}

// Proxy starts a hub, an agent and an API server as processes and uses the one
// through the others.
func Proxy(ctx context.Context, c ProxyConfig) (_ Proxied, err error) {
	if c.Requests == 0 {
		c.Requests = 500
	}
	if c.Watches == 0 {
		c.Watches = 400
	}
	if c.Progress == nil {
		c.Progress = func(string, ...any) {}
	}
	b := &proxyBench{ProxyConfig: c}
	b.result.Peers = map[string]float64{}
	if b.w, err = world.Start(ctx, world.Config{Clusters: []string{proxyCluster}, Pods: true, TLS: true}); err != nil {
		return b.result, err
	}
	defer func() { err = errors.Join(err, b.w.Close()) }()
	if err := b.connect(ctx); err != nil {
		return b.result, err
	}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"idle", b.measureIdle}, {"GET", b.gets}, {"bodies", b.bodies}, {"exec", b.execs}, {"watches", b.watches}, {"stalled clients", b.stalled},
	} {
		c.Progress("%s", step.name)
		if err := step.run(ctx); err != nil {
			return b.result, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return b.result, nil
}

// connect brings up the agent, and a client through the hub.
func (b *proxyBench) connect(ctx context.Context) (err error) {
	if err := b.w.Login(ctx); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b.agentMetrics = listener.Addr().String()
	if err := listener.Close(); err != nil {
		return err
	}
	if b.agent, err = b.w.ConnectProcess(ctx, proxyCluster, world.AgentOptions{Flags: []string{"--poll-interval", "2m", "--metrics-listen", b.agentMetrics}}); err != nil {
		return err
	}
	var text []byte
	err = eventually.Wait(ctx, proxyWait, func() error {
		made, err := b.w.Axle(ctx, "clusters", "kubeconfig", proxyCluster)
		if err != nil {
			return err
		}
		text = []byte(made.Out)
		if b.over, err = clientcmd.RESTConfigFromKubeConfig(text); err != nil {
			return err
		}
		b.over.QPS = -1
		if b.client, err = rest.HTTPClientFor(b.over); err != nil {
			return err
		}
		return b.ask(ctx, b.client, b.over.Host, "/version")
	})
	if err != nil {
		return err
	}
	if b.direct, err = rest.HTTPClientFor(b.w.Cluster(proxyCluster).Config()); err != nil {
		return err
	}
	return b.serveBodies(ctx)
}

// ask makes one GET and reads it.
func (b *proxyBench) ask(ctx context.Context, client *http.Client, host, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, host+path, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, response.Status)
	}
	return nil
}

// spent is the CPU of hub and agent.
func (b *proxyBench) spent() (time.Duration, error) {
	hub, err := usageOf(b.w.Hub.Pid())
	if err != nil {
		return 0, err
	}
	agent, err := usageOf(b.agent.Pid())
	return hub.cpu + agent.cpu, err
}

// during measures the CPU of some work beyond what idling costs, in seconds.
func (b *proxyBench) during(work func() error) (cpuSeconds, wall float64, err error) {
	before, err := b.spent()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := work(); err != nil {
		return 0, 0, err
	}
	wall = time.Since(began).Seconds()
	after, err := b.spent()
	return max((after-before).Seconds()-b.idle*wall, 1e-6), wall, err
}

func (b *proxyBench) measureIdle(ctx context.Context) error {
	const window = 10 * time.Second
	used, wall, err := b.during(func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(window):
			return nil
		}
	})
	b.idle = used / wall
	return err
}

// gets times GETs of one small object, direct and through the hub by turns.
func (b *proxyBench) gets(ctx context.Context) error {
	const path = "/api/v1/namespaces/default"
	host := b.w.Cluster(proxyCluster).URL()
	var direct, over []float64
	timed := func(client *http.Client, host string) (float64, error) {
		began := time.Now()
		err := b.ask(ctx, client, host, path)
		return float64(time.Since(began).Microseconds()) / 1000, err
	}
	for range b.Requests {
		d, err := timed(b.direct, host)
		if err != nil {
			return err
		}
		o, err := timed(b.client, b.over.Host)
		if err != nil {
			return err
		}
		direct, over = append(direct, d), append(over, o)
	}
	b.result.DirectP50, b.result.OverP50 = percentile(direct, 50), percentile(over, 50)
	b.result.GetAddedP50 = percentile(over, 50) - percentile(direct, 50)
	b.result.GetAddedP99 = percentile(over, 99) - percentile(direct, 99)
	n := 4 * b.Requests
	used, _, err := b.during(func() error {
		for range n {
			if err := b.ask(ctx, b.client, b.over.Host, path); err != nil {
				return err
			}
		}
		return nil
	})
	b.result.CPUPerRequest = 1000 * used / float64(n)
	return err
}

func percentile(values []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

// serveBodies has the API server take this process for a pod: it answers a GET
// with as many bytes as the path says, and reads what is sent.
func (b *proxyBench) serveBodies(ctx context.Context) error {
	ip, err := outerAddress()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		return err
	}
	chunk := make([]byte, 256<<10)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		size, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
		for size > 0 && r.Context().Err() == nil {
			n, err := w.Write(chunk[:min(size, len(chunk))])
			if size -= n; err != nil {
				return
			}
		}
	})}
	go func() { _ = server.Serve(listener) }() // ends with the process
	if _, b.port, err = net.SplitHostPort(listener.Addr().String()); err != nil {
		return err
	}
	api, err := kubernetes.NewForConfig(b.w.Cluster(proxyCluster).Config())
	if err != nil {
		return err
	}
	// An agent beside its cluster has no manifests that would.
	_, err = api.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "axle-admins"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "axle:admins"}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	pods := api.CoreV1().Pods("default")
	none := false
	pod, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bodies"}, Spec: corev1.PodSpec{
		NodeName: "nowhere", AutomountServiceAccountToken: &none, Containers: []corev1.Container{{Name: "main", Image: "none"}},
	}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

// outerAddress is one of this machine's beside the loopback, to which API
// servers proxy nothing.
func outerAddress() (string, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, a := range addresses {
		if prefix, ok := a.(*net.IPNet); ok && prefix.IP.IsGlobalUnicast() {
			return prefix.IP.String(), nil
		}
	}
	return "", errors.New("this machine has only loopback addresses: ip addr add 192.0.2.2/32 dev lo")
}

// bodies measures 10 and 100 MiB both ways.
func (b *proxyBench) bodies(ctx context.Context) error {
	const mib = 1 << 20
	moved, before, err := 0, 0.0, error(nil)
	if before, err = b.allocated(ctx); err != nil {
		return err
	}
	run := func(size, times int, up bool) (perCore, wall float64, err error) {
		used, wall, err := b.during(func() error {
			for range times {
				if err := b.body(ctx, size, up); err != nil {
					return err
				}
			}
			return nil
		})
		moved += size * times
		total := float64(size*times) / 1e6
		return total / used, total / wall, err
	}
	if b.result.Down10, _, err = run(10*mib, 10, false); err != nil {
		return err
	}
	if b.result.Down, b.result.DownWall, err = run(100*mib, 5, false); err != nil {
		return err
	}
	if b.result.Up10, _, err = run(10*mib, 10, true); err != nil {
		return err
	}
	if b.result.Up, b.result.UpWall, err = run(100*mib, 5, true); err != nil {
		return err
	}
	after, err := b.allocated(ctx)
	b.result.AllocPerByte = (after - before) / float64(moved)
	return err
}

func (b *proxyBench) body(ctx context.Context, size int, up bool) error {
	path := fmt.Sprintf(proxyPath, b.port, size)
	if !up {
		return b.ask(ctx, b.client, b.over.Host, path)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.over.Host+path, io.LimitReader(zeros{}, int64(size)))
	if err != nil {
		return err
	}
	request.ContentLength = int64(size)
	response, err := b.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// allocated is what both processes have allocated so far, in bytes.
func (b *proxyBench) allocated(ctx context.Context) (sum float64, err error) {
	client, err := b.w.Hub.Client()
	if err != nil {
		return 0, err
	}
	for address, client := range map[string]*http.Client{b.w.Hub.URL: client, "http://" + b.agentMetrics: http.DefaultClient} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/metrics", nil)
		if err != nil {
			return 0, err
		}
		response, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "go_memstats_alloc_bytes_total "); ok {
				n, err := strconv.ParseFloat(text, 64)
				if err != nil {
					return 0, err
				}
				sum += n
			}
		}
		response.Body.Close()
	}
	if sum == 0 {
		return 0, errors.New("no process says what it allocated")
	}
	return sum, nil
}

// execs measures commands: a byte there and back, and a whole one.
func (b *proxyBench) execs(ctx context.Context) error {
	b.w.Cluster(proxyCluster).SetBinary("sh", "/bin/sh")
	api, err := kubernetes.NewForConfig(b.w.Cluster(proxyCluster).Config())
	if err != nil {
		return err
	}
	none := false
	pods := api.CoreV1().Pods("default")
	if _, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shell"}, Spec: corev1.PodSpec{
		AutomountServiceAccountToken: &none, Containers: []corev1.Container{{Name: "main", Image: "axle.test/sh:1", Args: []string{"-c", "exec sleep 86400"}}},
	}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	err = eventually.Wait(ctx, proxyWait, func() error {
		pod, err := pods.Get(ctx, "shell", metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("the pod is %s", pod.Status.Phase)
		}
		return err
	})
	if err != nil {
		return err
	}
	cat, err := b.exec(ctx, "cat")
	if err != nil {
		return err
	}
	defer cat.Close()
	var trips []float64
	for range b.Requests {
		began := time.Now()
		if err := cat.echo(); err != nil {
			return err
		}
		trips = append(trips, float64(time.Since(began).Microseconds())/1000)
	}
	b.result.ExecRTT = percentile(trips, 50)
	const commands = 100
	used, _, err := b.during(func() error {
		for range commands {
			e, err := b.exec(ctx, "true")
			if err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, e.reader)
			e.Close()
		}
		return nil
	})
	b.result.ExecCPU = 1000 * used / commands
	return err
}

// execution is a WebSocket to a command.
type execution struct {
	net.Conn
	reader *bufio.Reader
}

func (b *proxyBench) exec(ctx context.Context, command string) (*execution, error) {
	u, err := url.Parse(b.over.Host)
	if err != nil {
		return nil, err
	}
	config, err := rest.TLSConfigFor(b.over)
	if err != nil {
		return nil, err
	}
	config.NextProtos = []string{"http/1.1"}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(conn, "GET %s/api/v1/namespaces/default/pods/shell/exec?stdin=true&stdout=true&command=%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n",
		u.Path, command, u.Host, b.over.BearerToken)
	e := &execution{conn, bufio.NewReader(conn)}
	response, err := http.ReadResponse(e.reader, nil)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		return nil, errors.Join(fmt.Errorf("exec %s: %s", command, response.Status), conn.Close())
	}
	return e, nil
}

// echo sends a byte to the command's input and waits for it.
func (e *execution) echo() error {
	// A whole masked frame of two bytes: the channel of the input, and "x". A
	// mask of zeros changes nothing.
	if _, err := e.Write([]byte{0x82, 0x80 | 2, 0, 0, 0, 0, 0, 'x'}); err != nil {
		return err
	}
	for {
		head := make([]byte, 2)
		if _, err := io.ReadFull(e.reader, head); err != nil {
			return err
		}
		size := int64(head[1])
		if size == 126 {
			var long [2]byte
			if _, err := io.ReadFull(e.reader, long[:]); err != nil {
				return err
			}
			size = int64(binary.BigEndian.Uint16(long[:]))
		}
		text, err := io.ReadAll(io.LimitReader(e.reader, size))
		if err != nil {
			return err
		}
		if len(text) > 1 && text[0] == 1 {
			return nil
		}
	}
}

// watches measures what open watches on which nothing happens take.
func (b *proxyBench) watches(ctx context.Context) error {
	memory := func() (int64, error) {
		hub, err := usageOf(b.w.Hub.Pid())
		if err != nil {
			return 0, err
		}
		agent, err := usageOf(b.agent.Pid())
		return hub.rss + agent.rss, err
	}
	before, err := memory()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range b.Watches {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.over.Host+"/api/v1/namespaces/kube-node-lease/configmaps?watch=true&resourceVersion=0&labelSelector=none%3Dat-all", nil)
		if err != nil {
			return err
		}
		response, err := b.client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("a watch: %s", response.Status)
		}
	}
	after, err := memory()
	b.result.RSSPerWatch = float64(after-before) / 1024 / float64(b.Watches)
	return err
}

// stalled times GETs beside 50 clients that read nothing of a large answer.
func (b *proxyBench) stalled(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	for range 50 {
		client, err := rest.HTTPClientFor(rest.CopyConfig(b.over))
		if err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.over.Host+fmt.Sprintf(proxyPath, b.port, 1<<30), nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		group.Go(func() { <-ctx.Done(); response.Body.Close() })
	}
	var times []float64
	for range 100 {
		began := time.Now()
		if err := b.ask(ctx, b.client, b.over.Host, "/api/v1/namespaces/default"); err != nil {
			return err
		}
		times = append(times, float64(time.Since(began).Microseconds())/1000)
	}
	b.result.FastBesideStalled = percentile(times, 50)
	return nil
}

// Print writes the table.
func (p Proxied) Print(w io.Writer) {
	fmt.Fprintf(w, "\nthrough the hub, %s/%s, %d processors; CPU is hub and agent together\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, row := range []struct {
		what   string
		value  float64
		budget string
	}{
		{"GET, direct, p50, ms", p.DirectP50, ""}, {"GET, through the hub, p50, ms", p.OverP50, ""},
		{"GET, added, p50, ms", p.GetAddedP50, "< 2"}, {"GET, added, p99, ms", p.GetAddedP99, ""}, {"CPU a GET, ms", p.CPUPerRequest, "< 1"},
		{"down, 10 MiB, MB/s per core", p.Down10, ""}, {"down, 100 MiB, MB/s per core", p.Down, "> 150"}, {"down, 100 MiB, MB/s", p.DownWall, ""},
		{"up, 10 MiB, MB/s per core", p.Up10, ""}, {"up, 100 MiB, MB/s per core", p.Up, "> 150"}, {"up, 100 MiB, MB/s", p.UpWall, ""},
		{"allocated a byte, bytes", p.AllocPerByte, "< 0.2"}, {"exec, a byte there and back, ms", p.ExecRTT, ""}, {"CPU an exec, ms", p.ExecCPU, "< 3"},
		{"memory an idle watch, KiB", p.RSSPerWatch, ""}, {"GET beside 50 stalled, p50, ms", p.FastBesideStalled, ""},
	} {
		fmt.Fprintf(w, "  %-34s %10.2f   %s\n", row.what, row.value, row.budget)
	}
	if f, ok := w.(*os.File); ok {
		// What cannot be flushed is no file.
		_ = f.Sync()
	}
}
