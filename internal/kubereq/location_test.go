package kubereq_test

import (
	"net/url"
	"testing"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
)

// A location is a path of the API server itself, or none.
func TestLocation(t *testing.T) {
	const asked = "/api/v1/namespaces/a/services/b/proxy?x=y"
	base := &url.URL{Scheme: "https", Host: "10.0.0.1:443"}
	for location, want := range map[string]string{
		"/api/v1/namespaces/a/services/b/proxy/": "/api/v1/namespaces/a/services/b/proxy/", "/x?next=%2Fy%2Fz": "/x?next=%2Fy%2Fz", "/": "/",
		"https://10.0.0.1:443/x": "/x", "https://10.0.0.1/x?y": "/x?y", "//10.0.0.1/x": "/x", "HTTPS://10.0.0.1/x": "/x", "https://ann:pw@10.0.0.1/x": "/x",
		"https://10.0.0.1": "/api/v1/namespaces/a/services/b/proxy",
		"login":            "/api/v1/namespaces/a/services/b/login", "?page=2": "/api/v1/namespaces/a/services/b/proxy?page=2", "": "/api/v1/namespaces/a/services/b/proxy",
	} {
		if got, err := kubereq.Location(base, asked, location); err != nil || got != want {
			t.Errorf("%q leads to %q, %v, want %q", location, got, err, want)
		}
	}
	for _, location := range []string{
		"https://evil.example/x", "http://evil.example", "//evil.example/x", "///evil.example/x", `/\evil.example/x`, `\\evil.example`, "https:evil.example", "https:///evil.example",
		"https://10.0.0.1:8443/x", "https://10.0.0.1.evil.example/x", "https://10.0.0.1@evil.example/x", "http://10.0.0.1/x", "https://10.0.0.1//evil.example/x", "https://10.0.0.1/%2fevil.example",
		"/../other/api", "/..%2fother", "/%2e%2e/other/api", "../../../../../../k8s/clusters/other/api", "/a/./b", "..", "javascript:alert(1)", "mailto:a@evil.example", "data:,x",
		"/a\nb", "\t//evil.example", " https://evil.example", "http://[::1", "%zz", "https://K8S.evil.example:443",
	} {
		for name, base := range map[string]*url.URL{"the agent": base, "the hub": nil} {
			if got, err := kubereq.Location(base, asked, location); !errcode.Is(err, errcode.Forbidden) {
				t.Errorf("%s passes on %q as %q, %v", name, location, got, err)
			}
		}
	}
	for _, location := range []string{"https://10.0.0.1/x", "//10.0.0.1/x"} {
		if got, err := kubereq.Location(nil, asked, location); err == nil {
			t.Errorf("the hub, which does not know the API server, passes on %q as %q", location, got)
		}
	}
}
