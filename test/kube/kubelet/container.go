package kubelet

import (
	"context"
	"errors"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The back-off before a restart: a tenth of a kubelet's, so that a crash loop is
// visible within seconds. It is reset after a run of a minute.
const (
	firstBackoff = time.Second
	maxBackoff   = 30 * time.Second
	healthyRun   = time.Minute
	startRetry   = time.Second // for what is missing: an image, a Secret
)

// container is one container over all its runs. The pod's mutex guards it.
type container struct {
	spec     *corev1.Container
	policy   corev1.RestartPolicy
	state    corev1.ContainerState
	last     corev1.ContainerState
	restarts int32
	ready    bool
	started  bool
	finished bool // it will not run again
	now      *process
	logs     []*logFile // of all runs
	sick     chan string
}

func newContainer(spec *corev1.Container, policy corev1.RestartPolicy, waiting string) *container {
	return &container{
		spec: spec, policy: policy, sick: make(chan string, 1),
		state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waiting}},
	}
}

// loop runs the container, again and again as its policy says, until the pod
// stops. It returns the last exit code.
func (p *pod) loop(ctx context.Context, c *container) int {
	backoff := firstBackoff
	for run := int32(0); ; run++ {
		began := time.Now()
		code, ok := p.once(ctx, c, run)
		if !ok || !p.again(c, code) || p.isStopping() {
			p.change(func() { c.finished = true })
			return code
		}
		if time.Since(began) > healthyRun {
			backoff = firstBackoff
		}
		p.change(func() {
			c.last, c.state = c.state, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "CrashLoopBackOff", Message: "back-off " + backoff.String() + " restarting failed container " + c.spec.Name,
			}}
		})
		if !p.pause(backoff) {
			p.change(func() { c.finished, c.state = true, c.last })
			return code
		}
		backoff = min(2*backoff, maxBackoff)
		p.change(func() { c.restarts++ })
	}
}

// again says whether the policy has a container restarted after that exit code.
func (p *pod) again(c *container, code int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return c.policy == corev1.RestartPolicyAlways || c.policy == corev1.RestartPolicyOnFailure && code != 0
}

// once runs the container once. It is not ok if the pod stopped before.
func (p *pod) once(ctx context.Context, c *container, run int32) (code int, ok bool) {
	r, ok := p.begin(ctx, c, run)
	if !ok {
		return 137, false
	}
	health, cancel := context.WithCancel(ctx)
	defer cancel()
	go p.watchHealth(health, c, r)
	reason := p.attend(c, r)
	cancel()
	p.change(func() {
		c.now, c.ready, c.started = nil, false, false
		c.state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: int32(r.code), Reason: reason, StartedAt: metav1.NewTime(r.started), FinishedAt: metav1.Now(),
			ContainerID: containerID(p, c, run),
		}}
		if c.spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError && r.code != 0 {
			c.state.Terminated.Message = r.lastWords()
		}
	})
	return r.code, true
}

// begin starts the program, trying again while something it needs is missing.
func (p *pod) begin(ctx context.Context, c *container, run int32) (*process, bool) {
	for !p.isStopping() {
		attempt, cancel := context.WithTimeout(ctx, 30*time.Second)
		r, err := p.start(attempt, c.spec, run)
		cancel()
		if err == nil {
			p.change(func() {
				c.now, c.logs = r, append(c.logs, r.log)
				c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(r.started)}}
			})
			return r, true
		}
		reason := "RunContainerError"
		if waits := (*waitError)(nil); errors.As(err, &waits) {
			reason = waits.reason
		}
		p.change(func() {
			c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: err.Error()}}
		})
		p.pause(startRetry)
	}
	return nil, false
}

// attend waits for the end of the program, and brings it about when the pod
// stops or the program is found sick. It returns the reason to report.
func (p *pod) attend(c *container, r *process) string {
	var grace <-chan time.Time
	select {
	case <-r.done:
	case <-p.killed:
	case <-p.stopping:
		r.signal(syscall.SIGTERM)
	case <-c.sick:
		r.signal(syscall.SIGTERM)
		timer := time.NewTimer(p.gracePeriod())
		defer timer.Stop()
		grace = timer.C
	}
	select {
	case <-r.done:
	case <-p.killed:
	case <-grace:
	}
	r.signal(syscall.SIGKILL)
	<-r.done
	if r.code == 0 {
		return "Completed"
	}
	return "Error"
}
