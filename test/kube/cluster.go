package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/test/port"
	"github.com/axle-cd/axle/test/program"
)

// ClusterConfig says what a cluster has besides its API server.
type ClusterConfig struct {
	// Name appears in paths, kubeconfigs and errors. It must be unique on its
	// Bed; a number by default.
	Name string
	// Users can log in with a bearer token, besides the built-in administrator.
	Users []User
	// Audit records every request, for Cluster.Audit.
	Audit bool
	// Controllers starts the controller-manager. With it come the admission of
	// service accounts, root CA ConfigMaps, garbage collection, the rules of
	// the cluster roles view, edit and admin (empty without it), Deployments
	// that make pods, and Jobs.
	Controllers bool
	// Kwok starts kwok and its own node. Pods with ordinary images are bound to it
	// and become ready, or complete, without running anything.
	Kwok bool
	// Binaries, unless nil, starts the process kubelet and says what it runs: an
	// image axle.test/<name>:<version> is the file under "<name>:<version>", or
	// otherwise the one under "<name>". Cluster.SetBinary changes it later. Pods get
	// a service account's token only with Controllers.
	Binaries map[string]string
	// Images begins the images that the process kubelet runs, ImagePrefix if empty: as
	// if it had pulled them from that registry.
	Images string
	// PlainProcesses has the process kubelet do without namespaces, as it does
	// by itself where they are not permitted.
	PlainProcesses bool
	// Address is where the API server listens, for a node with a network of its own;
	// 127.0.0.1 by default. It must be an address of this machine.
	Address string
	// Serves are API versions that are served besides the default ones, as
	// networking.k8s.io/v1beta1.
	Serves []string
	// Authentication is an AuthenticationConfiguration, for people whom an OpenID provider
	// signs in.
	Authentication string
	// Node is the name of a node that the caller runs (test/node). With it,
	// kube-scheduler places the pods, and claims of StorageClass get local volumes of
	// this node. It needs Controllers.
	Node string
}

// User is a user whom the API server knows by a bearer token.
type User struct {
	Name   string
	Token  string
	Groups []string
}

const loopback = "127.0.0.1"

// startLimit bounds how long a cluster may take to become ready. It takes about 2 s
// on an idle machine; the rest is for busy machines.
const startLimit = 5 * time.Minute

// Cluster is one API server with the requested components.
type Cluster struct {
	server
	cfg ClusterConfig
	// audited is where the records of this cluster begin in the server's audit log.
	audited int64

	binaries programs

	mu      sync.Mutex
	closers []func() // what hangs on the API server, stopped in reverse order
	closed  bool
}

// server is an API server, with what stays the same for each cluster that has it in turn.
type server struct {
	bed *Bed
	// id is its folder below the Bed's, and the prefix of its keys in etcd.
	id      string
	dir     string
	address string
	ca      *authority
	port    int
	token   string // the administrator's
	api     *program.Program
	// controllers and audit are those of the ClusterConfig that it was started for.
	controllers, audit bool
	// first is what it held when it was new; nil for one that is never used again.
	first *state
	// hold is the lock of one that is leased; nil for one that is never used again.
	hold *os.File
	// last is the cluster that had it last, whose process left it when it ended.
	last string
	left bool
}

// StartCluster starts an API server on the Bed's etcd, with the components of the
// config. It returns once all are ready.
func (b *Bed) StartCluster(ctx context.Context, cfg ClusterConfig) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	began := time.Now()
	c, err := b.newCluster(cfg)
	if err != nil {
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", c.cfg.Name, errors.Join(err, c.Close()))
	}
	b.log.Info("cluster ready", "cluster", c.cfg.Name, "url", c.URL(), "took", time.Since(began).Round(time.Millisecond))
	return c, nil
}

// newCluster makes a cluster whose API server has the name of its own.
func (b *Bed) newCluster(cfg ClusterConfig) (*Cluster, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cfg.Name == "" {
		cfg.Name = fmt.Sprintf("cluster-%d", len(b.names)+1)
	}
	if b.names[cfg.Name] {
		return nil, fmt.Errorf("cluster %s exists already on this etcd: choose another name", cfg.Name)
	}
	c := b.cluster(cfg.Name, cfg)
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, err
	}
	b.names[cfg.Name] = true
	b.clusters = append(b.clusters, c)
	return c, nil
}

// cluster is one without its API server. The id names that, and its folder.
func (b *Bed) cluster(id string, cfg ClusterConfig) *Cluster {
	if cfg.Address == "" {
		cfg.Address = loopback
	}
	c := &Cluster{cfg: cfg, server: server{
		bed: b, id: id, dir: b.clusterDir(id), address: cfg.Address, token: newToken(), controllers: cfg.Controllers, audit: cfg.Audit,
	}}
	c.binaries.set(cfg.Binaries)
	return c
}

func (b *Bed) clusterDir(id string) string { return filepath.Join(b.dir, "clusters", id) }

func (c *Cluster) start(ctx context.Context) error {
	if err := c.startServer(ctx); err != nil {
		return err
	}
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	return c.startParts(ctx)
}

// startServer starts the API server by itself.
func (c *Cluster) startServer(ctx context.Context) error {
	if err := c.writeFiles(); err != nil {
		return err
	}
	return c.startFirst(ctx)
}

// portTries bounds how often a program is restarted on another port.
const portTries = 5

// startFirst starts the API server on a port of its choice, and again on
// another one if the port was taken in between.
func (c *Cluster) startFirst(ctx context.Context) error {
	for try := 1; ; try++ {
		number, err := port.Free()
		if err != nil {
			return err
		}
		c.port = number
		err = c.startAPI(ctx)
		if err == nil || try == portTries || c.api == nil || !c.api.PortTaken() {
			return err
		}
	}
}

func (c *Cluster) startAPI(ctx context.Context) error {
	var err error
	keeper := ""
	if c.hold != nil {
		keeper = c.bed.keeper // for those who have it next
	}
	c.api, err = c.bed.run(keeper, c.dir, apiServer, c.apiArgs())
	if err != nil {
		return err
	}
	return c.api.WaitReady(ctx, c.ready)
}

// Name is the cluster's name.
func (c *Cluster) Name() string { return c.cfg.Name }

// Dir is the folder with the cluster's logs and keys.
func (c *Cluster) Dir() string { return c.dir }

// URL is the API server's address, https://127.0.0.1:<port> unless ClusterConfig.Address
// is another. It stays the same over restarts.
func (c *Cluster) URL() string { return c.url() }

func (s *server) url() string { return fmt.Sprintf("https://%s:%d", s.address, s.port) }

// CA is the certificate of the cluster's authority in PEM.
func (c *Cluster) CA() []byte { return c.ca.pem }

// Config is the administrator's, of group system:masters, for client-go. The
// caller owns the copy.
func (c *Cluster) Config() *rest.Config { return c.config(c.token) }

// Kubeconfig is the path of the administrator's kubeconfig file.
func (c *Cluster) Kubeconfig() string { return c.kubeconfigPath("admin") }

// APIServerPID is the API server's process id, zero while it is not running.
func (c *Cluster) APIServerPID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.api == nil {
		return 0
	}
	return c.api.PID()
}

// Stop ends the API server at once, as a crash would. The data stays.
func (c *Cluster) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.api.Kill()
}

// Restart ends the API server if it still runs and starts it again on the same
// address. It returns once the server is ready.
func (c *Cluster) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return fmt.Errorf("cluster %s is closed", c.cfg.Name)
	}
	c.api.Kill()
	err := c.startAPI(ctx)
	if err == nil && c.hold != nil {
		err = c.write(true) // it is another process now
	}
	return err
}

// Pause freezes the API server: connections stay open and nothing answers.
// It returns once the last of its threads stands still.
func (c *Cluster) Pause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.api.Freeze()
}

// Resume ends a Pause.
func (c *Cluster) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.api.Signal(syscall.SIGCONT)
}

// Close stops everything of the cluster. Its data stays in etcd until the Bed is closed;
// a Lease goes back instead, unless its API server was stopped.
func (c *Cluster) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	for i := len(c.closers) - 1; i >= 0; i-- {
		c.closers[i]()
	}
	if c.hold == nil {
		c.api.Kill()
		return nil
	}
	return c.giveBack()
}
