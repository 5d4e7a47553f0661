package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// giveBackLimit bounds how long an API server may take to be as it was.
const giveBackLimit = time.Minute

// Lease returns a cluster on the etcd of this process, for the caller until it closes it.
// Its API server may have served others before: Close stops what hangs on it, brings it
// back to what it held when it was new, and keeps it for the next Lease. It is as a new one,
// except that resource versions do not begin at 1 and that its namespaces, kube-system too,
// keep their uid. A server that was stopped or paused in the end is not used again.
func Lease(ctx context.Context, cfg ClusterConfig) (*Cluster, error) {
	bed, err := leasedBed()
	if err != nil {
		return nil, err
	}
	if len(cfg.Users) > 0 || cfg.Address != "" || cfg.Node != "" {
		return bed.StartCluster(ctx, cfg) // its API server is of no use to others
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	s := idleServer(ctx, cfg.Controllers)
	if s == nil {
		if s, err = bed.newServer(ctx, cfg.Controllers); err != nil {
			return nil, err
		}
	}
	return s.lease(ctx, cfg)
}

// newServer starts an API server that can be leased, and reads what it holds.
func (b *Bed) newServer(ctx context.Context, controllers bool) (*server, error) {
	c, err := b.newCluster(ClusterConfig{Controllers: controllers, Audit: true})
	if err != nil {
		return nil, err
	}
	if err := c.startServer(ctx); err != nil {
		return nil, fmt.Errorf("start API server %s: %w", c.id, errors.Join(err, c.Close()))
	}
	if c.first, err = c.settled(ctx); err != nil {
		return nil, fmt.Errorf("read what API server %s holds: %w", c.id, errors.Join(err, c.Close()))
	}
	return &c.server, nil
}

// idleServer takes the API server that was given back last; nil if there is none. One that changed
// since it was given back is not used: what changed it was still running, and is reported.
func idleServer(ctx context.Context, controllers bool) *server {
	for {
		leased.Lock()
		at := len(leased.idle) - 1
		for at >= 0 && leased.idle[at].controllers != controllers {
			at--
		}
		if at < 0 {
			leased.Unlock()
			return nil
		}
		s := leased.idle[at]
		leased.idle = slices.Delete(leased.idle, at, at+1)
		leased.Unlock()
		changed, err := s.changed(ctx)
		if err == nil && len(changed) == 0 {
			return s
		}
		fmt.Fprintf(os.Stderr, "API server %s is not used again: %v was written after cluster %s was closed (%v)\n", s.id, changed, s.last, err)
		s.api.Kill()
	}
}

// lease makes a cluster of the server, and starts the parts that it is to have.
func (s *server) lease(ctx context.Context, cfg ClusterConfig) (*Cluster, error) {
	if cfg.Name == "" {
		cfg.Name = s.id
	}
	cfg.Address = loopback
	c := &Cluster{server: *s, cfg: cfg}
	c.binaries.set(cfg.Binaries)
	err := c.writeKubeconfigs()
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

// giveBack makes the API server as it was when it was new, for the next Lease.
func (c *Cluster) giveBack() error {
	ctx, cancel := context.WithTimeout(context.Background(), giveBackLimit)
	defer cancel()
	for _, dir := range []string{"kubelet", "volumes"} {
		if err := os.RemoveAll(c.path(dir)); err != nil {
			return err
		}
	}
	s := c.server
	s.last = c.cfg.Name
	if err := s.reset(ctx); err != nil {
		return err
	}
	leased.Lock()
	defer leased.Unlock()
	leased.idle = append(leased.idle, &s)
	return nil
}
