package install

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
