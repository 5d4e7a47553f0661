package agent

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/terraform/shape"
)

func text(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }

func fields(all map[string]tftypes.Value) tftypes.Value {
	types := map[string]tftypes.Type{}
	for name, v := range all {
		types[name] = v.Type()
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: types}, all)
}

// TestReach reaches a server in each way, and says what is wrong with the others.
func TestReach(t *testing.T) {
	var bearer string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bearer = r.Header.Get("Authorization")
		_ = json.NewEncoder(w).Encode(map[string]string{"gitVersion": "v1.34.0", "major": "1", "minor": "34"})
	}))
	defer server.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	kubeconfig := `apiVersion: v1
kind: Config
current-context: first
contexts:
- {name: first, context: {cluster: c, user: first}}
- {name: second, context: {cluster: c, user: second}}
clusters:
- {name: c, cluster: {server: "` + server.URL + `", certificate-authority-data: ` + base64.StdEncoding.EncodeToString([]byte(ca)) + `}}
users:
- {name: first, user: {token: of-first}}
- {name: second, user: {token: of-second}}
`
	exec := fields(map[string]tftypes.Value{
		"command": text("sh"), "api_version": tftypes.NewValue(tftypes.String, nil),
		"args": tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, []tftypes.Value{text("-c"), text(`printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"of-%s"}}' "$WHO"`)}),
		"env":  tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, map[string]tftypes.Value{"WHO": text("program")}),
	})
	for name, tc := range map[string]struct {
		config    map[string]tftypes.Value
		want, err string
	}{
		"kubeconfig":          {config: map[string]tftypes.Value{"kubeconfig_wo": text(kubeconfig)}, want: "of-first"},
		"another context":     {config: map[string]tftypes.Value{"kubeconfig_wo": text(kubeconfig), "kubeconfig_context_wo": text("second")}, want: "of-second"},
		"a token":             {config: map[string]tftypes.Value{"cluster_wo": fields(map[string]tftypes.Value{"host": text(server.URL), "cluster_ca_certificate": text(ca), "token": text("given")})}, want: "given"},
		"a program":           {config: map[string]tftypes.Value{"cluster_wo": fields(map[string]tftypes.Value{"host": text(server.URL), "cluster_ca_certificate": text(ca), "exec": exec})}, want: "of-program"},
		"no kubeconfig":       {config: map[string]tftypes.Value{"kubeconfig_wo": text("hello")}, err: "agent.kubeconfig_wo is no kubeconfig"},
		"an unknown context":  {config: map[string]tftypes.Value{"kubeconfig_wo": text(kubeconfig), "kubeconfig_context_wo": text("third")}, err: "context was not found for specified context: third"},
		"no host":             {config: map[string]tftypes.Value{"cluster_wo": fields(map[string]tftypes.Value{"token": text("given")})}, err: "agent.cluster_wo.host is missing"},
		"nothing":             {err: "set kubeconfig_wo, cluster_wo or in_cluster"},
		"in no pod":           {config: map[string]tftypes.Value{"in_cluster": tftypes.NewValue(tftypes.Bool, true)}, err: "agent.in_cluster: unable to load in-cluster configuration"},
		"in_cluster is false": {config: map[string]tftypes.Value{"in_cluster": tftypes.NewValue(tftypes.Bool, false)}, err: "set kubeconfig_wo, cluster_wo or in_cluster"},
		"a missing program":   {config: map[string]tftypes.Value{"cluster_wo": fields(map[string]tftypes.Value{"host": text(server.URL), "cluster_ca_certificate": text(ca), "exec": fields(map[string]tftypes.Value{"command": text("no-such-program")})})}, err: "no-such-program"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			bearer = ""
			_, err := Reach(t.Context(), tc.config)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%v, want %q", err, tc.err)
				}
				if code := errcode.Of(err); code != errcode.Invalid && code != errcode.Unavailable {
					t.Errorf("the code is %s", code)
				}
				if strings.Contains(err.Error(), "of-first") {
					t.Errorf("the error has the kubeconfig: %v", err)
				}
				return
			}
			if err != nil || bearer != "Bearer "+tc.want {
				t.Errorf("it came as %q, %v; want %s", bearer, err, tc.want)
			}
		})
	}
}

func TestDurations(t *testing.T) {
	lasts := shape.Find(settings, "poll_interval").Check()
	for given, want := range map[string][2]bool{"2m": {true, true}, "0s": {false, true}, "-1s": {false, false}, "soon": {false, false}, "": {false, false}} {
		if got := [2]bool{lasts(given) == nil, waits(given) == nil}; got != want {
			t.Errorf("%q: %v, want %v", given, got, want)
		}
	}
}
