package kube

import (
	"context"

	"k8s.io/client-go/kubernetes"
)

// startParts starts the requested components besides the API server, and waits until
// each is ready.
func (c *Cluster) startParts(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	if c.cfg.Controllers {
		if err := c.startControllers(ctx, client); err != nil {
			return err
		}
	}
	if c.cfg.Kwok {
		if err := c.startKwok(ctx, client); err != nil {
			return err
		}
	}
	if c.cfg.Binaries != nil {
		if err := c.startKubelet(ctx, client); err != nil {
			return err
		}
		if c.cfg.Controllers {
			if err := startStorage(ctx, c, client); err != nil {
				return err
			}
		}
	}
	if c.cfg.Node != "" {
		if err := startScheduler(c); err != nil {
			return err
		}
		if err := startStorage(ctx, c, client); err != nil {
			return err
		}
	}
	if c.cfg.Kwok || c.cfg.Binaries != nil {
		c.startBinder(client)
	}
	return nil
}

// startBinder runs the binder until the cluster is closed.
func (c *Cluster) startBinder(client kubernetes.Interface) {
	b := &binder{client: client, log: c.bed.log, kwok: c.cfg.Kwok, processes: c.cfg.Binaries != nil, images: c.cfg.Images}
	c.background(b.run)
}

// background runs f until the cluster is closed, and the closing waits for it.
func (c *Cluster) background(f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	c.closers = append(c.closers, func() {
		cancel()
		<-done
	})
}
