package proxy_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestRedirectsStayInTheCluster: a pod that answers through the API server's proxy sends
// the caller on within the cluster's address, and nowhere else with the caller's token.
func TestRedirectsStayInTheCluster(t *testing.T) {
	t.Parallel()
	b := newBed(t, options{})
	path := b.servePod(t, b.kube.Namespace(t), "sender", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	for to, want := range map[string]int{
		"/login": http.StatusTemporaryRedirect, "https://elsewhere.example/": http.StatusForbidden, "http://192.0.2.1:8080/x": http.StatusForbidden,
	} {
		response, body := b.get(adminToken, path+"?to="+to)
		at := response.Header.Get("Location")
		if response.StatusCode != want || (at != "") != (want == http.StatusTemporaryRedirect) || at != "" && !strings.HasPrefix(at, "/k8s/clusters/edge/") {
			t.Errorf("to %s: %s to %q, want %d below the cluster's address: %s", to, response.Status, at, want, body)
		}
	}
}
