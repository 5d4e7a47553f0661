package install

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/kubeapply"
)

// After an upgrade that was repaired, the pod of the refused one is there until its kubelet
// let it go. It says what it said, and does not end the wait.
func TestOnlyAPodThatStaysEndsTheWait(t *testing.T) {
	const pod = `{"metadata": {"name": "axle-operator-1"}, "spec": {"restartPolicy": "Always"}, "status": {"phase": "Pending", "containerStatuses": [
		{"name": "operator", "state": {"waiting": {"reason": "ErrImagePull", "message": "nobody has it"}}}]}}`
	for name, c := range map[string]struct{ pod, hopeless string }{
		"stays":      {pod, "pod axle-operator-1: ErrImagePull: nobody has it"},
		"is deleted": {strings.Replace(pod, `"metadata": {`, `"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", `, 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"apiVersion": "v1", "kind": "PodList", "items": [`+c.pod+`]}`)
			}))
			defer server.Close()
			client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			i := waiter{place: place{release: "axle", namespace: "axle", cluster: &kubeapply.Applier{Client: client}}}
			words, hopeless, err := i.words(t.Context())
			if err != nil || len(words) != 1 || hopeless != c.hopeless {
				t.Errorf("words %q, hopeless %q, %v", words, hopeless, err)
			}
		})
	}
}

// The status of a workload that its controller has not looked at says nothing of the new revision: neither do its pods.
func TestPodsOfBeforeEndNoWait(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   bool
	}{
		"looked at":     {http.StatusOK, `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "axle", "generation": 2}, "status": {"observedGeneration": 2}}`, true},
		"not looked at": {http.StatusOK, `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "axle", "generation": 2}, "status": {"observedGeneration": 1}}`, false},
		"gone":          {http.StatusNotFound, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch r.URL.Path {
				case "/version":
					_, _ = io.WriteString(w, `{"major": "1", "minor": "36"}`)
				case "/api":
					_, _ = io.WriteString(w, `{"kind": "APIVersions", "versions": []}`)
				case "/apis":
					_, _ = io.WriteString(w, `{"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "apps", "versions": [{"groupVersion": "apps/v1", "version": "v1"}], "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"}}]}`)
				case "/apis/apps/v1":
					_, _ = io.WriteString(w, `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment", "namespaced": true, "verbs": ["get"]}]}`)
				default:
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.body)
				}
			}))
			defer server.Close()
			cluster, err := kubeapply.New(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "axle", "namespace": "axle"}}}
			waits, observed, err := waiter{place: place{cluster: cluster}}.waitsFor(t.Context(), []*unstructured.Unstructured{object})
			if err != nil || len(waits) != 1 || observed != c.want {
				t.Errorf("waits %q, observed %t, %v", waits, observed, err)
			}
		})
	}
}
