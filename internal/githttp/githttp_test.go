package githttp_test

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/githttp"
)

// bed is a server, and git on this machine.
type bed struct {
	t             *testing.T
	url, password string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, password: filepath.Join(t.TempDir(), "password")}
	b.write("s3cret\n")
	handler, err := githttp.New(t.Context(), githttp.Config{Dir: t.TempDir(), Name: "fleet", Branch: "main", PasswordFile: b.password})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

func (b *bed) write(password string) {
	b.t.Helper()
	if err := os.WriteFile(b.password, []byte(password), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// git runs git in a folder and returns what it prints, and whether it succeeded.
func (b *bed) git(dir string, args ...string) (string, bool) {
	b.t.Helper()
	c := exec.CommandContext(b.t.Context(), "git", append([]string{"-c", "user.name=you", "-c", "user.email=you@example.test"}, args...)...)
	c.Dir, c.Env = dir, append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := c.CombinedOutput()
	return string(out), err == nil
}

func (b *bed) at(password string) string {
	return strings.Replace(b.url, "http://", "http://git:"+password+"@", 1) + "/fleet.git"
}

// What is pushed with the password is cloned with it, and without it nothing is.
func TestPushAndClone(t *testing.T) {
	b := newBed(t)
	dir := t.TempDir()
	b.git(dir, "init", "--quiet", "--initial-branch", "main")
	b.git(dir, "commit", "--quiet", "--allow-empty", "-m", "one")
	if out, ok := b.git(dir, "push", "--quiet", b.at("s3cret"), "main"); !ok {
		t.Fatalf("push: %s", out)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	if out, ok := b.git(dir, "clone", "--quiet", b.at("s3cret"), clone); !ok {
		t.Fatalf("clone: %s", out)
	}
	if out, _ := b.git(clone, "log", "--format=%s %D"); !strings.Contains(out, "one") || !strings.Contains(out, "main") {
		t.Errorf("the clone has %s", out)
	}
	for _, wrong := range []string{"wrong", ""} {
		if out, ok := b.git(dir, "ls-remote", b.at(wrong)); ok || strings.Contains(out, "refs/") {
			t.Errorf("with the password %q: %s", wrong, out)
		}
	}
	b.write("an0ther")
	if _, ok := b.git(dir, "ls-remote", b.at("s3cret")); ok {
		t.Error("the former password still counts")
	}
	if out, ok := b.git(dir, "ls-remote", b.at("an0ther")); !ok {
		t.Errorf("the new password: %s", out)
	}
	b.write("")
	if _, ok := b.git(dir, "ls-remote", b.at("")); ok {
		t.Error("an empty password counts")
	}
}

// Each version of the protocol pushes and clones, also what git sends without a length
// because it is large.
func TestEachProtocolTakesALargePush(t *testing.T) {
	for _, version := range []string{"0", "1", "2"} {
		b := newBed(t)
		dir := t.TempDir()
		large := make([]byte, 4<<20)
		if _, err := rand.Read(large); err != nil { // so that it stays large
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "large"), large, 0o600); err != nil {
			t.Fatal(err)
		}
		clone := filepath.Join(t.TempDir(), "clone")
		for _, args := range [][]string{
			{"init", "--quiet", "--initial-branch", "main"}, {"add", "large"}, {"commit", "--quiet", "-m", "one"},
			{"-c", "protocol.version=" + version, "push", "--quiet", b.at("s3cret"), "main"},
			{"-c", "protocol.version=" + version, "clone", "--quiet", b.at("s3cret"), clone},
		} {
			if out, ok := b.git(dir, args...); !ok {
				t.Fatalf("version %s, git %q: %s", version, args, out)
			}
		}
		if have, err := os.ReadFile(filepath.Join(clone, "large")); err != nil || !bytes.Equal(have, large) {
			t.Errorf("version %s: the clone has %d bytes of %d, %v", version, len(have), len(large), err)
		}
	}
}

// A branch is not rewritten and not deleted.
func TestBranchesGoOn(t *testing.T) {
	b := newBed(t)
	dir := t.TempDir()
	b.git(dir, "init", "--quiet", "--initial-branch", "main")
	for _, message := range []string{"one", "two"} {
		b.git(dir, "commit", "--quiet", "--allow-empty", "-m", message)
	}
	if out, ok := b.git(dir, "push", "--quiet", b.at("s3cret"), "main"); !ok {
		t.Fatalf("push: %s", out)
	}
	if out, ok := b.git(dir, "push", "--quiet", "--force", b.at("s3cret"), "main~1:main"); ok {
		t.Errorf("rewritten: %s", out)
	}
	if out, ok := b.git(dir, "push", "--quiet", b.at("s3cret"), ":main"); ok {
		t.Errorf("deleted: %s", out)
	}
}

// Nothing else is served, whatever the path says.
func TestOnlyTheRepository(t *testing.T) {
	b := newBed(t)
	const refs = "/fleet.git/info/refs?service=git-receive-pack"
	for path, want := range map[string]int{
		"/healthz": http.StatusOK, refs: http.StatusOK, "/": http.StatusNotFound, "/other.git" + refs: http.StatusNotFound,
		"/fleet.git/HEAD": http.StatusNotFound, "/fleet.git/config": http.StatusNotFound, "/fleet.git/git-upload-archive": http.StatusNotFound,
		"/other.git/../fleet.git/info/refs": http.StatusNotFound, "/fleet.git/../../etc/passwd": http.StatusNotFound,
		"/fleet.git/%2e%2e/fleet.git/info/refs": http.StatusNotFound, "/..%2ffleet.git/info/refs": http.StatusNotFound,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("git", "s3cret")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, answer.Status, want)
		}
	}
}
