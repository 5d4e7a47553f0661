package install_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/port"
)

// beginServed is a story whose repository is on the Git server of the cluster, and a
// repository elsewhere to which it is moved.
func beginServed(t *testing.T, b *bed) *story {
	t.Helper()
	server, err := gitserver.Start(t.Context(), gitserver.Config{TLS: true, Username: "you", Password: gitPassword})
	must(t, err)
	t.Cleanup(func() { must(t, server.Close()) })
	free, err := port.Free()
	must(t, err)
	dir := t.TempDir()
	at := strings.TrimSuffix(server.URL(""), "/.git")
	person := "[user]\n\tname = you\n\temail = you@example.test\n[credential \"" + at + "\"]\n\thelper = \"!f() { echo username=you; echo password=" + gitPassword + "; }; f\"\n"
	for name, text := range map[string]string{"gitconfig": person, "ca.pem": server.CA(), "token": gitPassword + "\n"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	values, err := os.ReadFile(b.values)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "hub.yaml"), []byte(strings.Replace(string(values), "hub:\n", "hub:\n  upstreamHosts: ["+strings.TrimPrefix(at, "https://")+"]\n", 1)), 0o600))
	// A person's authorities count before those of a repository's settings.
	b.environ = []string{"GIT_CONFIG_GLOBAL=" + filepath.Join(dir, "gitconfig"), "GIT_SSL_CAINFO=" + filepath.Join(dir, "ca.pem"), "KUBECONFIG=" + b.Kubeconfig()}
	s := &story{bed: b, git: server, repo: filepath.Join(dir, "fleet"), port: strconv.Itoa(free)}
	s.flags = []string{"up", "local", "--dir", s.repo, "--kubeconfig", b.Kubeconfig(), "--url", b.url, "--email", "you@example.test",
		"--values", filepath.Join(dir, "hub.yaml"), "--git-address", "127.0.0.1:" + s.port}
	s.replace = []string{"--email you@example.com", "--email you@example.test --values ../hub.yaml --git-address 127.0.0.1:" + s.port}
	return s
}

func TestUpLocalServesItself(t *testing.T) {
	sideBySide(t)
	s := beginServed(t, newBed(t))
	s.servesItself()
}

// servesItself goes from an empty folder, without any repository, to a fleet whose
// repository is on the Git server of the cluster, and back: killed on each way, with what
// becomes of the server meanwhile.
func (s *story) servesItself() {
	s.t.Helper()
	began := time.Now()
	s.killedAfter("git", s.flags...)
	out := s.page("../../docs/install/up.md", 1)
	for _, next := range []string{fmt.Sprintf("  kubectl -n axle port-forward service/axle-git %[1]s:%[1]s\n", s.port), `  kubectl -n axle get configmap axle-ca -o jsonpath='{.data.ca\.pem}' > ca.pem` + "\n  axle login " + s.url + " --ca ca.pem\n"} {
		if !strings.Contains(out, next) {
			s.t.Errorf("it ends without %s", next)
		}
	}
	if have := s.kubectl("-n", "axle", "get", "configmap", "axle-ca", "-o", `jsonpath={.data.ca\.pem}`); !strings.Contains(have, "BEGIN CERTIFICATE") {
		s.t.Errorf("the authority of the hub: %s", have)
	}
	s.t.Logf("without a repository, from an empty folder to everything Healthy: %.0f s", time.Since(began).Seconds())
	if have := s.replicas(); have != "2" {
		s.t.Errorf("the example has %s replicas", have)
	}
	s.change("values/hello.yaml", "replicas: 2", "replicas: 3")
	s.eventually("the commit reaches the cluster", s.replicas, "3")
	s.readmeOfServed()
	s.keepsItsLogin()
	s.losesItsVolume()
	s.leaves()
}

// secret is one key of the Git server's Secret.
func (s *story) secret(key string) string {
	s.t.Helper()
	text, err := base64.StdEncoding.DecodeString(s.kubectl("-n", "axle", "get", "secret", "axle-git", "-o", "jsonpath={.data."+key+"}"))
	must(s.t, err)
	return string(text)
}

// readmeOfServed runs what README.md has about this repository, while kubectl carries the
// port as it describes.
func (s *story) readmeOfServed() {
	s.t.Helper()
	free, err := port.Free()
	must(s.t, err)
	readme := filepath.Join(s.repo, "README.md")
	text, err := os.ReadFile(readme)
	must(s.t, err)
	if want := fmt.Sprintf("port-forward service/axle-git %[1]s:%[1]s", s.port); !strings.Contains(string(text), want) {
		s.t.Fatalf("README.md has no %q", want)
	}
	forward := exec.CommandContext(s.t.Context(), "kubectl", "--kubeconfig", s.Kubeconfig(), "-n", "axle", "port-forward", "service/axle-git", fmt.Sprintf("%d:%s", free, s.port))
	out, err := forward.StdoutPipe()
	must(s.t, err)
	must(s.t, forward.Start())
	defer func() {
		_ = forward.Process.Kill()
		_ = forward.Wait()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		s.t.Fatalf("kubectl port-forward: %v %s", err, line)
	}
	s.replace = append(s.replace, "https://localhost:"+s.port, fmt.Sprintf("https://localhost:%d", free))
	s.page(readme, 1)
	s.page(readme, 2)
	for _, copied := range []string{"fleet-clone", "fleet.bundle"} {
		out, err := exec.CommandContext(s.t.Context(), "git", "ls-remote", filepath.Join(filepath.Dir(s.repo), copied), "refs/heads/main").CombinedOutput()
		if head := s.in("rev-parse", "HEAD"); err != nil || !strings.HasPrefix(string(out), head) {
			s.t.Errorf("%s has %s, not %s: %v", copied, out, head, err)
		}
	}
}

// keepsItsLogin has no login anywhere but in the Secret, refuses who does not have it, and
// another fleet; a run after the login was changed passes the new one on.
func (s *story) keepsItsLogin() {
	s.t.Helper()
	password := s.secret("password")
	must(s.t, filepath.WalkDir(s.repo, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), password) {
			s.t.Errorf("%s has the password", path)
		}
		return err
	}))
	for _, user := range []string{"", "git:wrong@"} {
		command := exec.CommandContext(s.t.Context(), "git", "ls-remote", "https://"+user+"localhost:"+s.port+"/fleet.git")
		command.Env = append(os.Environ(), "GIT_SSL_CAINFO="+filepath.Join(s.repo, ".git/axle-git.pem"), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := command.CombinedOutput(); err == nil || strings.Contains(string(out), "refs/") {
			s.t.Errorf("%q reads it: %s", user, out)
		}
	}
	elsewhere := filepath.Join(s.t.TempDir(), "other")
	if _, errs, code := s.axle(append(s.flags, "--dir", elsewhere, "--name", "other")...); code != 6 || !strings.Contains(errs, "serves the repository fleet of another axle up") {
		s.t.Errorf("another fleet: %d %s", code, errs)
	}
	if _, errs, code := s.axle(append(s.flags, "--dir", elsewhere)...); code != 6 || !strings.Contains(errs, "other commits than this folder") {
		s.t.Errorf("another folder: %d %s", code, errs)
	}
	if _, err := os.Stat(elsewhere); err == nil {
		s.t.Error("a refused run wrote files")
	}
	s.kubectl("-n", "axle", "patch", "secret", "axle-git", "-p", `{"stringData":{"password":"an0ther-of-the-cluster"}}`)
	out := s.must(s.flags...)
	if strings.Contains(out, password) || strings.Contains(out, "an0ther") {
		s.t.Error("the output has a password")
	}
	s.change("values/hello.yaml", "replicas: 3", "replicas: 2")
	s.eventually("with another login, a commit reaches the cluster", s.replicas, "2")
}

// losesItsVolume pushes the folder's commits once more, where the volume is gone.
func (s *story) losesItsVolume() {
	s.t.Helper()
	s.kubectl("-n", "axle", "delete", "deployment,persistentvolumeclaim", "axle-git")
	s.must(s.flags...)
	if have, head := s.in("ls-remote", "origin", "refs/heads/main"), s.in("rev-parse", "HEAD"); !strings.HasPrefix(have, head) {
		s.t.Errorf("the new volume has %s, not %s", have, head)
	}
}

// leaves takes everything down, but not while commits would be lost.
func (s *story) leaves() {
	s.t.Helper()
	const lost = "pushed nowhere else (main)"
	if have := s.refusal(); !strings.Contains(have, lost) {
		s.t.Errorf("with commits of its own: %s", have)
	}
	must(s.t, s.git.Create(s.t.Context(), "kept"))
	s.in("remote", "add", "elsewhere", s.git.URL("kept"))
	s.in("push", "--quiet", "elsewhere", "--all")
	if have := s.refusal(); have != "" {
		s.t.Errorf("once another repository has them: %s", have)
	}
	s.in("commit", "--quiet", "--allow-empty", "-m", "one more")
	s.in("push", "--quiet", "origin")
	if have := s.refusal(); !strings.Contains(have, lost) {
		s.t.Errorf("with one more commit: %s", have)
	}
	if said := s.killedAfter("uninstall", s.down("--confirm", "fleet", "--delete-repository")...); strings.Contains(said, "] git: ") {
		s.t.Errorf("the Git server went before the hub: %s", said)
	}
	// The kill may come after the next step has begun to delete the Git server, first its
	// volume: then it is decided.
	if deleted := s.try("-n", "axle", "get", "persistentvolumeclaim", "axle-git", "-o", "jsonpath={.metadata.deletionTimestamp}"); deleted == "" {
		if have := s.try("-n", "axle", "get", "deployment", "axle-git", "-o", "name"); !strings.Contains(have, "axle-git") {
			s.t.Errorf("the Git server went with the hub: %s", have)
		}
		if _, errs, code := s.axle(s.down("--confirm", "fleet")...); code != 6 || !strings.Contains(errs, lost) {
			s.t.Errorf("without the flag: %d %s", code, errs)
		}
	} else {
		s.t.Logf("the kill came late, only the progress shows the order; the volume: %s", deleted)
	}
	s.must(s.down("--confirm", "fleet", "--delete-repository")...)
	s.isDown()
}
