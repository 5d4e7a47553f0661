package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/port"
)

// giveBackLimit bounds how long an API server may take to be as it was.
const giveBackLimit = time.Minute

// Lease returns a cluster on the etcd of this run of the tests, for the caller until it closes
// it. Its API server may have served others before, also of other test binaries: Close stops
// what hangs on it, brings it back to what it held when it was new, and leaves it for the next
// Lease. It is as a new one, except that resource versions do not begin at 1 and that its
// namespaces, kube-system too, keep their uid. A server that was stopped in the end is not used
// again. What a process did not close when it ended is brought back by the next Lease.
func Lease(ctx context.Context, cfg ClusterConfig) (*Cluster, error) {
	bed, err := leasedBed()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if len(cfg.Users) > 0 || len(cfg.Serves) > 0 || cfg.Address != "" || cfg.Authentication != "" || cfg.Node != "" {
		return bed.startForOne(ctx, cfg) // its API server is of no use to others
	}
	s, err := bed.idleServer(ctx, cfg.Controllers)
	if err == nil && s == nil {
		s, err = bed.newServer(ctx, cfg.Controllers)
	}
	if err != nil {
		return nil, err
	}
	return s.lease(ctx, cfg)
}

// startForOne starts a cluster that is not given back.
func (b *Bed) startForOne(ctx context.Context, cfg ClusterConfig) (*Cluster, error) {
	id, err := b.newID()
	if err != nil {
		return nil, err
	}
	if cfg.Name == "" {
		cfg.Name = id
	}
	c := b.cluster(id, cfg)
	if err := c.start(ctx); err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", cfg.Name, errors.Join(err, c.Close()))
	}
	return c, nil
}

// newServer starts an API server that can be leased, and reads what it holds.
func (b *Bed) newServer(ctx context.Context, controllers bool) (*server, error) {
	id, err := b.newID()
	if err != nil {
		return nil, err
	}
	c := b.cluster(id, ClusterConfig{Controllers: controllers, Audit: true})
	if c.hold, err = lock(c.path(leaseFile), true); err != nil {
		return nil, err
	}
	if err := c.startServer(ctx); err != nil {
		return nil, fmt.Errorf("start API server %s: %w", id, errors.Join(err, c.discard()))
	}
	if c.first, err = c.settled(ctx); err != nil {
		return nil, fmt.Errorf("read what API server %s holds: %w", id, errors.Join(err, c.discard()))
	}
	return &c.server, nil
}

// idleServer takes an API server that nobody has; nil if there is none.
func (b *Bed) idleServer(ctx context.Context, controllers bool) (*server, error) {
	for {
		s, err := b.take(controllers)
		if s == nil || err != nil {
			return nil, err
		}
		if s.asNew(ctx) {
			return s, nil
		}
		if err := s.discard(); err != nil {
			return nil, err
		}
	}
}

// take takes the first API server that nobody has. One process does it at a time: an API server
// is locked by who has it, and not by who looks.
func (b *Bed) take(controllers bool) (*server, error) {
	looking, err := lock(filepath.Join(b.dir, bedFile), true)
	if err != nil {
		return nil, err
	}
	defer looking.Close()
	files, err := filepath.Glob(filepath.Join(b.clusterDir("*"), recordFile))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		hold, err := lock(filepath.Join(filepath.Dir(file), leaseFile), false)
		if err != nil {
			return nil, err
		}
		if hold == nil {
			continue
		}
		s, err := b.read(file, controllers)
		if s != nil {
			s.hold = hold
			return s, nil
		}
		if err = errors.Join(err, hold.Close()); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// asNew says whether an API server is as it was when it was new. One whose process did not give
// it back is brought back now. One that changed since it was given back is not: what changed it
// was still running, and is reported.
func (s *server) asNew(ctx context.Context) bool {
	if s.api == nil {
		return false // nor does it run
	}
	s.api.Signal(syscall.SIGCONT)
	awake := time.Now()
	if s.left {
		err := s.bringBack(ctx)
		if err != nil {
			s.report("%s ended without closing it, and it cannot be brought back: %v", s.last, err)
		}
		return err == nil
	}
	err := eventually.Wait(ctx, giveBackLimit, func() error {
		_, err := s.kinds(ctx) // it answers
		if err == nil && time.Since(awake) < lateness {
			err = errors.New("it was resumed just now")
		}
		return err
	})
	var changed []string
	if err == nil {
		changed, err = s.changed(ctx)
	}
	if err != nil {
		s.report("what it holds cannot be read: %v", err)
	} else if len(changed) > 0 {
		s.report("%v was written after %s was closed", changed, s.last)
	}
	return err == nil && len(changed) == 0
}

// lateness is how long after its resumption an API server is looked at: what still writes to it
// waited for that.
const lateness = 100 * time.Millisecond

// quiet is how long nothing may write to an API server whose process ended without giving it
// back: the kernel ends what that process had started a moment after it.
const quiet = 300 * time.Millisecond

// bringBack gives back what a process left that has ended.
func (s *server) bringBack(ctx context.Context) error {
	if err := s.clean(ctx); err != nil {
		return err
	}
	still := time.Now()
	return eventually.Wait(ctx, giveBackLimit, func() error {
		changed, err := s.changed(ctx)
		if err == nil && len(changed) > 0 {
			still, err = time.Now(), s.reset(ctx)
		}
		if err == nil && time.Since(still) < quiet {
			err = errors.New("something still writes to it")
		}
		return err
	})
}

// report notes that a server is not used again, for people: whoever wrote to it may be another
// test than the one that prints it.
func (s *server) report(format string, args ...any) {
	s.bed.note(fmt.Sprintf("API server %s is not used again: %s", s.id, fmt.Sprintf(format, args...)))
}

// lease makes a cluster of the server, and starts the parts that it is to have.
func (s *server) lease(ctx context.Context, cfg ClusterConfig) (*Cluster, error) {
	if cfg.Name == "" {
		cfg.Name = s.id
	}
	cfg.Address = loopback
	c := &Cluster{server: *s, cfg: cfg}
	c.last = fmt.Sprintf("cluster %s of %s", cfg.Name, filepath.Base(os.Args[0]))
	c.binaries.set(cfg.Binaries)
	err := c.write(true)
	if err == nil {
		err = port.Keep(c.port)
	}
	if err == nil {
		err = c.writeKubeconfigs()
	}
	if err == nil {
		c.audited, err = c.AuditMark()
	}
	if err == nil {
		err = c.startParts(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", cfg.Name, errors.Join(err, c.Close()))
	}
	return c, nil
}

// giveBack makes the API server as it was when it was new, for the next Lease. One that has
// ended, or cannot be brought back, is not leased again.
func (c *Cluster) giveBack() error {
	if c.api.Ended() {
		return c.discard()
	}
	c.api.Signal(syscall.SIGCONT) // if it is paused
	ctx, cancel := context.WithTimeout(context.Background(), giveBackLimit)
	defer cancel()
	err := c.clean(ctx)
	if err == nil {
		err = c.write(false)
	}
	if err != nil { // it costs a start, and says nothing about what was tested
		c.report("it cannot be brought back: %v", err)
		return c.discard()
	}
	// One that waits takes a hundredth of a processor, and there are many.
	c.api.Signal(syscall.SIGSTOP)
	return c.hold.Close()
}

// clean takes what a cluster left out of the folder and out of etcd.
func (s *server) clean(ctx context.Context) error {
	for _, name := range []string{"kubelet", "volumes"} {
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			return err
		}
	}
	return s.reset(ctx)
}

// discard ends an API server that nobody is to have again.
func (s *server) discard() error {
	s.api.Kill()
	err := os.Remove(filepath.Join(s.dir, recordFile))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, s.hold.Close())
}
