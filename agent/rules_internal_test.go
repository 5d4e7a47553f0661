package agent

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/agent/kube"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
)

// The kind of the rules is installed between the agent's first request for them and
// its first read of the served APIs: no change of it is ever reported.
func TestRulesWhoseKindComesAtTheStart(t *testing.T) {
	var asked atomic.Int64
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const group = "deployments.plural.sh/v1alpha1"
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/version":
			fmt.Fprint(w, `{"gitVersion":"v1.36.3"}`)
		case "/api":
			fmt.Fprint(w, `{"kind":"APIVersions","versions":[]}`)
		case "/apis":
			fmt.Fprintf(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"deployments.plural.sh","versions":[{"groupVersion":%q,"version":"v1alpha1"}]}]}`, group)
		case "/apis/" + group + "/customhealths":
			if asked.Add(1) == 1 {
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
				return
			}
			fmt.Fprintf(w, `{"kind":"CustomHealthList","apiVersion":%[1]q,"metadata":{"resourceVersion":"1"},"items":[
				{"kind":"CustomHealth","apiVersion":%[1]q,"metadata":{"name":"a","namespace":"ns","uid":"u"},
				"spec":{"group":"example.org","version":"v1","kind":"Thing","script":"return {status = 'Degraded'}"}}]}`, group)
		default:
			fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[{"name":"customhealths","kind":"CustomHealth","namespaced":true,"verbs":["list","watch"]}]}`, group)
		}
	}))
	defer listener.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	conf := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nclusters: [{name: a, cluster: {server: %q}}]\nusers: [{name: a, user: {}}]\n", listener.URL)
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := kube.New(file, clock.Real{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var rules health.Rules
	h := newHealthRules(k, &rules, nil, func() {})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { _ = h.run(ctx) })
	thing := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.org/v1", "kind": "Thing"}}
	eventually.For(t, time.Minute, "the rule is in force", func() error {
		if got := rules.Of(thing); got.Status != health.Degraded {
			return fmt.Errorf("it is %+v", got)
		}
		return nil
	})
}
