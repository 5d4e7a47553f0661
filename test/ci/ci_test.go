package ci_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/oidcserver"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// job is a file of examples/ci as shell scripts, each one process.
type job struct {
	// setUp is what somebody runs once, from the file's first lines.
	setUp string
	env   map[string]string
	// before runs before both of the others.
	before         []string
	request, merge string
}

// system is a CI system, as far as jobs see it.
type system struct {
	t        *testing.T
	hub      *hubtest.Hub
	server   *httptest.Server
	issuer   *oidcserver.Server
	claims   map[string]any
	work     string // the checkout
	bin      string
	install  string // what install.sh is now
	expected string // its checksum
}

// TestJobs runs each file as a pull request and as a push.
func TestJobs(t *testing.T) {
	for name, c := range map[string]struct {
		read  func(t *testing.T, text []byte) job
		claim string
	}{
		"github-actions.yaml": {readGitHub, "repository"},
		"gitlab-ci.yaml":      {readGitLab, "project_path"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("../../examples/ci/" + name)
			if err != nil {
				t.Fatal(err)
			}
			s := newSystem(t, c.claim)
			j := c.read(t, text)
			j.setUp = commented(string(text))
			s.administrator(j.setUp)
			s.declare("one", "region: north")

			if out := s.run(j, j.request); !strings.Contains(out, "one") {
				t.Errorf("a pull request does not show what it would change:\n%s", out)
			}
			if have := s.contexts(); have != "" {
				t.Fatalf("a pull request wrote %s", have)
			}
			s.run(j, j.merge)
			if have := s.contexts(); have != "one" {
				t.Fatalf("after the push the hub has %q", have)
			}
			s.run(j, j.request) // nothing to change is no failure either

			// What leaves the folder leaves the hub.
			s.declare("two", "region: south")
			if err := os.Remove(filepath.Join(s.work, "fleet", "one.yaml")); err != nil {
				t.Fatal(err)
			}
			s.run(j, j.merge)
			if have := s.contexts(); have != "two" {
				t.Errorf("after the removal the hub has %q", have)
			}

			s.declare("three", "[")
			s.fails(j, j.request, "three.yaml")
			s.claims[c.claim] = "stranger/fleet"
			s.fails(j, j.merge, "fits no trust") // another repository's job
			s.install += "# altered\n"
			s.fails(j, j.merge, "install.sh: FAILED")
		})
	}
}

func newSystem(t *testing.T, claim string) *system {
	t.Helper()
	axle, err := bin.Path(t.Context(), "axle", bin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &system{t: t, work: t.TempDir(), bin: t.TempDir(), issuer: oidcserver.New(t)}
	s.hub = hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{AllowHTTPUpstreams: true}})
	s.claims = map[string]any{"iss": s.issuer.URL, "sub": "job", "aud": s.hub.URL, claim: "acme/fleet"}
	s.install = fmt.Sprintf("[ \"$1\" = --dir ] && dir=$2 || dir=%s\nmkdir -p \"$dir\" && cp %s \"$dir/axle\"\n", s.bin, axle)
	sum := sha256.Sum256([]byte(s.install))
	s.expected = hex.EncodeToString(sum[:])
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	if err := os.Mkdir(filepath.Join(s.work, "fleet"), 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

// ServeHTTP serves the release and, to jobs of GitHub, tokens.
func (s *system) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/install.sh":
		fmt.Fprint(w, s.install)
	case r.URL.Path == "/token" && r.Header.Get("Authorization") == "bearer of-the-job" && r.URL.Query().Get("audience") == s.hub.URL:
		if err := json.NewEncoder(w).Encode(map[string]string{"value": s.token()}); err != nil {
			s.t.Error(err)
		}
	default:
		http.NotFound(w, r)
	}
}

// token is what the system signs for a job.
func (s *system) token() string {
	now := time.Now()
	s.claims["iat"], s.claims["nbf"], s.claims["exp"], s.claims["jti"] = now.Unix(), now.Unix(), now.Add(10*time.Minute).Unix(), fmt.Sprint("job-", now.UnixNano())
	token, err := s.issuer.Sign(s.claims, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

// declare writes a context into the folder of the fleet.
func (s *system) declare(name, configuration string) {
	s.t.Helper()
	text := "apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceContext\nmetadata: {name: " + name + "}\nspec: {configuration: {" + configuration + "}}\n"
	if err := os.WriteFile(filepath.Join(s.work, "fleet", name+".yaml"), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// contexts are those of the hub.
func (s *system) contexts() string {
	s.t.Helper()
	return strings.Join(strings.Fields(s.administrator("axle contexts list -o name")), " ")
}

// here gives a script the addresses of this test.
func (s *system) here(script string) string {
	return strings.NewReplacer(
		"https://hub.example.com", s.hub.URL,
		"https://token.actions.githubusercontent.com", s.issuer.URL, "https://gitlab.com", s.issuer.URL,
		"https://github.com/axle-cd/axle/releases/download/v1.4.2", s.server.URL,
		strings.Repeat("0", 64), s.expected,
		"/tmp/token.jwt", filepath.Join(s.work, "token.jwt"),
	).Replace(script)
}

// administrator runs commands with the rights of everything.
func (s *system) administrator(script string) string {
	s.t.Helper()
	axle, err := bin.Path(s.t.Context(), "axle", bin.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := s.shell(script, map[string]string{"AXLE_HUB_URL": s.hub.URL, "AXLE_TOKEN": s.hub.AdminToken, "PATH": filepath.Dir(axle) + ":" + os.Getenv("PATH")})
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

func (s *system) shell(script string, env map[string]string) (string, error) {
	c := exec.CommandContext(s.t.Context(), "bash", "-eo", "pipefail", "-c", s.here(script))
	c.Dir = s.work
	for k, v := range env {
		c.Env = append(c.Env, k+"="+v)
	}
	out, err := c.CombinedOutput()
	s.t.Logf("%s\n%s", script, out)
	return string(out), err
}

// attempt runs a job on a machine of its own.
func (s *system) attempt(j job, script string) (string, error) {
	home := s.t.TempDir()
	path := filepath.Join(home, "path")
	env := map[string]string{
		"HOME": home, "RUNNER_TEMP": home, "GITHUB_PATH": path, "PATH": s.bin + ":/usr/bin:/bin",
		"ACTIONS_ID_TOKEN_REQUEST_TOKEN": "of-the-job", "ACTIONS_ID_TOKEN_REQUEST_URL": s.server.URL + "/token?a=b",
		"HUB_TOKEN": s.token(),
	}
	for k, v := range j.env {
		env[k] = s.here(v)
	}
	var all strings.Builder
	for _, step := range append(append([]string{}, j.before...), script) {
		out, err := s.shell(step, env)
		all.WriteString(out)
		if err != nil {
			return all.String(), err
		}
		if more, err := os.ReadFile(path); err == nil {
			env["PATH"] = strings.TrimSpace(string(more)) + ":/usr/bin:/bin"
		}
	}
	return all.String(), nil
}

func (s *system) run(j job, script string) string {
	s.t.Helper()
	out, err := s.attempt(j, script)
	if err != nil {
		s.t.Fatalf("the job failed: %v\n%s", err, out)
	}
	return out
}

func (s *system) fails(j job, script, want string) {
	s.t.Helper()
	out, err := s.attempt(j, script)
	if err == nil || !strings.Contains(out, want) {
		s.t.Errorf("the job ended with %v, and does not say %q:\n%s", err, want, out)
	}
	if strings.Contains(out, "eyJ") {
		s.t.Error("the log of the job shows a token")
	}
}

// commented are the commands in the first comment of a file.
func commented(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		if rest, ok := strings.CutPrefix(line, "#   "); ok {
			lines = append(lines, rest)
		}
	}
	return strings.Join(lines, "")
}

func readGitHub(t *testing.T, text []byte) job {
	t.Helper()
	var file struct {
		Jobs map[string]struct {
			Env   map[string]string
			Steps []struct{ If, Run string }
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	j := job{env: file.Jobs["fleet"].Env}
	for _, step := range file.Jobs["fleet"].Steps {
		switch {
		case strings.Contains(step.If, "pull_request"):
			j.request = step.Run
		case strings.Contains(step.If, "push"):
			j.merge = step.Run
		case step.Run != "":
			j.before = append(j.before, step.Run)
		}
	}
	return j
}

func readGitLab(t *testing.T, text []byte) job {
	t.Helper()
	type part struct {
		Variables map[string]string
		Before    []string `json:"before_script"`
		Script    []string
	}
	var file map[string]part
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	before := file[".axle"].Before
	// This machine has what the image lacks.
	if len(before) == 0 || !regexp.MustCompile(`^apt-get update && apt-get install `).MatchString(before[0]) {
		t.Fatalf("the job begins with %v", before)
	}
	join := func(p string) string {
		return strings.Join(append(append([]string{}, before[1:]...), file[p].Script...), "\n")
	}
	return job{env: file[".axle"].Variables, request: join("diff"), merge: join("apply")}
}
