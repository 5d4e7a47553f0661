package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/program"
)

// Name is the node's, and its cluster's.
const Name = "node-1"

// Registry is the only one from which the node can pull, by plain HTTP. It begins empty,
// except for Guest.
const Registry = Host + ":5000"

// startLimit bounds each step of a start. All of it takes half a minute.
const startLimit = 2 * time.Minute

// Config of a node. The zero value is good.
type Config struct {
	// Dir is where everything is kept, empty for a folder in the cache. It is removed at
	// the end, and before the start.
	Dir string
	// Progress gets a line for each step, if set.
	Progress func(format string, args ...any)
}

// Node is a node that runs, with its cluster. Close ends it.
type Node struct {
	Cluster *kube.Cluster

	dir    string
	lock   *os.File
	bed    *kube.Bed
	parts  []*program.Program
	client *kubernetes.Clientset
	ends   []func() // of what runs in this process, ended in reverse order
	log    *slog.Logger
	say    func(format string, args ...any)
}

// Start starts a node, after it has removed what an earlier one left. It returns when the
// node takes pods.
func Start(ctx context.Context, c Config) (*Node, error) {
	if lacks := Missing(); len(lacks) > 0 {
		return nil, fmt.Errorf("this machine cannot run a node: %w", errors.Join(lacks...))
	}
	if c.Dir == "" {
		cache, err := program.CacheDir()
		if err != nil {
			return nil, err
		}
		c.Dir = filepath.Join(cache, "node")
	}
	n := &Node{dir: c.Dir, say: c.Progress, log: slog.New(slog.DiscardHandler)}
	if n.say == nil {
		n.say = func(string, ...any) {}
	}
	if err := n.take(); err != nil {
		return nil, err
	}
	if err := remove(ctx, n.dir); err != nil {
		return nil, errors.Join(err, n.lock.Close())
	}
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// take holds the lock of the one node on this machine. The kernel frees it with this
// process.
func (n *Node) take() error {
	file, err := os.OpenFile("/run/axle-node.lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("another process runs the node of this machine: end it first, or wait (%w)", err), file.Close())
	}
	n.lock = file
	return nil
}

func (n *Node) start(ctx context.Context) error {
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	if err := errors.Join(writeFiles(n.dir), makeCgroups(), network(ctx)); err != nil {
		return err
	}
	if err := n.startRegistry(ctx); err != nil {
		return err
	}
	if err := n.pushGuest(ctx); err != nil {
		return err
	}
	if err := n.startCluster(ctx); err != nil {
		return err
	}
	n.say("the API server is at %s", n.Cluster.URL())
	if err := n.startContainers(ctx); err != nil {
		return err
	}
	n.startBalancer()
	if err := n.startNames(ctx); err != nil {
		return err
	}
	n.say("the node takes pods")
	return nil
}

func (n *Node) startCluster(ctx context.Context) error {
	var err error
	if n.bed, err = kube.Start(ctx, kube.Config{Dir: filepath.Join(n.dir, "control"), Log: n.log}); err != nil {
		return err
	}
	if n.Cluster, err = n.bed.StartCluster(ctx, kube.ClusterConfig{Name: Name, Controllers: true, Address: Host, Node: Name}); err != nil {
		return err
	}
	if n.client, err = kubernetes.NewForConfig(n.Cluster.Config()); err != nil {
		return err
	}
	return writeCredentials(n.dir, n.Cluster)
}

// startContainers starts what runs pods, and waits until the node is ready.
func (n *Node) startContainers(ctx context.Context) error {
	bin, err := kube.Built(module, "kubelet", ErrNotBuilt)
	if err != nil {
		return err
	}
	containerd, err := n.startPart("containerd", "containerd", "--config", n.path("containerd.toml"))
	if err != nil {
		return err
	}
	if err := n.waitFor(ctx, containerd, func(ctx context.Context) error {
		out, err := exec.CommandContext(ctx, "ctr", "--address", n.path(socket), "version").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
		}
		return nil
	}); err != nil {
		return err
	}
	kubelet, err := n.startPart("kubelet", filepath.Join(bin, "kubelet"), "--config="+n.path("kubelet.yaml"), "--kubeconfig="+n.path("kubelet.kubeconfig"),
		"--root-dir="+n.path("kubelet"), "--cert-dir="+n.path("certs"), "--hostname-override="+Name, "--node-ip="+Address)
	if err != nil {
		return err
	}
	if _, err := n.startPart("kube-proxy", filepath.Join(bin, "kube-proxy"), "--config="+n.path("kube-proxy.yaml")); err != nil {
		return err
	}
	return n.waitFor(ctx, kubelet, n.ready)
}

// ready asks the API server whether the node takes pods.
func (n *Node) ready(ctx context.Context) error {
	node, err := n.client.CoreV1().Nodes().Get(ctx, Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return fmt.Errorf("the node is not ready: %s", c.Message)
		}
	}
	return nil
}

// startPart starts a program in the node's network.
func (n *Node) startPart(name, binary string, args ...string) (*program.Program, error) {
	path, err := exec.LookPath(binary)
	if err != nil {
		return nil, err
	}
	p, err := program.StartAs(n.path("programs"), name, enter[0], append([]string{enter[1], path}, args...))
	if err == nil {
		n.parts = append(n.parts, p)
	}
	return p, err
}

// waitFor waits until a program is ready.
func (n *Node) waitFor(ctx context.Context, p *program.Program, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	return p.WaitReady(ctx, ready)
}

// background runs f until Close, which waits for its end.
func (n *Node) background(f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	n.ends = append(n.ends, func() {
		cancel()
		<-done
	})
}

func (n *Node) path(name string) string { return filepath.Join(n.dir, name) }

// Dir is the folder with everything of the node; logs of its programs are in programs.
func (n *Node) Dir() string { return n.dir }

// Close ends the node and removes all of it.
func (n *Node) Close() error {
	for i := len(n.ends) - 1; i >= 0; i-- {
		n.ends[i]()
	}
	for i := len(n.parts) - 1; i >= 0; i-- {
		n.parts[i].Kill()
	}
	var errs []error
	if n.bed != nil {
		errs = append(errs, n.bed.Close())
	}
	// The caller's context may have ended, and this must not.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(append(errs, remove(ctx, n.dir), n.lock.Close())...)
}
