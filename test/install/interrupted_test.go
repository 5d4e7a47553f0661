package install_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/cli"
	"github.com/axle-cd/axle/test/kube"
)

// An install that ends after any of its writes goes on when it is run again, to one
// release that is deployed and all its objects.
func TestInterruptedInstallGoesOn(t *testing.T) {
	sideBySide(t)
	cluster := kube.New(t, kube.ClusterConfig{})
	client, err := kubernetes.NewForConfig(cluster.Config())
	must(t, err)
	sound(t, client)
	var left atomic.Int64
	stop := func() {}
	kubeconfig := through(t, cluster, func(r *http.Request) bool {
		write := r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "customresourcedefinitions") && !strings.Contains(r.URL.Path, "selfsubject")
		if write && left.Add(-1) < 0 {
			stop() // as Ctrl-C does
			return false
		}
		return true
	})
	args := []string{"install", "--kubeconfig", kubeconfig, "--url", "https://127.0.0.1:1", "--timeout", "0", "--set", "service.type=LoadBalancer,crds.hook=false"}
	writes := 0
	for ; ; writes++ {
		if writes > 60 {
			t.Fatal("it does not end")
		}
		ctx, cancel := context.WithCancel(t.Context())
		stop = cancel
		left.Store(int64(writes))
		var out bytes.Buffer
		code := cli.Run(ctx, args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
		cancel()
		left.Store(1 << 30)
		if code == 0 {
			break
		}
		if strings.Contains(out.String(), "exists and is not") {
			t.Fatalf("after %d writes: %s", writes, out.String())
		}
	}
	if writes < 20 {
		t.Errorf("only %d writes were interrupted", writes)
	}
	secrets, err := client.CoreV1().Secrets("axle").List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm,status=deployed"})
	if err != nil || len(secrets.Items) != 1 {
		t.Errorf("%d releases are deployed, %v", len(secrets.Items), err)
	}
	all, err := client.CoreV1().Secrets("axle").List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil || len(all.Items) > 10 {
		t.Errorf("%d revisions are kept, %v", len(all.Items), err)
	}
	if _, err := client.AppsV1().StatefulSets("axle").Get(t.Context(), "axle", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// through is a kubeconfig of a cluster behind a proxy that lets a request pass or
// breaks the connection.
func through(t *testing.T, cluster *kube.Cluster, pass func(*http.Request) bool) string {
	t.Helper()
	return behind(t, cluster, pass, func(*http.Request) {})
}

// throughAfter is a kubeconfig of a cluster behind a proxy that calls what follows on
// each answered request, before its answer goes back.
func throughAfter(t *testing.T, cluster *kube.Cluster, answered func(*http.Request)) string {
	t.Helper()
	return behind(t, cluster, func(*http.Request) bool { return true }, answered)
}

func behind(t *testing.T, cluster *kube.Cluster, pass func(*http.Request) bool, answered func(*http.Request)) string {
	t.Helper()
	transport, err := rest.TransportFor(cluster.Config())
	must(t, err)
	target, err := url.Parse(cluster.URL())
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	proxy.ModifyResponse = func(r *http.Response) error {
		answered(r.Request)
		return nil
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !pass(r) {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: \""+server.URL+"\"}}]\ncontexts: [{name: c, context: {cluster: c}}]\n"), 0o600))
	return file
}
