package testrun

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// podsOf are the pods of a test, oldest first.
func podsOf(ctx context.Context, c *client, object *unstructured.Unstructured) ([]corev1.Pod, error) {
	if object.GetKind() == "Pod" {
		raw, err := object.MarshalJSON()
		if err != nil {
			return nil, err
		}
		pods := make([]corev1.Pod, 1)
		return pods, json.Unmarshal(raw, &pods[0])
	}
	pods, err := c.pods(ctx, object.GetNamespace(), object.GetUID())
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return pods, err
}

// verdictOf reports whether a test has ended, and how.
func verdictOf(object *unstructured.Unstructured, pods []corev1.Pod) (v verdict, done bool) {
	if object.GetKind() == "Pod" {
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		message, _, _ := unstructured.NestedString(object.Object, "status", "message")
		switch phase {
		case "Succeeded":
			return verdict{passed: true}, true
		case "Failed":
			return verdict{message: cmp.Or(message, exits(pods), "the pod failed")}, true
		}
		return verdict{}, false
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range conditions {
		c, _ := item.(map[string]any)
		if c["status"] != "True" {
			continue
		}
		switch c["type"] {
		case "Complete":
			return verdict{passed: true}, true
		case "Failed", "FailureTarget":
			// FailureTarget is set first, while pods are still being terminated.
			reason, _ := c["reason"].(string)
			message, _ := c["message"].(string)
			if reason == "BackoffLimitExceeded" {
				return verdict{message: cmp.Or(exits(pods), message, reason)}, true
			}
			return verdict{message: cmp.Or(message, reason, "the Job failed")}, true
		}
	}
	return verdict{}, false
}

func statuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

// exits describes how the last pod's failed container ended.
func exits(pods []corev1.Pod) string {
	for _, pod := range slices.Backward(pods) {
		for _, s := range statuses(&pod) {
			if end := s.State.Terminated; end != nil && end.ExitCode != 0 {
				text := fmt.Sprintf("container %s ended with exit code %d", s.Name, end.ExitCode)
				if message := strings.TrimSpace(end.Message); message != "" && !looksLikeJUnit(message) {
					text += ": " + message
				} else if end.Reason != "" && end.Reason != "Error" {
					text += " (" + end.Reason + ")"
				}
				return text
			}
		}
	}
	return ""
}

// waiting says what keeps a container from starting; empty if nothing does, or only
// something that resolves by itself.
func waiting(pods []corev1.Pod) string {
	for _, pod := range slices.Backward(pods) {
		for _, s := range statuses(&pod) {
			if w := s.State.Waiting; w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
				return fmt.Sprintf("pod %s waits: %s", pod.Name, strings.TrimSuffix(w.Reason+": "+w.Message, ": "))
			}
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return fmt.Sprintf("pod %s waits: %s", pod.Name, strings.TrimSuffix(c.Reason+": "+c.Message, ": "))
			}
		}
	}
	return ""
}

// terminations returns the messages that containers left when they ended.
func terminations(pods []corev1.Pod) []string {
	var all []string
	for _, pod := range pods {
		for _, s := range pod.Status.ContainerStatuses {
			if end := s.State.Terminated; end != nil && end.Message != "" {
				all = append(all, end.Message)
			}
		}
	}
	return all
}

// logs follows the logs of a test's containers, each in a goroutine.
type logs struct {
	client  *client
	tail    *tail
	running sync.WaitGroup
	cancel  []context.CancelFunc
	// states holds the state of each container, by pod uid and name.
	states map[string]*logState
}

// logState is guarded by logs.mu: the goroutine and the checks of the cluster both
// use it.
type logState struct {
	mu   sync.Mutex
	busy bool
	// done: the container had ended when its log was read to the end.
	done bool
	// since is the time of the last line, in the API server's format.
	since string
	// over: the container has ended.
	over bool
}

func newLogs(c *client, t *tail) *logs {
	return &logs{client: c, tail: t, states: map[string]*logState{}}
}

// follow opens the logs of containers that have started and are not being read.
func (l *logs) follow(ctx context.Context, pods []corev1.Pod) {
	for _, pod := range pods {
		for _, s := range statuses(&pod) {
			over := s.State.Terminated != nil
			if s.State.Running == nil && !over {
				continue
			}
			key := string(pod.UID) + "/" + s.Name
			state := l.states[key]
			if state == nil {
				state = &logState{}
				l.states[key] = state
			}
			state.mu.Lock()
			state.over = over
			start := !state.busy && !state.done
			state.busy = state.busy || start
			state.mu.Unlock()
			if !start {
				continue
			}
			ctx, cancel := context.WithCancel(ctx)
			l.cancel = append(l.cancel, cancel)
			namespace, name, container := pod.Namespace, pod.Name, s.Name
			l.running.Go(func() { l.read(ctx, namespace, name, container, state, over) })
		}
	}
}

// read reads a log until it ends or fails. A failed one is opened again at the next
// check, from the last line on.
func (l *logs) read(ctx context.Context, namespace, pod, container string, state *logState, over bool) {
	state.mu.Lock()
	since := state.since
	state.mu.Unlock()
	clean := false
	defer func() {
		state.mu.Lock()
		defer state.mu.Unlock()
		state.busy, state.since = false, since
		// A log that ended while the container still ran is read once more after the
		// container has ended.
		state.done = clean && (over || state.over)
	}()
	body, err := l.client.log(ctx, namespace, pod, container, since)
	if err != nil {
		return
	}
	defer body.Close()
	scanner := bufio.NewScanner(body)
	scanner.Buffer(make([]byte, 0, 16<<10), maxReport)
	for scanner.Scan() {
		stamp, line, _ := strings.Cut(scanner.Text(), " ")
		if since != "" && !later(stamp, since) {
			continue
		}
		since = stamp
		l.tail.add(line)
	}
	clean = scanner.Err() == nil && ctx.Err() == nil
}

// later reports whether a is after b; an invalid time counts as after.
func later(a, b string) bool {
	at, err := time.Parse(time.RFC3339Nano, a)
	before, err2 := time.Parse(time.RFC3339Nano, b)
	return err != nil || err2 != nil || at.After(before)
}

// wait gives open logs some time to end.
func (l *logs) wait(limit time.Duration) {
	done := make(chan struct{})
	go func() {
		l.running.Wait()
		close(done)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// stop ends all goroutines.
func (l *logs) stop() {
	for _, cancel := range l.cancel {
		cancel()
	}
	l.running.Wait()
}
