package kubereq_test

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
)

func TestCheckPath(t *testing.T) {
	good := []string{
		"/", "/version", "/api/v1/pods?limit=500&continue=a%2Fb%00", "/api/v1/namespaces/a/pods/b/log?follow=true",
		"/api/v1/namespaces/a/services/http:web:80/proxy/", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
		"/api/v1/namespaces/a/services/web/proxy/one%20two", "/a..b/.well-known/...",
	}
	for _, uri := range good {
		if err := kubereq.CheckPath(uri); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
	bad := []string{
		"", "*", "api/v1", "http://other/api", "//api", "/api//v1", "/api/./v1", "/api/../v1", "/api/v1/..", "/%2e%2e/x", "/.%2E/x", "/x/%2e",
		"/api%2Fv1", "/api%2fv1", "/a%5Cb", `/a\b`, "/a%00", "/a\x00", "/a\r\nX: y", "/a b", "/a%0d%0ab", "/a#b", "/a%zz", "/a%",
		"/%252e%252e/x", "/a%252Fb", "/é", "/a\x7f", "/" + strings.Repeat("a", 1<<20),
	}
	for _, uri := range bad {
		if err := kubereq.CheckPath(uri); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%.60q was let through: %v", uri, err)
		}
	}
}

func TestParse(t *testing.T) {
	tests := map[string]kubereq.Info{
		"GET /version":                             {Verb: "get", Path: "/version"},
		"HEAD /healthz":                            {Verb: "get", Path: "/healthz"},
		"GET /api/v1":                              {Verb: "get", Path: "/api/v1"},
		"GET /apis/apps/v1":                        {Verb: "get", Path: "/apis/apps/v1"},
		"GET /api/v1/pods?limit=5":                 {Verb: "list", Resource: "pods", Version: "v1", Path: "/api/v1/pods"},
		"GET /api/v1/namespaces/a/pods?watch=true": {Verb: "watch", Resource: "pods", Version: "v1", Namespace: "a", Path: "/api/v1/namespaces/a/pods"},
		"GET /api/v1/watch/namespaces/a/pods/b":    {Verb: "watch", Resource: "pods", Version: "v1", Namespace: "a", Name: "b", Path: "/api/v1/watch/namespaces/a/pods/b"},
		"GET /api/v1/pods?watch=false":             {Verb: "list", Resource: "pods", Version: "v1", Path: "/api/v1/pods"},
		"GET /api/v1/namespaces/a":                 {Verb: "get", Resource: "namespaces", Version: "v1", Namespace: "a", Name: "a", Path: "/api/v1/namespaces/a"},
		"PUT /api/v1/namespaces/a/finalize":        {Verb: "update", Resource: "namespaces", Subresource: "finalize", Version: "v1", Namespace: "a", Name: "a", Path: "/api/v1/namespaces/a/finalize"},
		"GET /api/v1/namespaces/a/pods/b/exec":     {Verb: "get", Resource: "pods", Subresource: "exec", Version: "v1", Namespace: "a", Name: "b", Path: "/api/v1/namespaces/a/pods/b/exec"},
		"GET /api/v1/namespaces/a/services/w/proxy/x/y": {Verb: "get", Resource: "services", Subresource: "proxy", Version: "v1", Namespace: "a", Name: "w",
			Path: "/api/v1/namespaces/a/services/w/proxy/x/y"},
		"PATCH /apis/apps/v1/namespaces/a/deployments/b/scale": {Verb: "patch", Resource: "deployments", Subresource: "scale", Group: "apps", Version: "v1", Namespace: "a", Name: "b",
			Path: "/apis/apps/v1/namespaces/a/deployments/b/scale"},
		"DELETE /api/v1/namespaces/a/secrets":   {Verb: "deletecollection", Resource: "secrets", Version: "v1", Namespace: "a", Path: "/api/v1/namespaces/a/secrets"},
		"DELETE /api/v1/namespaces/a/secrets/b": {Verb: "delete", Resource: "secrets", Version: "v1", Namespace: "a", Name: "b", Path: "/api/v1/namespaces/a/secrets/b"},
		"POST /api/v1/namespaces":               {Verb: "create", Resource: "namespaces", Version: "v1", Path: "/api/v1/namespaces"},
		"GET /apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode": {Verb: "get", Resource: "clusterroles", Group: "rbac.authorization.k8s.io", Version: "v1", Name: "system:node",
			Path: "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode"},
	}
	for line, want := range tests {
		method, uri, _ := strings.Cut(line, " ")
		if diff := cmp.Diff(want, kubereq.Parse(method, uri, "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

func TestReads(t *testing.T) {
	tests := map[string]bool{
		"GET /version": true, "GET /api/v1/pods": true, "GET /api/v1/pods?watch=1": true, "GET /api/v1/namespaces/a/pods/b/log": true,
		"GET /api/v1/namespaces/a/pods/b/exec?command=sh": false, "GET /api/v1/namespaces/a/pods/b/attach": false,
		"GET /api/v1/namespaces/a/pods/b/portforward": false, "GET /api/v1/nodes/n/proxy/run": false, "GET /api/v1/namespaces/a/services/s/proxy": false,
		"POST /api/v1/namespaces": false, "POST /version": false, "OPTIONS /api/v1/pods": false, "DELETE /api/v1/namespaces/a/pods": false,
		"GET /api/v1/proxy/namespaces/a/pods/b": false, "POST /api/v1/watch/pods": false,
	}
	for line, want := range tests {
		method, uri, _ := strings.Cut(line, " ")
		if got := kubereq.Parse(method, uri, "").Reads(); got != want {
			t.Errorf("%s: reads is %v, want %v", line, got, want)
		}
		for _, protocol := range []string{kubereq.WebSocket, kubereq.SPDY} {
			follows := strings.HasSuffix(uri, "?watch=1") || strings.HasSuffix(uri, "/log")
			if got := kubereq.Parse(method, uri, protocol).Reads(); got != (want && follows) {
				t.Errorf("%s over %s: reads is %v, want %v", line, protocol, got, want && follows)
			}
		}
	}
}

// An upgraded connection reads only where the API server itself goes on answering.
func TestUpgradesConnect(t *testing.T) {
	const vm = "GET /apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/vm/"
	tests := map[string]string{
		"GET /api/v1/pods?watch=1": "watch", "GET /api/v1/watch/namespaces/a/pods": "watch", "GET /apis/example.com/v1/things?watch=true": "watch",
		"GET /api/v1/namespaces/a/pods?watch=true&fieldSelector=metadata.name%3Db": "watch", "GET /api/v1/namespaces/a/pods/b/log?follow=true": "get",
		"GET /api/v1/namespaces/a/pods/b/exec": "exec", "POST /api/v1/namespaces/a/pods/b/attach": "attach", "GET /api/v1/namespaces/a/pods/b/portforward": "portforward",
		"GET /api/v1/namespaces/a/services/s/proxy/ws": "proxy", vm + "portforward/22": "portforward",
		vm + "console": "connect", vm + "vnc": "connect", vm + "usbredir": "connect", vm + "vsock?port=1": "connect", vm + "console?watch=true": "connect", vm + "log": "connect",
		"GET /apis/subresources.kubevirt.io/v1/watch/namespaces/a/virtualmachineinstances/vm/console": "connect",
		"GET /apis/metrics.example.com/v1/pods/b/log":                                                 "connect", "GET /api/v1/namespaces/a/services/b/log": "connect", "GET /api/v1/namespaces/a/pods/b/status": "connect",
		"GET /api/v1/pods": "connect", "GET /api/v1/pods?watch=false": "connect", "GET /api/v1/namespaces/a/pods/b": "connect", "GET /version": "connect", "GET /debug/pprof": "connect",
		"POST /api/v1/namespaces/a/pods?watch=1": "connect", "POST /api/v1/namespaces/a/pods/b/log": "connect",
	}
	for line, want := range tests {
		method, uri, _ := strings.Cut(line, " ")
		info := kubereq.Parse(method, uri, kubereq.WebSocket)
		if got := info.Action(); got != want {
			t.Errorf("%s over a WebSocket is %s, want %s", line, got, want)
		}
		if reads := want == "watch" || want == "get"; info.Reads() != reads || info.Connects() == reads {
			t.Errorf("%s over a WebSocket reads: %v, connects: %v", line, info.Reads(), info.Connects())
		}
	}
}

// FuzzPaths holds a path that is let through against what readers make of it.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{"/api/v1/pods", "/a/../b", "/%2e%2e/", "//", "/api/v1/namespaces/a/pods/b/exec?x=%2F", "/%25%32%65"} {
		f.Add("GET", s)
	}
	f.Fuzz(func(t *testing.T, method, uri string) {
		if kubereq.CheckPath(uri) != nil {
			return
		}
		checkMeaning(t, uri)
		info := kubereq.Parse(method, uri, "")
		if info.Reads() && info.Verb == "" {
			t.Errorf("%q %q reads by no verb", method, uri)
		}
		if action := info.Action(); info.IsResource() && action != "" && !slices.Contains(kubereq.Actions(), action) {
			t.Errorf("%q %q is %s, which is none of the actions", method, uri, action)
		}
	})
}

// checkMeaning fails when another reader of URLs would take another path.
func checkMeaning(t *testing.T, uri string) {
	t.Helper()
	u, err := url.ParseRequestURI(uri)
	if err != nil {
		t.Fatalf("%q was let through and cannot be parsed: %v", uri, err)
	}
	if u.Host != "" || u.Scheme != "" {
		t.Errorf("%q was let through and names host %q", uri, u.Host)
	}
	for reading := range 3 {
		clean := path.Clean(u.Path)
		if strings.HasSuffix(u.Path, "/") && clean != "/" {
			clean += "/"
		}
		if clean != u.Path {
			t.Errorf("%q was let through and cleans to %q after %d readings", uri, clean, reading+1)
		}
		again, err := url.PathUnescape(u.Path)
		if err != nil || again == u.Path {
			return
		}
		u.Path = again
	}
}

func TestNamesThatClustersHaveThemselves(t *testing.T) {
	for _, name := range []string{
		"system:masters", "SYSTEM:x", " system:x", "kubeadm:cluster-admins", "Kubeadm :x", "eks:node-manager", "gke-security:x", "aks:x", "aws:x", "gcp:x", "azure:x", "k8s:x", "kubernetes:x",
	} {
		if !kubereq.Reserved(name) {
			t.Errorf("%q is nobody's", name)
		}
		for _, err := range []error{kubereq.CheckIdentity(name, nil), kubereq.CheckIdentity("ann", []string{"dev", name})} {
			if !errcode.Is(err, errcode.Invalid) {
				t.Errorf("%q is impersonated: %v", name, err)
			}
		}
	}
	for _, name := range []string{"ann@example.com", "dev", "axle:admins", "oidc:dev", "systems:x", "eksperts", "system", "gke"} {
		if err := kubereq.CheckIdentity(name, []string{name}); err != nil || kubereq.Reserved(name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
