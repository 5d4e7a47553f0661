package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/axle-cd/axle/test/port"
	"github.com/axle-cd/axle/test/program"
)

// Config describes a Bed. The zero value is good.
type Config struct {
	// Dir is where everything is kept; a temporary folder by default. Only a
	// temporary folder is removed at the end.
	Dir string
	// Log takes the Bed's own messages; nowhere by default. The programs write
	// their logs to files below Dir.
	Log *slog.Logger
}

// Bed is one etcd and the clusters that stand on it.
type Bed struct {
	dir     string
	bin     string
	log     *slog.Logger
	etcd    *program.Program
	etcdURL string
	// etcdArgs are those that etcd was started with.
	etcdArgs []string
	reaper   func()
	// keeper is the folder of who runs the programs of a Bed whose API servers are leased.
	keeper string

	mu       sync.Mutex
	clusters []*Cluster
	names    map[string]bool
}

// Start starts etcd. Close stops it and every cluster on it.
func Start(ctx context.Context, cfg Config) (*Bed, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	b := &Bed{dir: cfg.Dir, bin: bin, log: cfg.Log, names: map[string]bool{}, reaper: func() {}}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "axle-kube-"); err != nil {
			return nil, err
		}
		if b.reaper, err = startReaper(b.dir); err != nil {
			os.RemoveAll(b.dir)
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := b.startEtcd(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Bed) startEtcd(ctx context.Context) error {
	for try := 1; ; try++ {
		err := b.tryEtcd(ctx)
		if err == nil || try == portTries || b.etcd == nil || !b.etcd.PortTaken() {
			return err
		}
	}
}

func (b *Bed) tryEtcd(ctx context.Context) error {
	client, err := port.Free()
	if err != nil {
		return err
	}
	peer, err := port.Free()
	if err != nil {
		return err
	}
	b.etcdURL = fmt.Sprintf("http://127.0.0.1:%d", client)
	peerURL := fmt.Sprintf("http://127.0.0.1:%d", peer)
	dir := filepath.Join(b.dir, "etcd")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	b.etcdArgs = []string{
		"--name=bed", "--data-dir=" + filepath.Join(dir, "data"), "--log-level=warn",
		// The data is discarded at the end, so nothing is synced to disk.
		"--unsafe-no-fsync",
		"--listen-client-urls=" + b.etcdURL, "--advertise-client-urls=" + b.etcdURL,
		"--listen-peer-urls=" + peerURL, "--initial-advertise-peer-urls=" + peerURL,
		"--initial-cluster=bed=" + peerURL,
	}
	if b.etcd, err = b.run(b.keeper, dir, "etcd", b.etcdArgs); err != nil {
		return err
	}
	return b.etcd.WaitReady(ctx, program.Answers(b.etcdURL+"/health"))
}

// run starts a program of the control plane: by the keeper, if there is one.
func (b *Bed) run(keeper, dir, name string, args []string) (*program.Program, error) {
	binary := filepath.Join(b.bin, name)
	if keeper != "" {
		return program.StartKept(keeper, dir, binary, args)
	}
	return program.Start(dir, binary, args)
}

// Dir is the folder with the logs and data of all programs.
func (b *Bed) Dir() string { return b.dir }

// Close stops every cluster and etcd, and removes the temporary folder.
func (b *Bed) Close() error {
	b.mu.Lock()
	clusters := b.clusters
	b.clusters = nil
	b.mu.Unlock()
	var errs []error
	for _, c := range clusters {
		errs = append(errs, c.Close())
	}
	b.etcd.Kill()
	b.reaper()
	return errors.Join(errs...)
}

// startReaper starts a shell that removes the folder once this process is gone,
// however it ended: its standard input is a pipe that only we hold open. The
// function returned ends it early and waits until the folder is removed.
func startReaper(dir string) (func(), error) {
	cmd := exec.Command("/bin/sh", "-c", `read -r _; for i in 1 2 3 4 5; do rm -rf -- "$1" && exit 0; sleep 1; done`, "sh", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the shell that removes %s at the end: %w", dir, err)
	}
	return func() {
		hold.Close()
		cmd.Wait()
	}, nil
}
