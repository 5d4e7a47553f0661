package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli"
)

// hub answers the tests' requests; a double for output and errors only.
type hub struct {
	hubv1connect.UnimplementedServicesHandler
	services []*hubv1.Service
	err      error
}

func (h *hub) List(context.Context, *connect.Request[hubv1.ListServicesRequest]) (*connect.Response[hubv1.ListServicesResponse], error) {
	return connect.NewResponse(&hubv1.ListServicesResponse{Services: h.services}), h.err
}

func (h *hub) Get(_ context.Context, r *connect.Request[hubv1.GetServiceRequest]) (*connect.Response[hubv1.Service], error) {
	for _, s := range h.services {
		if s.GetName() == r.Msg.GetRef().GetName() {
			return connect.NewResponse(s), nil
		}
	}
	return nil, connect.NewError(connect.CodeNotFound, errors.New("no such service"))
}

// run executes a command line against the double.
func run(t *testing.T, h *hub, args ...string) (code int, out, errs string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(hubv1connect.NewServicesHandler(h))
	server := httptest.NewServer(mux)
	defer server.Close()
	t.Setenv("AXLE_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	t.Setenv("AXLE_HUB_URL", server.URL)
	t.Setenv("AXLE_TOKEN", "token")
	var stdout, stderr bytes.Buffer
	code = cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

func TestExitCodes(t *testing.T) {
	tests := map[string]struct {
		args []string
		code int
		want string
	}{
		"help":             {[]string{"--help"}, 0, ""},
		"noun alone":       {[]string{"services"}, 0, ""},
		"list":             {[]string{"services", "list"}, 0, ""},
		"unknown command":  {[]string{"frobnicate"}, 2, "--help"},
		"unknown verb":     {[]string{"services", "frobnicate"}, 2, "--help"},
		"unknown flag":     {[]string{"services", "list", "--colour"}, 2, "--help"},
		"missing argument": {[]string{"services", "get"}, 2, "--help"},
		"ambiguous name":   {[]string{"services", "get", "web"}, 2, "CLUSTER/web"},
		"unknown format":   {[]string{"services", "list", "-o", "xml"}, 2, "is not table, wide, json, yaml, csv, name, jsonpath="},
		"not there":        {[]string{"services", "get", "edge/none"}, 4, "Error"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			code, _, errs := run(t, &hub{}, tc.args...)
			if code != tc.code || !strings.Contains(errs, tc.want) {
				t.Errorf("exit %d, want %d; standard error %q, want %q in it", code, tc.code, errs, tc.want)
			}
		})
	}
}

func TestServicesListIsAnArrayWithItsFacts(t *testing.T) {
	service := &hubv1.Service{Cluster: "edge", Name: "web", Namespace: "web", DesiredRevision: "b", AppliedRevision: "a", Sync: "Pending", Health: "Healthy", Freshness: "Fresh", PolledAt: 1_700_000_000_000_000, ReportedAt: 1_700_000_000_000_000}
	for name, services := range map[string][]*hubv1.Service{"none": nil, "one": {service}} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := run(t, &hub{services: services}, "services", "list", "-o", "json")
			if code != 0 {
				t.Fatalf("exit %d: %s", code, errs)
			}
			var list []map[string]any
			if err := json.Unmarshal([]byte(out), &list); err != nil || list == nil {
				t.Fatalf("%v in %q", err, out)
			}
			for _, item := range list {
				for _, key := range []string{"cluster", "name", "namespace", "desiredRevision", "appliedRevision", "sync", "health", "freshness", "polledAt", "reportedAt", "message"} {
					if _, ok := item[key]; !ok {
						t.Errorf("no %s in %s", key, out)
					}
				}
			}
		})
	}
}

func TestWaitSaysWhatLacks(t *testing.T) {
	service := &hubv1.Service{Cluster: "edge", Name: "web", Sync: "Failed", Health: "Missing", Message: "deploy.yaml:3: bad indent"}
	code, _, errs := run(t, &hub{services: []*hubv1.Service{service}}, "services", "wait", "edge/web", "--timeout", "10ms")
	if code != 1 || !strings.Contains(errs, "edge/web: Failed deploy.yaml:3: bad indent") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// The double has no Delete, so a dry run that deleted would fail.
func TestDryRunOfADeleteListsObjects(t *testing.T) {
	service := &hubv1.Service{Cluster: "edge", Name: "web", Components: []*hubv1.Component{{Kind: "ConfigMap", Namespace: "web", Name: "settings", Health: "Healthy"}}}
	code, out, errs := run(t, &hub{services: []*hubv1.Service{service}}, "services", "delete", "edge/web", "--dry-run")
	if code != 0 || !strings.Contains(out, "ConfigMap  web        settings  Healthy") || !strings.Contains(errs, "with 1 object on") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, out, errs = run(t, &hub{services: []*hubv1.Service{service}}, "services", "delete", "edge/web", "--dry-run", "--detach"); code != 0 || out != "" || !strings.Contains(errs, "0 objects") {
		t.Errorf("detached, exit %d: %s%s", code, out, errs)
	}
	service.Counts = &hubv1.ComponentCounts{Total: 900, Healthy: 900}
	if code, out, errs = run(t, &hub{services: []*hubv1.Service{service}}, "services", "delete", "edge/web", "--dry-run"); code != 0 || !strings.Contains(errs, "900 objects") || !strings.Contains(errs, "only 1 of them") {
		t.Errorf("a large one, exit %d: %s%s", code, out, errs)
	}
}

func TestControlCharactersDoNotReachTheTable(t *testing.T) {
	service := &hubv1.Service{Cluster: "edge", Name: "web", Message: "red \x1b[31m\nline"}
	_, out, _ := run(t, &hub{services: []*hubv1.Service{service}}, "services", "list")
	if strings.ContainsRune(out, '\x1b') || strings.Count(out, "\n") != 2 {
		t.Errorf("table %q", out)
	}
}

func TestNotLoggedInSaysHow(t *testing.T) {
	t.Setenv("AXLE_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	t.Setenv("AXLE_HUB_URL", "")
	var stderr bytes.Buffer
	if code := cli.Run(t.Context(), []string{"clusters", "list"}, cli.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &stderr}); code != 5 || !strings.Contains(stderr.String(), "axle login") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
}
