package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli"
)

// accessHub records its requests; a double for command lines only.
type accessHub struct {
	hubv1connect.UnimplementedBindingsHandler
	hubv1connect.UnimplementedAccessHandler
	asked  []byte
	answer *hubv1.CanIResponse
}

func (h *accessHub) Create(_ context.Context, r *connect.Request[hubv1.CreateBindingRequest]) (_ *connect.Response[hubv1.ListBindingsResponse], err error) {
	h.asked, err = protojson.Marshal(r.Msg)
	return connect.NewResponse(&hubv1.ListBindingsResponse{}), err
}

func (h *accessHub) CanI(_ context.Context, r *connect.Request[hubv1.CanIRequest]) (_ *connect.Response[hubv1.CanIResponse], err error) {
	h.asked, err = protojson.Marshal(r.Msg)
	return connect.NewResponse(h.answer), err
}

func (h *accessHub) run(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(hubv1connect.NewBindingsHandler(h))
	mux.Handle(hubv1connect.NewAccessHandler(h))
	server := httptest.NewServer(mux)
	defer server.Close()
	t.Setenv("AXLE_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	t.Setenv("AXLE_HUB_URL", server.URL)
	t.Setenv("AXLE_TOKEN", "token")
	var stdout, stderr bytes.Buffer
	code = cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

func TestBindSaysWhoWhatAndWhere(t *testing.T) {
	tests := map[string]struct {
		args string
		code int
		want string
	}{
		"project":        {"--user ann@example.com --action read,git --project shop", 0, `{"subjectKind":"user","subject":"ann@example.com","actions":["read","git"],"place":{"project":"shop"},"management":{"by":{"tool":"cli"}}}`},
		"service":        {"--group web --action write --service edge-1/web", 0, `{"subjectKind":"group","subject":"web","actions":["write"],"place":{"cluster":"edge-1","service":"web"},"management":{"by":{"tool":"cli"}}}`},
		"service apart":  {"--group web --action write --cluster edge-1 --service web", 0, `{"subjectKind":"group","subject":"web","actions":["write"],"place":{"cluster":"edge-1","service":"web"},"management":{"by":{"tool":"cli"}}}`},
		"everything":     {"--service-account ci --action create --global", 0, `{"subjectKind":"service_account","subject":"ci","actions":["create"],"place":{},"management":{"by":{"tool":"cli"}}}`},
		"nowhere":        {"--user ann@example.com --action read", 2, "name a place"},
		"nobody":         {"--action read --global", 2, "name a subject"},
		"two subjects":   {"--user a --group b --action read --global", 2, "one of"},
		"nothing":        {"--user ann@example.com --global", 2, "name an action"},
		"two places":     {"--user a --action read --project shop --cluster edge-1", 2, "only one of --project, --cluster and --service"},
		"and everything": {"--user a --action read --project shop --global", 2, "--global covers everything"},
		"half a service": {"--user a --action read --service web", 2, "CLUSTER/web"},
		"two clusters":   {"--user a --action read --cluster edge-2 --service edge-1/web", 2, "is not on"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := &accessHub{}
			code, _, errs := h.run(t, append([]string{"auth", "bind"}, strings.Fields(tc.args)...)...)
			if code != tc.code {
				t.Fatalf("exit %d: %s", code, errs)
			}
			if code != 0 {
				if !strings.Contains(errs, tc.want) || h.asked != nil {
					t.Errorf("%s, asked %s", errs, h.asked)
				}
				return
			}
			var got, want any
			if json.Unmarshal(h.asked, &got) != nil || json.Unmarshal([]byte(tc.want), &want) != nil {
				t.Fatalf("asked %s", h.asked)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCanIExitsByTheAnswer(t *testing.T) {
	yes := &accessHub{answer: &hubv1.CanIResponse{Allowed: true, Reason: "binding b gives it", Binding: &hubv1.Binding{Id: "b", Action: "write", Level: "hub"}}}
	code, out, errs := yes.run(t, "auth", "can-i", "read", "--cluster", "edge-1", "--as", "ann@example.com")
	if code != 0 || out != "yes: binding b gives it\n" {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	no := &accessHub{answer: &hubv1.CanIResponse{Reason: "no role binding gives it"}}
	if code, out, errs = no.run(t, "auth", "can-i", "read"); code != 1 || out != "no\n" || !strings.Contains(errs, "no role binding") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	code, out, _ = no.run(t, "auth", "can-i", "read", "-o", "json")
	var view map[string]any
	if err := json.Unmarshal([]byte(out), &view); err != nil || code != 1 || view["allowed"] != false || view["reason"] != "no role binding gives it" {
		t.Errorf("exit %d, %s, %v", code, out, err)
	}
}
