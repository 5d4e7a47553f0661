package terraform_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/bin"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// planted are secrets that the examples are given. None may be found in a file.
var planted = map[string]string{
	"git_password": "planted-git-password-3141", "webhook_secret": "planted-webhook-secret-5926", "database_password": "planted-database-5358",
	"api_key": "planted-api-key-9793", "client_secret": "planted-client-secret-2384", "chat_url": "https://chat.example.com/planted-chat-6264",
}

// workspace is a folder in which the real terraform runs with our provider.
type workspace struct {
	t   *testing.T
	dir string
	env []string
}

// newWorkspace builds the provider and gives it a hub.
func newWorkspace(t *testing.T, h *hubtest.Hub) *workspace {
	t.Helper()
	program, err := bin.Path(t.Context(), "terraform-provider-axle", bin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &workspace{t: t, dir: t.TempDir()}
	config := filepath.Join(w.dir, "terraform.rc")
	w.write("terraform.rc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"axle-cd/axle\" = %q\n  }\n  direct {}\n}\n", filepath.Dir(program)))
	w.env = append(os.Environ(), "GOGC=400", // two programs of a second each, which would collect garbage for a sixth of it
		"TF_CLI_CONFIG_FILE="+config, "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1", "TF_LOG=TRACE", "TF_LOG_PATH="+filepath.Join(w.dir, "trace.log"),
		"AXLE_HUB_URL="+h.URL, "AXLE_TOKEN="+h.AdminToken, "AXLE_CONFIG="+filepath.Join(w.dir, "none.yaml"))
	for name, secret := range planted {
		w.env = append(w.env, "TF_VAR_"+name+"="+secret)
	}
	return w
}

func (w *workspace) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// header names the provider for configurations of tests.
const header = "terraform {\n  required_providers {\n    axle = {\n      source = \"axle-cd/axle\"\n    }\n  }\n}\n"

// config replaces the whole configuration.
func (w *workspace) config(text string) {
	w.t.Helper()
	old, _ := filepath.Glob(filepath.Join(w.dir, "*.tf"))
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			w.t.Fatal(err)
		}
	}
	w.write("main.tf", header+text)
}

// try runs terraform.
func (w *workspace) try(args ...string) (string, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "terraform", args...)
	c.Dir, c.Env = w.dir, w.env
	out, err := c.CombinedOutput()
	return string(out), err
}

func (w *workspace) run(args ...string) string {
	w.t.Helper()
	out, err := w.try(args...)
	if err != nil {
		if _, failure, ok := strings.Cut(out, "Error: "); ok {
			out = failure
		}
		w.t.Fatalf("terraform %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (w *workspace) apply(args ...string) string {
	w.t.Helper()
	return w.run(append([]string{"apply", "-auto-approve", "-no-color"}, args...)...)
}

// fails runs terraform and wants an error with these texts, whose lines may be broken
// anywhere.
func (w *workspace) fails(args []string, want ...string) {
	w.t.Helper()
	out, err := w.try(args...)
	if err == nil {
		w.t.Fatalf("terraform %s does not fail:\n%s", strings.Join(args, " "), out)
	}
	flat := strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(out)), " ")
	for _, text := range want {
		if !strings.Contains(flat, text) {
			w.t.Errorf("terraform %s does not say %q:\n%s", strings.Join(args, " "), text, out)
		}
	}
}

// change is what a plan does with one resource.
type change struct {
	Address string `json:"address"`
	Change  struct {
		Actions []string        `json:"actions"`
		Before  json.RawMessage `json:"before"`
		After   json.RawMessage `json:"after"`
		Import  any             `json:"importing"`
	} `json:"change"`
}

// plan returns what a plan would do, as address and actions, without what stays.
func (w *workspace) plan(args ...string) map[string]string {
	w.t.Helper()
	w.run(append([]string{"plan", "-no-color", "-out=plan.bin"}, args...)...)
	var shown struct {
		Changes []change `json:"resource_changes"`
	}
	w.show(&shown, "plan.bin")
	out := map[string]string{}
	for _, c := range shown.Changes {
		if actions := strings.Join(c.Change.Actions, "+"); actions != "no-op" {
			out[c.Address] = actions
		}
	}
	return out
}

func (w *workspace) show(into any, args ...string) {
	w.t.Helper()
	c := exec.CommandContext(w.t.Context(), "terraform", append([]string{"show", "-json"}, args...)...)
	c.Dir, c.Env = w.dir, w.env
	out, err := c.Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		w.t.Fatalf("terraform show: %v\n%s", err, out)
	}
}

// empty wants a plan that does nothing.
func (w *workspace) empty(args ...string) {
	w.t.Helper()
	if left := w.plan(args...); len(left) > 0 {
		out, _ := w.try("show", "-no-color", "plan.bin")
		w.t.Errorf("the plan is not empty: %v\n%s", left, out)
	}
}

// want compares a plan.
func (w *workspace) want(want map[string]string, args ...string) {
	w.t.Helper()
	if got := w.plan(args...); !maps.Equal(got, want) {
		out, _ := w.try("show", "-no-color", "plan.bin")
		w.t.Fatalf("planned %v\nwant    %v\n%s", got, want, out)
	}
}

// state returns the addresses in the state.
func (w *workspace) state() []string {
	w.t.Helper()
	return strings.Fields(w.run("state", "list"))
}

// secretToken is the form of the hub's tokens.
var secretToken = regexp.MustCompile(`axle_[A-Za-z0-9]{43}`)

// secrecy looks for the planted secrets, and the token, in all files of the workspace.
func (w *workspace) secrecy(more ...string) {
	w.t.Helper()
	files := 0
	err := filepath.WalkDir(w.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if found := secretToken.Find(text); found != nil {
			w.t.Errorf("%s has the token %.12s…", entry.Name(), found)
		}
		for _, secret := range more {
			if bytes.Contains(text, []byte(secret)) {
				w.t.Errorf("%s has the secret %.20s…", entry.Name(), secret)
			}
		}
		for name, secret := range planted {
			if bytes.Contains(text, []byte(secret)) {
				w.t.Errorf("%s has the secret %s", entry.Name(), name)
			}
		}
		return nil
	})
	if err != nil || files < 4 {
		w.t.Errorf("%d files, %v", files, err)
	}
}

// client is an administrator's.
func client(t *testing.T, h *hubtest.Hub) *sdk.Client {
	t.Helper()
	c, err := sdk.New(sdk.Config{URL: h.URL, Token: h.AdminToken})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
