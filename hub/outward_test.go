package hub_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestHubReachesOthersThroughItsProxy has a proxy that alone knows the names of the world. A
// hub whose environment names it reads a login provider and delivers a notification through it.
func TestHubReachesOthersThroughItsProxy(t *testing.T) {
	proxy, err := gitserver.StartProxy(t.Context(), "http", "axle", "of the proxy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
		t.Setenv(name, strings.Replace(proxy.URL(), "://", "://axle:of%20the%20proxy@", 1))
		t.Setenv(strings.ToLower(name), "")
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		t.Setenv(name, "")
	}
	at := func(s *httptest.Server, host string) string {
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		proxy.Name(host, u.Hostname())
		return host + ":" + u.Port()
	}
	var issuer string
	provider := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"issuer": %[1]q, "authorization_endpoint": "%[1]s/authorize", "token_endpoint": "%[1]s/token", "jwks_uri": "%[1]s/keys", "id_token_signing_alg_values_supported": ["RS256"]}`, issuer)
	}))
	t.Cleanup(provider.Close)
	got := make(chan string, 1)
	destination := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Method + " " + r.URL.Path }))
	t.Cleanup(destination.Close)
	login, hooks := at(provider, "example.com"), at(destination, "hooks.example.test") // the certificate is for example.com
	issuer = "https://" + login

	b := &refusalBed{t: t, Hub: hubtest.New(t, hubtest.Config{Hub: hub.Config{AllowHTTPUpstreams: true}})}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: provider.Certificate().Raw})
	b.admin("Providers/Try", fmt.Sprintf(`{"provider": {"name": "idp", "issuer": %q, "clientId": "axle", "caPem": %q}, "clientSecret": "hush"}`, issuer, ca))
	b.admin("NotificationSinks/Apply", fmt.Sprintf(`{"name": "alerts", "settings": {"type": "WEBHOOK"}, "url": "http://%s/in", "unsigned": true}`, hooks))
	if answer := b.admin("NotificationSinks/Test", `{"name": "alerts"}`); !strings.HasPrefix(fmt.Sprint(answer["answer"]), "200") {
		t.Errorf("the destination answered %v", answer)
	}
	if want := "POST /in"; len(got) != 1 || <-got != want {
		t.Errorf("the destination did not get one %s", want)
	}
	for _, want := range []string{login, hooks} {
		if !slices.Contains(proxy.Log(), want) {
			t.Errorf("the proxy was asked for %q, not for %s", proxy.Log(), want)
		}
	}
}
