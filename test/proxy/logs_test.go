package proxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
)

// TestLogsOfAWorkload reads the logs of a Deployment's pods, through the hub and the agent,
// as a person does: merged, searched, harmless, and with a pod that starts later.
func TestLogsOfAWorkload(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	b := newBed(t, options{})
	namespace := b.kube.Namespace(t)
	letRead(t, b.kube, namespace)
	none := int32(0)
	_, err := b.direct().AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "talk"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &none, Paused: true,
			Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"talk-a", "talk-b", "talk-c", "t"}}}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "t"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "axle.test/sh:1"}}},
			},
		},
	}, metav1.CreateOptions{})
	b.must(nil, err)
	b.pod(namespace, "talk-a", `for i in 1 2 3 4 5; do echo a-$i; done; printf '\033[31mred\033[0m \377 end\n'; exec sleep 3600`)
	b.pod(namespace, "talk-b", `for i in 1 2 3 4 5; do echo b-$i; done; exec sleep 3600`)
	of := "edge/" + namespace + "/Deployment/talk"
	logs := func(args ...string) string {
		out, errs, err := w.command(w.axle, append([]string{"logs", of}, args...)...)
		if err != nil {
			t.Fatalf("axle logs %q: %v %s", args, err, errs)
		}
		return out
	}
	eventually.For(t, limit, "the lines of both pods", func() error {
		if out := logs(); strings.Count(out, "\n") != 11 {
			return fmt.Errorf("printed\n%s", out)
		}
		return nil
	})
	if out := logs("--grep", "red"); !strings.HasSuffix(out, "| red \ufffd end\n") {
		t.Errorf("%q is not harmless", out)
	}
	if out, want := logs("--grep", "a-3", "-C", "1"), "talk-a main - a-2\ntalk-a main | a-3\ntalk-a main - a-4\n"; out != want {
		t.Errorf("around: %q, want %q", out, want)
	}
	if out, want := logs("--pod", "talk-b", "--tail", "2"), "b-4\nb-5\n"; out != want {
		t.Errorf("one pod: %q, want %q", out, want)
	}
	last := ""
	for line := range strings.Lines(logs("-o", "json")) {
		var is struct{ Time, Namespace, Pod, Container, Text string }
		if err := json.Unmarshal([]byte(line), &is); err != nil || is.Time < last || is.Namespace != namespace || is.Container != "main" {
			t.Errorf("%v after %s: %s", err, last, line)
		}
		last = is.Time
	}
	if _, errs, err := w.command(w.axle, "logs", of, "--container", "none"); err == nil || !strings.Contains(errs, "the containers are: main") {
		t.Errorf("no such container: %v %s", err, errs)
	}
	if _, errs, err := w.command(w.axle, "logs", of, "--previous"); err != nil || !strings.Contains(errs, "previous terminated container") {
		t.Errorf("no previous run: %v %s", err, errs)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := w.with(w.token("read")).ClusterAPI.SearchLogs(ctx, connect.NewRequest(&hubv1.SearchLogsRequest{Cluster: "edge", Namespace: namespace, Kind: "deploy", Name: "talk", Follow: true, TailLines: 1}))
	b.must(nil, err)
	var text strings.Builder
	until := func(want string) {
		t.Helper()
		for !strings.Contains(text.String(), want) {
			if !stream.Receive() {
				t.Fatalf("%v after %q, want %q", stream.Err(), text.String(), want)
			}
			for _, l := range stream.Msg().GetLines() {
				fmt.Fprintf(&text, "%s %s\n", l.GetPod(), l.GetText())
			}
		}
	}
	until("talk-b b-5\n")
	b.pod(namespace, "talk-c", `echo c-1; read line; echo c-2; exec sleep 3600`)
	until("talk-c c-1\n")
	if strings.Contains(text.String(), "b-4") || strings.Count(text.String(), "b-5") != 1 {
		t.Errorf("followed %q", text.String())
	}
}
