package kubelet

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// report sends the status after each change until the context ends.
func (p *pod) report(ctx context.Context) {
	for {
		p.reportUntilDone(ctx)
		select {
		case <-p.changed:
		case <-ctx.Done():
			return
		}
	}
}

// reportUntilDone sends the status, and retries while the API server is unavailable.
func (p *pod) reportUntilDone(ctx context.Context) {
	for ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := p.reportOnce(attempt)
		cancel()
		if err == nil || apierrors.IsNotFound(err) {
			return
		}
		timer := time.NewTimer(200 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

func (p *pod) reportOnce(ctx context.Context) error {
	pods := p.k.cfg.Client.CoreV1().Pods(p.object.Namespace)
	object, err := pods.Get(ctx, p.object.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if object.UID != p.object.UID { // another pod of the same name
		return nil
	}
	p.mu.Lock()
	p.writeStatus(&object.Status)
	p.mu.Unlock()
	_, err = pods.UpdateStatus(ctx, object, metav1.UpdateOptions{})
	return err
}

// remove deletes the pod's object.
func (p *pod) remove(ctx context.Context) {
	for ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := p.k.cfg.Client.CoreV1().Pods(p.object.Namespace).Delete(attempt, p.object.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64),
			Preconditions:      &metav1.Preconditions{UID: &p.object.UID},
		})
		cancel()
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		timer := time.NewTimer(200 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// writeStatus sets the fields that a kubelet reports. Conditions of other components
// stay.
func (p *pod) writeStatus(s *corev1.PodStatus) {
	s.Phase = p.phase()
	s.HostIP, s.HostIPs = hostIP, []corev1.HostIP{{IP: hostIP}}
	s.PodIP, s.PodIPs = p.ip, []corev1.PodIP{{IP: p.ip}}
	began := metav1.NewTime(p.began)
	if s.StartTime == nil {
		s.StartTime = &began
	}
	s.InitContainerStatuses, s.ContainerStatuses = p.statuses(p.inits), p.statuses(p.mains)
	initialized := true
	for _, c := range p.inits {
		done := c.finished && c.state.Terminated != nil && c.state.Terminated.ExitCode == 0
		initialized = initialized && (done || isSidecar(c.spec) && c.started)
	}
	ready := s.Phase == corev1.PodRunning
	for _, c := range p.mains {
		ready = ready && c.ready
	}
	setCondition(s, corev1.PodInitialized, initialized, "ContainersNotInitialized")
	setCondition(s, corev1.ContainersReady, ready, "ContainersNotReady")
	setCondition(s, corev1.PodReady, ready, "ContainersNotReady")
	setCondition(s, corev1.PodScheduled, true, "")
}

func (p *pod) phase() corev1.PodPhase {
	if p.failed {
		return corev1.PodFailed
	}
	started, finished, good := true, true, true
	for _, c := range p.mains {
		started = started && len(c.logs) > 0
		finished = finished && c.finished
		good = good && c.state.Terminated != nil && c.state.Terminated.ExitCode == 0
	}
	switch {
	case finished && good:
		return corev1.PodSucceeded
	case finished:
		return corev1.PodFailed
	case started:
		return corev1.PodRunning
	}
	return corev1.PodPending
}

func (p *pod) statuses(containers []*container) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for _, c := range containers {
		started := c.started
		status := corev1.ContainerStatus{
			Name: c.spec.Name, Image: c.spec.Image, ImageID: "process://" + c.spec.Image,
			State: *c.state.DeepCopy(), LastTerminationState: *c.last.DeepCopy(),
			RestartCount: c.restarts, Ready: c.ready, Started: &started,
		}
		if len(c.logs) > 0 {
			status.ContainerID = containerID(p, c, int32(len(c.logs)-1))
		}
		if c.state.Waiting != nil && p.waiting != "" && len(c.logs) == 0 {
			status.State.Waiting.Message = p.waiting
		}
		if isInit(p, c) && c.finished && c.state.Terminated != nil && c.state.Terminated.ExitCode == 0 {
			status.Ready = true // a kubelet calls an init container that is done ready
		}
		all = append(all, status)
	}
	return all
}

func isInit(p *pod, c *container) bool {
	for _, other := range p.inits {
		if other == c {
			return true
		}
	}
	return false
}

func containerID(p *pod, c *container, run int32) string {
	return fmt.Sprintf("process://%s/%s/%d", p.object.UID, c.spec.Name, run)
}

// setCondition keeps the time of a condition that does not change.
func setCondition(s *corev1.PodStatus, kind corev1.PodConditionType, holds bool, reason string) {
	condition := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
	if !holds {
		condition.Status, condition.Reason = corev1.ConditionFalse, reason
	}
	for i := range s.Conditions {
		if s.Conditions[i].Type != kind {
			continue
		}
		if s.Conditions[i].Status == condition.Status {
			condition.LastTransitionTime = s.Conditions[i].LastTransitionTime
		}
		s.Conditions[i] = condition
		return
	}
	s.Conditions = append(s.Conditions, condition)
}
