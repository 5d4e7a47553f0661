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
	"github.com/axle-cd/axle/test/pages"
)

// gitPassword is that of the Git server.
const gitPassword = "s3cret-of-git"

// story is an empty folder, an empty repository and a cluster, and what axle up makes of
// them.
type story struct {
	*bed
	git  *gitserver.Server
	repo string
	// flags are those of axle up local.
	flags []string
	// port is that of the Git server of the cluster.
	port string
	// replace are more texts of pages, and what stands for them here.
	replace []string
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
	// A person's git knows the login and the authority.
	person := "[user]\n\tname = you\n\temail = you@example.test\n[credential]\n\thelper = \"!f() { echo username=you; echo password=" + gitPassword + "; }; f\"\n"
	for name, text := range map[string]string{"gitconfig": person, "ca.pem": server.CA(), "token": gitPassword + "\n", "hub.yaml": text} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	b.environ = []string{"GIT_CONFIG_GLOBAL=" + filepath.Join(dir, "gitconfig"), "GIT_SSL_CAINFO=" + filepath.Join(dir, "ca.pem")}
	s := &story{bed: b, git: server, repo: filepath.Join(dir, "fleet")}
	s.flags = []string{"up", "local", "--dir", s.repo, "--kubeconfig", b.Kubeconfig(), "--url", b.url, "--email", "you@example.test", "--repo", server.URL("fleet"),
		"--values", filepath.Join(dir, "hub.yaml"), "--username", "you", "--password-file", filepath.Join(dir, "token"), "--ca-cert-file", filepath.Join(dir, "ca.pem")}
	return s
}

// killedAfter runs a command and kills it as soon as it reports that a step is done. It
// returns what it reported until then.
func (s *story) killedAfter(step string, args ...string) string {
	s.t.Helper()
	return s.killedAt(step+": done", args...)
}

// killedAt runs a command and kills it as soon as its progress has a text.
func (s *story) killedAt(text string, args ...string) string {
	s.t.Helper()
	program, err := bin.Path(s.t.Context(), "axle", bin.Options{})
	must(s.t, err)
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Env = s.env()
	progress, err := command.StderrPipe()
	must(s.t, err)
	must(s.t, command.Start())
	lines, reached, said := bufio.NewScanner(progress), false, ""
	for lines.Scan() {
		s.t.Log(lines.Text())
		said += lines.Text() + "\n"
		if strings.Contains(lines.Text(), text) {
			reached = true
			must(s.t, command.Process.Kill())
			break
		}
	}
	if err := command.Wait(); err == nil || !reached {
		s.t.Fatalf("it was not killed at %q: %v", text, err)
	}
	return said
}

// in runs git in the folder.
func (s *story) in(args ...string) string {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), "git", append([]string{"-C", s.repo}, args...)...)
	command.Env = s.env()
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
	if _, errs, code := s.axle(append(s.flags, "--workload", "bed")...); code != 4 || !strings.Contains(errs, "does not have the kinds BedClusterTemplate of infrastructure.cluster.x-k8s.io/v1alpha1") || !strings.Contains(errs, "Cluster of cluster.x-k8s.io/v1beta2") {
		t.Errorf("clusters without Cluster API: %d %s", code, errs)
	}
	if _, err := os.Stat(s.repo); err == nil {
		t.Error("a refused run wrote files")
	}
	s.killedAfter("install", s.flags...)
	out := s.page("../../docs/install/up.md", 0)
	t.Logf("from an empty folder to everything Healthy: %.0f s", time.Since(began).Seconds())
	at := strings.LastIndex(out, "KIND ")
	table, _, _ := strings.Cut(out[max(at, 0):], "\n\n") // the login follows
	for line := range strings.Lines(table) {
		if at < 0 || !strings.HasPrefix(line, "KIND ") && !strings.Contains(line, "Healthy") {
			t.Errorf("the table has %s", line)
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

	s.holdsItself()
	s.readme()
	s.goesDown()
}

// page runs one block of commands of a page, with this machine's addresses. Beside what the
// page says it gives the authority and the values of this machine.
func (s *story) page(page string, n int) string {
	s.t.Helper()
	blocks, err := pages.Script(page)
	must(s.t, err)
	if n >= len(blocks) {
		s.t.Fatalf("%s has %d blocks", page, len(blocks))
	}
	dir := filepath.Dir(s.repo)
	if strings.HasPrefix(page, s.repo) {
		dir = s.repo
	}
	block := blocks[n]
	block.Text = strings.NewReplacer(append(s.replace,
		"https://axle.example.com", s.url, "you@example.com", "you@example.test",
		"https://git.example.com/you/fleet.git", s.git.URL("fleet")+" --ca-cert-file ../ca.pem --values ../hub.yaml",
		"--url https://git.example.com/new/fleet.git", "--ca-cert-file ../ca.pem --url "+s.git.URL("moved"), "https://git.example.com/new/fleet.git", s.git.URL("moved"),
	)...).Replace(block.Text)
	return s.shell(dir, page, block, "", "")
}

// readme runs all commands of the repository's own README, in order, but those that take
// everything down: what runs, the move to another repository, a newer skeleton.
func (s *story) readme() {
	s.t.Helper()
	must(s.t, s.git.Create(s.t.Context(), "moved"))
	readme := filepath.Join(s.repo, "README.md")
	if out := s.page(readme, 0); !strings.Contains(out, "mgmt/hello") && !strings.Contains(out, "hello") {
		s.t.Errorf("what runs: %s", out)
	}
	s.page(readme, 1)
	s.change("values/hello.yaml", "replicas: 3", "replicas: 4")
	s.eventually("a commit to the new repository reaches the cluster", s.replicas, "4")
	s.eventually("the operator manages the moved repository again", func() string {
		return s.try("get", "gitrepositories.deployments.plural.sh", "fleet", "-o", `jsonpath={.spec.url} {.status.conditions[?(@.type=="Ready")].status}`)
	}, s.git.URL("moved")+" True")
	// This version would generate the new address: the branch has it, and is merged.
	if out := s.page(readme, 2); !strings.Contains(out, "git diff main...axle-up/") {
		s.t.Errorf("a newer skeleton: %s", out)
	}
	branch := s.in("rev-parse", "--abbrev-ref", "HEAD")
	s.in("switch", "--quiet", "main")
	s.in("merge", "--quiet", "--no-edit", branch)
	if out := s.must("up", "upgrade", "--dir", s.repo); !strings.Contains(out, "already") {
		s.t.Errorf("once it is merged: %s", out)
	}
}

// holdsItself deletes the root with its objects, which would wait for itself.
func (s *story) holdsItself() {
	s.t.Helper()
	if _, errs, code := s.axle("services", "delete", "mgmt/root"); code != 6 || !strings.Contains(errs, "GitRepository fleet") || !strings.Contains(errs, "--detach") {
		s.t.Errorf("the root is deleted with its objects: %d %s", code, errs)
	}
}

// down are the flags of axle down.
func (s *story) down(more ...string) []string {
	return append([]string{"down", "--dir", s.repo, "--kubeconfig", s.Kubeconfig()}, more...)
}

// goesDown removes everything, after the refusals that say what to do before, killed once
// on the way. What others made stays, and so does the repository.
func (s *story) goesDown() {
	s.t.Helper()
	s.kubectl("create", "namespace", "of-others")
	s.kubectl("-n", "of-others", "create", "configmap", "theirs")
	s.must("services", "create", "mgmt/mine", "--repo", "fleet", "--ref", "main", "--folder", "services/baseline", "--namespace", "mine", "--wait")
	s.must("clusters", "create", "edge-1")
	s.change("bootstrap/services/hello.yaml", "  namespace: hello\n", "  namespace: hello\n  protect: true\n")
	s.eventually("the service is protected", s.refusal, "service mgmt/hello is protected: remove protect in bootstrap/services/hello.yaml, commit and push it, and wait until it is applied")
	if _, errs, code := s.axle(s.down("--confirm", "fleet")...); code != 6 || !strings.Contains(errs, "axle clusters delete edge-1 --detach") || !strings.Contains(errs, "remove protect in bootstrap/services/hello.yaml") {
		s.t.Errorf("with a protected service and another cluster: %d %s", code, errs)
	}
	s.must("clusters", "delete", "edge-1", "--detach")
	s.change("bootstrap/services/hello.yaml", "  protect: true\n", "")
	s.eventually("the service is not protected any more", s.refusal, "")

	pushes := s.git.Count("moved", gitserver.Push)
	if plan := s.must(s.down("--dry-run")...); !strings.Contains(plan, "servicedeployment/hello") || !strings.Contains(plan, "service mgmt/mine") || !strings.Contains(plan, "nothing was done") {
		s.t.Errorf("the dry run: %s", plan)
	}
	elsewhere := s.t.TempDir()
	answers, err := os.ReadFile(filepath.Join(s.repo, ".axle/up.yaml"))
	must(s.t, err)
	must(s.t, os.Mkdir(filepath.Join(elsewhere, ".axle"), 0o700))
	must(s.t, os.WriteFile(filepath.Join(elsewhere, ".axle/up.yaml"), []byte(strings.Replace(string(answers), s.url, "https://axle.example.com", 1)), 0o600))
	if _, errs, code := s.axle(append(s.down("--confirm", "fleet"), "--dir", elsewhere)...); code != 6 || !strings.Contains(errs, "has the control plane of "+s.url) {
		s.t.Errorf("with the folder of another hub: %d %s", code, errs)
	}
	for _, wrong := range [][]string{nil, {"--confirm", "fleets"}} {
		if _, errs, code := s.axle(s.down(wrong...)...); code == 0 || !strings.Contains(errs, "--confirm fleet") {
			s.t.Errorf("with %q: %d %s", wrong, code, errs)
		}
	}
	if have := s.replicas(); have != "4" {
		s.t.Errorf("a refused run left %s replicas", have)
	}
	began := time.Now()
	s.killedAfter("services", s.down("--confirm", "fleet")...)
	out := s.page("../../docs/install/up.md", 3)
	s.t.Logf("down: %.0f s", time.Since(began).Seconds())
	if !strings.Contains(out, "the repository "+s.git.URL("moved")) {
		s.t.Errorf("it ends with %s", out)
	}
	s.isDown()
	for _, object := range [][]string{{"-n", "of-others", "configmap", "theirs"}, {"priorityclass", "platform"}} {
		if have := s.try(append([]string{"get", "--ignore-not-found", "-o", "name"}, object...)...); have == "" {
			s.t.Errorf("%q is gone", object)
		}
	}
	if s.git.Count("moved", gitserver.Push) != pushes || s.in("status", "--porcelain") != "" {
		s.t.Error("the repository was changed")
	}
	if out := s.must(s.down()...); !strings.Contains(out, "what stays") {
		s.t.Errorf("once more: %s", out)
	}
}

// refusal is the last line of what axle down refuses, empty if it would go on.
func (s *story) refusal() string {
	_, errs, code := s.axle(s.down("--dry-run")...)
	if code == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(errs), "\n")
	return lines[len(lines)-1]
}

// isDown looks for what axle up made.
func (s *story) isDown() {
	s.t.Helper()
	if have := s.try("get", "gitrepositories.deployments.plural.sh,projects.deployments.plural.sh,servicedeployments.deployments.plural.sh,globalservices.deployments.plural.sh,accessbindings.axle-cd.github.io", "-A", "-o", "name"); have != "" {
		s.t.Errorf("custom resources are left: %s", have)
	}
	for _, object := range [][]string{{"namespace", "axle"}, {"namespace", "axle-system"}, {"-n", "hello", "deployment", "hello"}, {"clusterrolebinding", "axle-agent"}} {
		if have := s.try(append([]string{"get", "--ignore-not-found", "-o", "name"}, object...)...); have != "" {
			s.t.Errorf("%q is left: %s", object, have)
		}
	}
}

// change changes a file as a person does, and has the hub read it.
func (s *story) change(file, old, text string) {
	s.t.Helper()
	path := filepath.Join(s.repo, file)
	have, err := os.ReadFile(path)
	must(s.t, err)
	if !strings.Contains(string(have), old) {
		s.t.Fatalf("%s has no %q:\n%s", file, old, have)
	}
	must(s.t, os.WriteFile(path, []byte(strings.Replace(string(have), old, text, 1)), 0o600))
	s.in("commit", "--quiet", "--all", "-m", "change "+file)
	s.in("push", "--quiet")
	s.must("repos", "refresh", "fleet", "--wait")
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
