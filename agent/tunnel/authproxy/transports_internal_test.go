package authproxy

import (
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/kubereq"
)

func TestTransportsAreChosenByWhatFlows(t *testing.T) {
	w, err := newTransports(&rest.Config{Host: "http://127.0.0.1:1"}, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	for name, c := range map[string]struct {
		method, uri string
		length      int64
		upgrade     bool
		want        http.RoundTripper
	}{
		"a short answer":       {method: "GET", uri: "/api/v1/namespaces/default", want: w.read},
		"no resource":          {method: "GET", uri: "/version", want: w.read},
		"a list":               {method: "GET", uri: "/api/v1/pods", want: w.read},
		"a read with a body":   {method: "GET", uri: "/api/v1/pods", length: 5, want: w.single},
		"a watch":              {method: "GET", uri: "/api/v1/pods?watch=true", want: w.shared},
		"an old watch":         {method: "GET", uri: "/api/v1/watch/pods", want: w.shared},
		"a short write":        {method: "POST", uri: "/api/v1/namespaces/default/pods", length: 2000, want: w.shared},
		"a delete":             {method: "DELETE", uri: "/api/v1/namespaces/default/pods/a", want: w.shared},
		"a long write":         {method: "POST", uri: "/api/v1/namespaces/default/pods", length: 1 << 20, want: w.single},
		"one of unknown size":  {method: "POST", uri: "/api/v1/namespaces/default/pods", length: -1, want: w.single},
		"a pod's own port":     {method: "POST", uri: "/api/v1/namespaces/default/pods/a/proxy/", want: w.single},
		"a command":            {method: "GET", uri: "/api/v1/namespaces/default/pods/a/exec?command=ls", upgrade: true, want: w.upgrade},
		"an upgrade to a port": {method: "GET", uri: "/api/v1/namespaces/default/pods/a/portforward", upgrade: true, want: w.upgrade},
	} {
		t.Run(name, func(t *testing.T) {
			request := &http.Request{Method: c.method, Header: http.Header{}, ContentLength: c.length}
			if c.upgrade {
				request.Header.Set("Upgrade", "websocket")
			}
			if w.choose(request, kubereq.Parse(c.method, c.uri, "")) != c.want {
				t.Error("it went another way")
			}
		})
	}
}
