package proxy_test

import (
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/sdk"
)

// TestClustersOnTheirOwnOrigin runs a hub with --k8s-origin: clusters' answers come
// only from that origin, and nothing else does, so that a page of a pod can never act
// as one of the hub's.
func TestClustersOnTheirOwnOrigin(t *testing.T) {
	t.Parallel()
	const own = "k8s.example.test"
	h := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{K8sOrigin: "https://" + own}})
	client, err := sdk.New(sdk.Config{URL: h.URL, Token: h.AdminToken})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "edge"})); err != nil {
		t.Fatal(err)
	}
	made, err := client.ClusterAPI.CreateCredential(t.Context(), connect.NewRequest(&hubv1.CreateClusterCredentialRequest{Cluster: "edge"}))
	if err != nil {
		t.Fatal(err)
	}
	if want := "https://" + own + "/k8s/clusters/edge"; made.Msg.GetServer() != want {
		t.Errorf("kubeconfigs lead to %s, want %s", made.Msg.GetServer(), want)
	}
	hub := strings.TrimPrefix(h.URL, "http://")
	const version = "/k8s/clusters/edge/version"
	bearer := http.Header{"Authorization": {"Bearer " + h.AdminToken}}
	ofCluster := http.Header{"Authorization": {"Bearer " + made.Msg.GetToken()}}
	upgrade := func(origin string) http.Header {
		return http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}, "Origin": {origin}}
	}
	for name, test := range map[string]struct {
		host, path string
		header     http.Header
		want       int
		says       string
	}{
		"a cluster on its origin":             {own, version, bearer, 503, "cluster edge has no tunnel"},
		"in capitals":                         {strings.ToUpper(own), version, bearer, 503, "cluster edge has no tunnel"},
		"a cluster on the hub's":              {hub, version, bearer, 404, "clusters are only served on https://" + own},
		"a cookie there":                      {own, version, http.Header{"Cookie": {"axle_session=" + h.AdminToken}}, 401, "no token was sent"},
		"nobody there":                        {own, version, nil, 401, "no token was sent"},
		"the hub's page there":                {own, "/", bearer, 404, "this path does not exist"},
		"its login there":                     {own, "/login", nil, 404, "this path does not exist"},
		"its API there":                       {own, "/axle.hub.v1.Clusters/List", bearer, 404, "this path does not exist"},
		"the agents' there":                   {own, "/agent/v1/desired", nil, 404, "this path does not exist"},
		"readiness there":                     {own, "/readyz", nil, 200, ""},
		"readiness of a cluster":              {own, "/readyz", ofCluster, 503, "cluster edge has no tunnel"},
		"liveness of a cluster":               {own, "/livez", ofCluster, 503, "cluster edge has no tunnel"},
		"another name's":                      {"other.example.test", version, bearer, 404, "clusters are only served on"},
		"a ticket of the hub's page":          {hub, "/ws/proxy?ticket=x", upgrade(h.URL), 401, "ticket"},
		"a ticket by a page of that origin":   {hub, "/ws/proxy?ticket=x", upgrade("https://" + own), 403, "may not open this"},
		"a ticket by the hub's page at there": {own, "/ws/proxy?ticket=x", upgrade(h.URL), 403, "may not open this"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = test.host
		for key, values := range test.header {
			r.Header[key] = values
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text := readAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != test.want || !strings.Contains(text, test.says) {
			t.Errorf("%s: %s %s, want %d and %q", name, answer.Status, text, test.want, test.says)
		}
		if test.host == own && test.path != "/readyz" && answer.Header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" || answer.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: headers %v", name, answer.Header)
		}
	}
}

// TestProbesOfAClusterWithoutATunnelFail holds that the hub, which is ready and alive, does not
// answer for a cluster that cannot be asked, as kubectl get --raw leaves out the cluster's path.
func TestProbesOfAClusterWithoutATunnelFail(t *testing.T) {
	t.Parallel()
	h := hubtest.New(t, hubtest.Config{})
	client, err := sdk.New(sdk.Config{URL: h.URL, Token: h.AdminToken})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "edge"})); err != nil {
		t.Fatal(err)
	}
	made, err := client.ClusterAPI.CreateCredential(t.Context(), connect.NewRequest(&hubv1.CreateClusterCredentialRequest{Cluster: "edge"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/readyz", "/readyz?verbose", "/livez", "/healthz", "/version"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+made.Msg.GetToken())
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text := readAll(answer.Body)
		if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "cluster edge has no tunnel") {
			t.Errorf("%s: %s %s, %v", path, answer.Status, text, err)
		}
	}
}
