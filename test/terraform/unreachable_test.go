package terraform_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"k8s.io/client-go/rest"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/kube"
)

// TestClusterUnreachable installs an agent in a cluster that does not answer, and then in
// one that is lost in the middle.
func TestClusterUnreachable(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{DevCA: true, TerraformProviders: providerFolder(t)}})
	r := start(t, h, mirrorOf(h))
	c := kube.New(t, kube.ClusterConfig{Controllers: true})
	transport, err := rest.TransportFor(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	var lost atomic.Bool
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lost.Load() && r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/secrets/") {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	config := func(limit string) string {
		return fmt.Sprintf("terraform {\n  required_providers {\n    axle = {\n      source = \"axle-cd/axle\"\n    }\n  }\n}\nresource \"axle_cluster\" \"edge\" {\n  name  = \"edge\"\n  agent = { cluster_wo = { host = %q }, wait = \"1m\" }\n  timeouts {\n    create = %q\n  }\n}\n", front.URL, limit)
	}
	people, err := sdk.New(sdk.Config{URL: h.URL, Token: h.AdminToken, CAPEM: pem(t, h)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(people.Close)
	clusters := func(want int) {
		t.Helper()
		have, err := people.Clusters.List(t.Context(), connect.NewRequest(&hubv1.ListClustersRequest{}))
		if err != nil || len(have.Msg.GetClusters()) != want {
			t.Errorf("the hub has %v, want %d; %v", have.Msg.GetClusters(), want, err)
		}
	}

	// It takes connections and answers nothing: the timeouts block ends that, and nothing
	// is left at the hub.
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	r.write("main.tf", config("5s"))
	r.terraform("init", "-no-color")
	began := time.Now()
	r.fails("Cannot create cluster edge", "the cluster at "+front.URL+" does not answer")
	if took := time.Since(began); took > limit/2 {
		t.Errorf("it took %s with a limit of 5s", took)
	}
	clusters(0)
	if out := r.terraform("state", "list"); out != "" {
		t.Errorf("the state has %s", out)
	}
	c.Resume()

	// It is lost after some of the objects. The cluster is in the state.
	lost.Store(true)
	r.write("main.tf", config("1m"))
	r.fails("Cannot install the agent of cluster edge", "apply secret/axle-agent-bootstrap", "terraform untaint ADDRESS")
	clusters(1)
	if out := r.terraform("state", "list"); out != "axle_cluster.edge\n" {
		t.Errorf("the state has %s", out)
	}

	// The next apply makes it anew, and loses it again.
	r.fails("Cannot install the agent of cluster edge", "apply secret/axle-agent-bootstrap")
	clusters(1)

	// The one after that ends well, with the cluster that is there.
	r.terraform("untaint", "axle_cluster.edge")
	lost.Store(false)
	go runAgent(t, h, c)
	if out := r.terraform("apply", "-auto-approve", "-no-color"); !strings.Contains(out, "0 added, 1 changed, 0 destroyed") {
		t.Errorf("the cluster is not kept:\n%s", out)
	}
	clusters(1)
	if out := r.terraform("plan", "-no-color", "-detailed-exitcode"); !strings.Contains(out, "No changes") {
		t.Errorf("the plan is %s", out)
	}
	if out := r.terraform("destroy", "-auto-approve", "-no-color"); strings.Contains(out, "may still be in the cluster") {
		t.Errorf("the agent was not removed:\n%s", out)
	}
	clusters(0)
	nothing(t, "edge", c)
}
