package cli_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
)

// riskyHub answers what the commands about risks ask; older has no list of them.
func riskyHub(older bool) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle(hubv1connect.HubStatusProcedure, connect.NewUnaryHandler(hubv1connect.HubStatusProcedure,
		func(context.Context, *connect.Request[hubv1.HubStatusRequest]) (*connect.Response[hubv1.HubStatus], error) {
			return connect.NewResponse(&hubv1.HubStatus{Version: "0.1.7"}), nil
		}))
	if older {
		return mux
	}
	mux.Handle(hubv1connect.HubAtRiskProcedure, connect.NewUnaryHandler(hubv1connect.HubAtRiskProcedure,
		func(context.Context, *connect.Request[hubv1.AtRiskRequest]) (*connect.Response[hubv1.AtRiskResponse], error) {
			return connect.NewResponse(&hubv1.AtRiskResponse{Total: 3, Risks: []*hubv1.Risk{
				{Kind: "group", Object: "group kubeadm:x", Why: "a colon", Command: "axle groups delete kubeadm:x"},
			}}), nil
		}))
	return mux
}

func TestRisksAreListedBeforeAnUpgrade(t *testing.T) {
	for name, test := range map[string]struct {
		older     bool
		args      string
		code      int
		out, errs string
	}{
		"the list":                   {false, "hub at-risk", 0, "axle groups delete kubeadm:x", "2 more"},
		"before an upgrade":          {false, "upgrade --check", 0, "axle groups delete kubeadm:x", "2 more"},
		"for programs":               {false, "upgrade --check -o json", 0, `"command": "axle groups delete kubeadm:x"`, "2 more"},
		"the count":                  {false, "hub status", 0, "axle hub at-risk", ""},
		"the status of an older hub": {true, "hub status", 0, "0.1.7", ""},
		"an older hub":               {true, "upgrade --check", 1, "", "the hub is 0.1.7, which has no list"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := serve(t, riskyHub(test.older), "never", strings.Fields(test.args)...)
			if (code == 0) != (test.code == 0) || !strings.Contains(out, test.out) || !strings.Contains(errs, test.errs) {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
		})
	}
}
