package observe_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/hub/observe"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/telemetry"
)

const secret = "planted-4711"

// put declares a source after another one.
func put(t *testing.T, o *observe.Observer, before, after observe.Settings, given map[string]string, project string) (bool, error) {
	t.Helper()
	was, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	is, err := json.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	b := objects.Object{}
	if before.Type != "" {
		b = objects.Object{ID: "tel_1", Name: "store", Spec: was, ProjectID: "prj_1"}
	}
	return o.Put(t.Context(), b, objects.Object{ID: "tel_1", Name: "store", Spec: is, ProjectID: project}, []objects.Reference{{Field: "cluster", TargetID: "cls_1", Name: "edge-1"}}, given, false)
}

// A credential goes to the address that it was given for, and to no other.
func TestACredentialFollowsNoChangedAddress(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[]}}`))
	}))
	defer server.Close()
	base := observe.Settings{Type: telemetry.Prometheus, URL: server.URL, Auth: "bearer"}
	basic := base
	basic.Auth, basic.Username = "basic", "ann"
	for name, tc := range map[string]struct {
		first observe.Settings
		field string
		then  func(s *observe.Settings)
		keeps bool
	}{
		"another URL":         {base, "token", func(s *observe.Settings) { s.URL = strings.Replace(s.URL, "127.0.0.1", "localhost", 1) }, false},
		"another path":        {base, "token", func(s *observe.Settings) { s.URL += "/prometheus" }, false},
		"another user":        {basic, "password", func(s *observe.Settings) { s.Username = "eve" }, false},
		"another way":         {basic, "password", func(s *observe.Settings) { s.Auth, s.Username = "bearer", "" }, false},
		"another tenant":      {base, "token", func(s *observe.Settings) { s.Tenant = "shop" }, false},
		"another label":       {base, "token", func(s *observe.Settings) { s.NamespaceLabel = "kubernetes_namespace" }, false},
		"another cluster":     {base, "token", func(s *observe.Settings) { s.ClusterLabel, s.ClusterValue = "cluster", "edge-1" }, false},
		"nothing is changed":  {basic, "password", func(*observe.Settings) {}, true},
		"a Service in a tick": {base, "token", func(s *observe.Settings) { *s = observe.Settings{Type: s.Type, Namespace: "m", Service: "p"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			store := &declared{settings: tc.first}
			o := observer(t, &seen{up: true, namespaces: observe.Namespaces{All: true}}, store)
			if changed, err := put(t, o, observe.Settings{}, tc.first, map[string]string{tc.field: secret}, "prj_1"); err != nil || !changed {
				t.Fatal(changed, err)
			}
			next := tc.first
			tc.then(&next)
			_, err := put(t, o, tc.first, next, nil, "prj_1")
			if next.Service != "" {
				if err != nil || store.sealed != "" {
					t.Fatalf("%q is kept, %v", store.sealed, err)
				}
				return
			}
			if tc.keeps != (err == nil) || err != nil && !errcode.Is(err, errcode.Invalid) || err != nil && strings.Contains(err.Error(), secret) {
				t.Fatalf("%v", err)
			}
			// Even if the settings were changed behind its back.
			store.settings = next
			target, err := o.Resolve(t.Context(), asking(""))
			if err != nil {
				t.Fatal(err)
			}
			got = ""
			_, err = target.Query(t.Context(), observe.MetricQuery{Query: "up"})
			if name != "another path" && name != "another URL" && err != nil {
				t.Fatal(err)
			}
			if sent := got != ""; sent != tc.keeps || sent && !strings.HasPrefix(got, "Basic YW5uOn") {
				t.Errorf("sent %q", got)
			}
		})
	}
}

// A credential of before, which is for an address only, is sent until what is read by it
// changes. What this hub is given has what a hub of before looks for, which has not forgotten
// it when the hub goes back.
func TestACredentialOfBeforeIsForItsLimits(t *testing.T) {
	s := observe.Settings{Type: telemetry.Prometheus, URL: "http://127.0.0.1:9", Auth: "bearer", Tenant: "lab"}
	digest := func(parts ...string) string {
		sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
		return hex.EncodeToString(sum[:])
	}
	address := []string{s.URL, s.CA, s.Auth, s.Username}
	other := s
	other.Tenant = "prod"
	for name, of := range map[string]string{
		"of this hub":         "",
		"of an address":       digest(address...),
		"of both in a digest": digest(append(address, s.Tenant, "", "", "")...),
	} {
		store := &declared{settings: s}
		o := observer(t, &seen{up: true, namespaces: observe.Namespaces{All: true}}, store)
		if _, err := put(t, o, observe.Settings{}, s, map[string]string{"token": secret}, "prj_1"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(store.sealed, `"for":"`+digest(address...)+`"`) {
			t.Errorf("%s: a hub of before does not find %s", name, store.sealed)
		}
		if of != "" {
			store.sealed = regexp.MustCompile(`"for":"[0-9a-f]+"(,"within":"[0-9a-f]+")?`).ReplaceAllString(store.sealed, `"for":"`+of+`"`)
		}
		if _, err := put(t, o, s, s, nil, "prj_1"); err != nil {
			t.Errorf("%s: without a change: %v", name, err)
		}
		if _, err := put(t, o, s, other, nil, "prj_1"); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%s: for another tenant: %v", name, err)
		}
		if _, err := put(t, o, s, other, map[string]string{"token": secret}, "prj_1"); err != nil {
			t.Errorf("%s: for another tenant, given again: %v", name, err)
		}
	}
}

func TestSourcesThatCannotBe(t *testing.T) {
	o := observer(t, &seen{}, &declared{})
	service := observe.Settings{Type: telemetry.Prometheus, Namespace: "monitoring", Service: "prometheus"}
	url := observe.Settings{Type: telemetry.Prometheus, URL: "https://metrics.example.com"}
	with := func(s observe.Settings, f func(s *observe.Settings)) observe.Settings {
		f(&s)
		return s
	}
	for name, s := range map[string]observe.Settings{
		"neither":             {Type: telemetry.Prometheus},
		"both":                with(service, func(s *observe.Settings) { s.URL = url.URL }),
		"no namespace":        with(service, func(s *observe.Settings) { s.Namespace = "" }),
		"a path in the name":  with(service, func(s *observe.Settings) { s.Service = "prometheus/../../secrets" }),
		"a path in the place": with(service, func(s *observe.Settings) { s.Namespace = "monitoring/secrets" }),
		"a port of letters":   with(service, func(s *observe.Settings) { s.Port = "80/x" }),
		"a way back":          with(service, func(s *observe.Settings) { s.PathPrefix = "/../../.." }),
		"an escaped way back": with(service, func(s *observe.Settings) { s.PathPrefix = "/%2e%2e" }),
		"a credential":        with(service, func(s *observe.Settings) { s.Auth = "bearer" }),
		"a port of a URL":     with(url, func(s *observe.Settings) { s.Port = "1" }),
		"a user in the URL":   with(url, func(s *observe.Settings) { s.URL = "https://ann:" + secret + "@metrics.example.com" }),
		"a query":             with(url, func(s *observe.Settings) { s.URL += "?token=" + secret }),
		"a fragment":          with(url, func(s *observe.Settings) { s.URL += "#x" }),
		"plain http":          with(url, func(s *observe.Settings) { s.URL = "http://metrics.example.com" }),
		"a file":              with(url, func(s *observe.Settings) { s.URL = "file:///etc/passwd" }),
		"a line break":        with(url, func(s *observe.Settings) { s.URL += "/\r\nX: y" }),
		"no user name":        with(url, func(s *observe.Settings) { s.Auth = "basic" }),
		"no token":            with(url, func(s *observe.Settings) { s.Auth = "bearer" }),
		"a CA of text":        with(url, func(s *observe.Settings) { s.CA = "hello" }),
		"a tenant of headers": with(url, func(s *observe.Settings) { s.Tenant = "a\r\nX: y" }),
		"a label of PromQL":   with(url, func(s *observe.Settings) { s.NamespaceLabel = `a"} or {b` }),
		"a cluster of PromQL": with(url, func(s *observe.Settings) { s.ClusterLabel, s.ClusterValue = `a"} or {b`, "x" }),
		"no value":            with(url, func(s *observe.Settings) { s.ClusterLabel = "cluster" }),
		"a value alone":       with(url, func(s *observe.Settings) { s.ClusterValue = "edge-1" }),
		"a value of lines":    with(url, func(s *observe.Settings) { s.ClusterLabel, s.ClusterValue = "cluster", "a\nb" }),
		"the name of metrics": with(url, func(s *observe.Settings) { s.ClusterLabel, s.ClusterValue = "__name__", "up" }),
		"both one label":      with(url, func(s *observe.Settings) { s.ClusterLabel, s.ClusterValue = "namespace", "edge-1" }),
	} {
		_, err := put(t, o, observe.Settings{}, s, nil, "prj_1")
		if !errcode.Is(err, errcode.Invalid) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := put(t, o, observe.Settings{}, service, nil, "prj_2"); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "another project") {
		t.Errorf("in another project: %v", err)
	}
	for _, s := range []observe.Settings{service, url, with(url, func(s *observe.Settings) { s.URL += "/prometheus/" }), with(url, func(s *observe.Settings) { s.ClusterLabel, s.ClusterValue = "cluster", "edge.1/β" })} {
		if _, err := put(t, o, observe.Settings{}, s, nil, "prj_1"); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
