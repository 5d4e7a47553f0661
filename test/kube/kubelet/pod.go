package kubelet

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pod is one pod from its binding to its end.
//
//	volumes ─► init containers ─► containers ─► ended ─► deleted
//	   └───────────┴── stop ─────────┴────────────┘
type pod struct {
	k      *Kubelet
	object *corev1.Pod // as it was when it came; specs do not change
	meta   atomic.Pointer[metav1.ObjectMeta]
	dir    string
	ip     string
	tokens map[string]token // used by the one goroutine that fills volumes

	stopping chan struct{} // closed when it is being deleted: ask programs to end
	killed   chan struct{} // closed when its grace is over: end them
	changed  chan struct{} // has a word when the status is to be reported

	mu       sync.Mutex
	inits    []*container
	mains    []*container
	waiting  string // why its volumes are not there yet
	failed   bool   // an init container ended badly for good
	began    time.Time
	killAt   time.Time
	killer   *time.Timer
	stopOnce sync.Once
	killOnce sync.Once
}

func newPod(k *Kubelet, object *corev1.Pod) *pod {
	p := &pod{
		k: k, object: object, ip: loopback(), dir: filepath.Join(k.cfg.Dir, "pods", string(object.UID)),
		tokens: map[string]token{}, began: time.Now(),
		stopping: make(chan struct{}), killed: make(chan struct{}), changed: make(chan struct{}, 1),
	}
	p.meta.Store(&object.ObjectMeta)
	waiting := "ContainerCreating"
	if len(object.Spec.InitContainers) > 0 {
		waiting = "PodInitializing"
	}
	for i := range object.Spec.InitContainers {
		spec := &object.Spec.InitContainers[i]
		policy := object.Spec.RestartPolicy
		switch {
		case isSidecar(spec):
			policy = corev1.RestartPolicyAlways
		case policy == corev1.RestartPolicyAlways:
			policy = corev1.RestartPolicyOnFailure
		}
		p.inits = append(p.inits, newContainer(spec, policy, waiting))
	}
	for i := range object.Spec.Containers {
		p.mains = append(p.mains, newContainer(&object.Spec.Containers[i], object.Spec.RestartPolicy, waiting))
	}
	return p
}

// loopback is an address of the pod's own, random so that the pods of several
// test runs on one machine do not meet.
func loopback() string {
	b := make([]byte, 3)
	rand.Read(b)
	return fmt.Sprintf("127.%d.%d.%d", 1+int(b[0])%254, b[1], 1+int(b[2])%254)
}

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// run lives as long as the pod, or until the context ends and with it the
// kubelet.
func (p *pod) run(ctx context.Context) {
	defer context.AfterFunc(ctx, p.kill)()
	defer os.RemoveAll(p.dir)
	reports := make(chan struct{})
	reporting, stopReports := context.WithCancel(ctx)
	go func() {
		defer close(reports)
		p.report(reporting)
	}()
	ended := p.object.Status.Phase == corev1.PodSucceeded || p.object.Status.Phase == corev1.PodFailed
	if !ended && p.prepare(ctx) {
		p.runContainers(ctx)
	}
	stopReports()
	<-reports
	if !ended {
		p.reportUntilDone(ctx)
	}
	select {
	case <-p.stopping:
		p.remove(ctx)
	case <-ctx.Done():
	}
}

// prepare creates the folder and the volumes, and waits for what is missing.
func (p *pod) prepare(ctx context.Context) bool {
	for !p.isStopping() {
		err := os.MkdirAll(filepath.Join(p.dir, "logs"), 0o755)
		if err == nil {
			attempt, cancel := context.WithTimeout(ctx, 30*time.Second)
			err = p.fillVolumes(attempt)
			cancel()
		}
		if err == nil {
			p.change(func() { p.waiting = "" })
			return true
		}
		p.change(func() { p.waiting = err.Error() })
		p.pause(startRetry)
	}
	return false
}

// runContainers runs init containers in order and then the others together. It
// returns when all have ended for good.
func (p *pod) runContainers(ctx context.Context) {
	refreshing, stopRefreshing := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer stopRefreshing()
	background.Go(func() { p.refresh(refreshing) })
	for _, c := range p.inits {
		if isSidecar(c.spec) {
			background.Go(func() { p.loop(ctx, c) })
			continue
		}
		if code := p.loop(ctx, c); code != 0 {
			p.change(func() { p.failed = true })
			p.stopSidecars()
			return
		}
	}
	var mains sync.WaitGroup
	for _, c := range p.mains {
		mains.Go(func() { p.loop(ctx, c) })
	}
	mains.Wait()
	p.stopSidecars()
}

// stopSidecars ends what would run on after the pod's work is done.
func (p *pod) stopSidecars() {
	for _, c := range p.inits {
		if isSidecar(c.spec) {
			p.mu.Lock()
			c.policy = corev1.RestartPolicyNever
			p.mu.Unlock()
			select {
			case c.sick <- "the pod has ended":
			default:
			}
		}
	}
}

// refresh keeps volumes from the API up to date.
func (p *pod) refresh(ctx context.Context) {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.stopping:
			return
		case <-tick.C:
			attempt, cancel := context.WithTimeout(ctx, 30*time.Second)
			if err := p.fillVolumes(attempt); err != nil && ctx.Err() == nil {
				p.k.cfg.Log.Warn("refresh volumes", "namespace", p.object.Namespace, "pod", p.object.Name, "err", err)
			}
			cancel()
		}
	}
}

// stop asks the programs to end and ends them when the grace is over. A later
// call can only shorten it.
func (p *pod) stop(grace time.Duration) {
	p.stopOnce.Do(func() { close(p.stopping) })
	if grace <= 0 {
		p.kill()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now().Add(grace)
	if p.killer != nil && !at.Before(p.killAt) {
		return
	}
	if p.killer != nil {
		p.killer.Stop()
	}
	p.killAt, p.killer = at, time.AfterFunc(grace, p.kill)
}

func (p *pod) kill() {
	p.stopOnce.Do(func() { close(p.stopping) })
	p.killOnce.Do(func() { close(p.killed) })
}

func (p *pod) isStopping() bool {
	select {
	case <-p.stopping:
		return true
	default:
		return false
	}
}

// pause waits, and reports whether the pod continues.
func (p *pod) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.stopping:
		return false
	}
}

// change alters the pod's state and has it reported.
func (p *pod) change(f func()) {
	p.mu.Lock()
	f()
	p.mu.Unlock()
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

func (p *pod) gracePeriod() time.Duration {
	if s := p.object.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// container finds one by name; without a name, the only or first one.
func (p *pod) container(name string) *container {
	for _, c := range append(append([]*container{}, p.mains...), p.inits...) {
		if c.spec.Name == name || name == "" {
			return c
		}
	}
	return nil
}
