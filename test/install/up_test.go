package install_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/gitserver"
)

// gitPassword is that of the Git server.
const gitPassword = "s3cret-of-git"

// story is an empty folder, an empty repository and a cluster, and what axle up makes of
// them.
type story struct {
	*bed
	git  *gitserver.Server
	repo string
	ca   string // of the Git server
	// flags are those of axle up local.
	flags []string
}

// beginStory has a Git server that asks for a login, and speaks TLS with an authority of
// its own.
func beginStory(t *testing.T) *story {
	t.Helper()
	b := newBed(t)
	server, err := gitserver.Start(t.Context(), gitserver.Config{TLS: true, Username: "you", Password: gitPassword})
	must(t, err)
	t.Cleanup(func() { must(t, server.Close()) })
	must(t, server.Create(t.Context(), "fleet"))
	dir := t.TempDir()
	values, err := os.ReadFile(b.values)
	must(t, err)
	text := strings.Replace(string(values), "hub:\n", "hub:\n  upstreamNetworks: [127.0.0.0/8]\n", 1)
	for name, text := range map[string]string{"ca.pem": server.CA(), "token": gitPassword + "\n", "hub.yaml": text} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	s := &story{bed: b, git: server, repo: filepath.Join(dir, "fleet"), ca: filepath.Join(dir, "ca.pem")}
	s.flags = []string{"up", "local", "--dir", s.repo, "--kubeconfig", b.Kubeconfig(), "--url", b.url, "--email", "you@example.test", "--repo", server.URL("fleet"),
		"--values", filepath.Join(dir, "hub.yaml"), "--username", "you", "--password-file", filepath.Join(dir, "token"), "--ca-cert-file", s.ca}
	return s
}

// killedAfter runs axle up local and kills it as soon as it reports that a step is done.
func (s *story) killedAfter(step string) {
	s.t.Helper()
	program, err := bin.Path(s.t.Context(), "axle", bin.Options{})
	must(s.t, err)
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, program, s.flags...)
	command.Env = s.env()
	progress, err := command.StderrPipe()
	must(s.t, err)
	must(s.t, command.Start())
	lines, reached := bufio.NewScanner(progress), false
	for lines.Scan() {
		s.t.Log(lines.Text())
		if strings.Contains(lines.Text(), step+": done") {
			reached = true
			must(s.t, command.Process.Kill())
			break
		}
	}
	if err := command.Wait(); err == nil || !reached {
		s.t.Fatalf("it was not killed after %s: %v", step, err)
	}
}

// in runs git in the folder.
func (s *story) in(args ...string) string {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), "git", append([]string{"-C", s.repo, "-c", "user.name=you", "-c", "user.email=you@example.test", "-c", "credential.helper=!f() { echo username=you; echo password=" + gitPassword + "; }; f"}, args...)...)
	command.Env = s.env("GIT_SSL_CAINFO=" + s.ca)
	out, err := command.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// replicas is what the API server has of the example.
func (s *story) replicas() string {
	return s.try("-n", "hello", "get", "deployment", "hello", "-o", "jsonpath={.status.readyReplicas}")
}

// From an empty folder to a fleet that follows its repository: killed once on the way and
// run again, then changed by a commit, then run once more, which changes nothing.
func TestUpLocal(t *testing.T) {
	sideBySide(t)
	s := beginStory(t)
	began := time.Now()
	if plan := s.must(append(s.flags, "--dry-run")...); !strings.Contains(plan, "new    bootstrap/services/hello.yaml") || !strings.Contains(plan, "nothing was done") {
		t.Errorf("the dry run: %s", plan)
	}
	if _, err := os.Stat(s.repo); err == nil || s.git.Count("fleet", gitserver.Push) > 0 {
		t.Errorf("the dry run wrote: %v", err)
	}
	s.killedAfter("install")
	out := s.must(s.flags...)
	t.Logf("from an empty folder to everything Healthy: %.0f s", time.Since(began).Seconds())
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "KIND ") && !strings.Contains(line, "Healthy") {
			t.Errorf("it ends with %s", line)
		}
	}
	if have := s.replicas(); !strings.Contains(out, "hello") || have != "2" {
		t.Errorf("the example has %s replicas", have)
	}
	s.holdsNoSecret()

	must(t, os.WriteFile(filepath.Join(s.repo, "values/hello.yaml"), []byte("replicas: 3\n"), 0o600))
	s.in("commit", "--quiet", "--all", "-m", "three of them")
	s.in("push", "--quiet")
	s.must("repos", "refresh", "fleet", "--wait")
	s.eventually("the commit reaches the cluster", s.replicas, "3")
	head, pushes := s.in("rev-parse", "HEAD"), s.git.Count("fleet", gitserver.Push)
	s.must(s.flags...)
	if now := s.in("rev-parse", "HEAD"); now != head || s.in("status", "--porcelain") != "" || s.git.Count("fleet", gitserver.Push) != pushes {
		t.Errorf("another run made %s of %s, %s", now, head, s.in("status", "--porcelain"))
	}
	if have := s.replicas(); have != "3" {
		t.Errorf("another run left %s replicas", have)
	}

	// As the repository's README says.
	s.must("services", "delete", "mgmt/root", "--detach")
	if out, _, code := s.axle("services", "get", "mgmt/root"); code == 0 {
		t.Errorf("the root is still there: %s", out)
	}
	if going := s.try("get", "gitrepositories.deployments.plural.sh,servicedeployments.deployments.plural.sh", "-A", "-o", "jsonpath={.items[*].metadata.deletionTimestamp}"); going != "" || s.replicas() != "3" {
		t.Errorf("what the root applied goes with it: %q, %s replicas", going, s.replicas())
	}
}

// holdsNoSecret looks for the repository's password in the folder, Git's own files
// included, and in what the cluster stores of the declarations.
func (s *story) holdsNoSecret() {
	s.t.Helper()
	must(s.t, filepath.WalkDir(s.repo, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), gitPassword) {
			s.t.Errorf("%s has the password", path)
		}
		return err
	}))
	if text := s.in("log", "-p", "--all"); strings.Contains(text, gitPassword) {
		s.t.Error("a commit has the password")
	}
}
