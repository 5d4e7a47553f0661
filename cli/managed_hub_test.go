package cli_test

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/sdk"
)

// TestManagersAreShownAndTakenOver is docs/management.md, on a real hub.
func TestManagersAreShownAndTakenOver(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	t.Setenv("AXLE_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	t.Setenv("AXLE_HUB_URL", h.URL)
	t.Setenv("AXLE_TOKEN", h.AdminToken)
	run := func(line string) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		code = cli.Run(t.Context(), strings.Fields(line), cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
		return code, stdout.String(), stderr.String()
	}
	does := func(line string) string {
		t.Helper()
		code, out, errs := run(line)
		if code != 0 {
			t.Fatalf("axle %s: exit %d: %s%s", line, code, out, errs)
		}
		return out
	}
	does("repos add fleet https://git.invalid/fleet --timeout 0")
	does("clusters create edge-1")
	does("services create edge-1/mine --repo fleet --ref main --folder mine")
	created := connect.NewRequest(&hubv1.CreateServiceRequest{
		Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: "web"}, Spec: &hubv1.ServiceSpec{Repository: "fleet", Git: &hubv1.Git{Ref: "main", Folder: "web"}},
		Management: &hubv1.Management{By: &hubv1.Manager{Tool: "terraform", Id: "default"}},
	})
	created.Header().Set("Authorization", "Bearer "+h.AdminToken)
	if _, err := hubv1connect.NewServicesClient(http.DefaultClient, h.URL).Create(t.Context(), created); err != nil {
		t.Fatal(err)
	}

	const asTerraform = "jsonpath={.managedBy.tool}/{.managedBy.id}"
	for line, want := range map[string]string{
		"services get edge-1/web -o " + asTerraform:  "terraform/default\n",
		"services get edge-1/mine -o " + asTerraform: "cli/\n",
		"repos get fleet -o " + asTerraform:          "cli/\n",
		"services list -q --managed-by terraform":    "edge-1/web\n",
		"services list -q --managed-by cli":          "edge-1/mine\n",
		"services list -q --managed-by none":         "",
		"repos list -q --managed-by cli":             "fleet\n",
		"repos list -q --managed-by operator":        "",
	} {
		if out := does(line); out != want {
			t.Errorf("axle %s: %q, want %q", line, out, want)
		}
	}
	if out := does("services list -o wide"); !strings.Contains(out, "MANAGED BY") || !strings.Contains(out, "terraform default") {
		t.Errorf("wide:\n%s", out)
	}
	if out := strings.Join(strings.Fields(does("services get edge-1/web")), " "); !strings.Contains(out, "Managed by: terraform default") {
		t.Errorf("web:\n%s", out)
	}

	for _, line := range []string{"services update edge-1/web --ref v2", "services delete edge-1/web --timeout 0"} {
		if code, _, errs := run(line); code == 0 || !strings.Contains(errs, "managed by Terraform (manager default): change it there, or take it over with --take-over") {
			t.Errorf("axle %s: exit %d, %s", line, code, errs)
		}
	}
	if code, _, errs := run("services update edge-1/web"); code != 2 {
		t.Errorf("an update of nothing: exit %d, %s", code, errs)
	}
	does("services update edge-1/web --take-over")
	if out := does("services get edge-1/web -o jsonpath={.managedBy.tool},{.ref}"); out != "cli,main\n" {
		t.Errorf("after it was taken over: %s", out)
	}
	does("services update edge-1/web --ref v2")
	does("repos update fleet --take-over")
}

// What a tool manages of users and rights, people see, and change only with --take-over.
func TestManagersOfAccessAreShownAndTakenOver(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	t.Setenv("AXLE_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	t.Setenv("AXLE_HUB_URL", h.URL)
	t.Setenv("AXLE_TOKEN", h.AdminToken)
	run := func(line string) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		code = cli.Run(t.Context(), strings.Fields(line), cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
		return code, stdout.String(), stderr.String()
	}
	by := &hubv1.Management{By: &hubv1.Manager{Tool: "terraform", Id: "default"}}
	client, err := sdk.New(sdk.Config{URL: h.URL, Token: h.AdminToken})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Groups.Create(t.Context(), connect.NewRequest(&hubv1.CreateGroupRequest{Name: "sre", Management: by})); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Users.Create(t.Context(), connect.NewRequest(&hubv1.CreateUserRequest{Email: "ann@example.com", Admin: true, Management: by})); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Webhooks.Create(t.Context(), connect.NewRequest(&hubv1.CreateWebhookRequest{Name: "push", Provider: "github", Management: by})); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"groups list -q --managed-by terraform":   "sre\n",
		"groups list -q --managed-by none":        "",
		"users list -q --managed-by terraform":    "ann@example.com\n",
		"webhooks list -q --managed-by terraform": "push\n",
	} {
		if code, out, errs := run(line); code != 0 || out != want {
			t.Errorf("axle %s: %q, want %q (%s)", line, out, want, errs)
		}
	}
	for _, line := range []string{"users admin ann@example.com --revoke", "groups delete sre", "users delete ann@example.com", "webhooks delete push"} {
		if code, _, errs := run(line); code == 0 || !strings.Contains(errs, "managed by Terraform (manager default): change it there, or take it over with --take-over") {
			t.Errorf("axle %s: exit %d, %s", line, code, errs)
		}
		if code, _, errs := run(line + " --take-over"); code != 0 {
			t.Errorf("axle %s --take-over: exit %d, %s", line, code, errs)
		}
	}
}
