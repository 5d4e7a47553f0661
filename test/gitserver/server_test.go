package gitserver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/gitserver"
)

func start(t *testing.T, c gitserver.Config) *gitserver.Server {
	t.Helper()
	s, err := gitserver.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Create(t.Context(), "team/app"); err != nil {
		t.Fatal(err)
	}
	return s
}

func commit(t *testing.T, s *gitserver.Server, files map[string]gitserver.Content) string {
	t.Helper()
	id, err := s.Commit(t.Context(), "team/app", "main", "change", files)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func clone(t *testing.T, url string, args ...string) (string, string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	cmd := exec.CommandContext(t.Context(), "git", append(args, "clone", "-q", url, dir)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	out, err := cmd.CombinedOutput()
	return dir, string(out), err
}

func TestCloneAndLog(t *testing.T) {
	s := start(t, gitserver.Config{})
	commit(t, s, map[string]gitserver.Content{"a/b.txt": "one", "run": gitserver.Executable("x"), "l": gitserver.Link("a"), "old": "x"})
	commit(t, s, map[string]gitserver.Content{"a/b.txt": "two", "old": gitserver.Removed()})
	dir, out, err := clone(t, s.URL("team/app"))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "l/b.txt")); err != nil || string(raw) != "two" {
		t.Errorf("l/b.txt is %q, %v", raw, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "run")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("run: %v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "old")); err == nil {
		t.Error("old was not removed")
	}
	if s.Count("team/app", gitserver.LsRefs) != 1 || s.Count("team/app", gitserver.Fetch) != 1 {
		t.Errorf("log is %+v", s.Log("team/app"))
	}
	for _, e := range s.Log("team/app") {
		if e.End.IsZero() || e.Kind == gitserver.Fetch && (e.Bytes == 0 || len(e.Wants) == 0) {
			t.Errorf("event %+v", e)
		}
	}
}

func TestFaults(t *testing.T) {
	s := start(t, gitserver.Config{})
	commit(t, s, map[string]gitserver.Content{"a": strings.Repeat("text ", 10)})
	for name, f := range map[string]gitserver.Fault{
		"500":   {Status: 500},
		"html":  {Body: "<html>\nsign in</html>\n"},
		"reset": {Reset: true},
		"cut":   {Only: gitserver.Fetch, CutAt: 50},
	} {
		s.SetFault("team/app", f)
		if _, _, err := clone(t, s.URL("team/app")); err == nil {
			t.Errorf("%s: cloned", name)
		}
	}
	s.SetFault("team/app", gitserver.Fault{})
	if err := s.Down(); err != nil {
		t.Fatal(err)
	}
	if _, out, err := clone(t, s.URL("team/app")); err == nil {
		t.Error("cloned from a server that is down: " + out)
	}
	if err := s.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, out, err := clone(t, s.URL("team/app")); err != nil {
		t.Errorf("after the faults: %v: %s", err, out)
	}
}

func TestTLSAndPassword(t *testing.T) {
	s := start(t, gitserver.Config{TLS: true, Username: "u", Password: "p"})
	commit(t, s, map[string]gitserver.Content{"a": "1"})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte(s.CA()), 0o600); err != nil {
		t.Fatal(err)
	}
	good := strings.Replace(s.URL("team/app"), "https://", "https://u:p@", 1)
	if _, out, err := clone(t, good, "-c", "http.sslCAInfo="+ca); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if _, _, err := clone(t, s.URL("team/app"), "-c", "http.sslCAInfo="+ca); err == nil {
		t.Error("cloned without a password")
	}
	if _, _, err := clone(t, good); err == nil {
		t.Error("cloned without the authority")
	}
}

func TestCheckSpacingSeesOverlapAndHaste(t *testing.T) {
	at := func(sec int) time.Time { return time.Unix(int64(1000+sec), 0) }
	ev := func(from, to int) gitserver.Event {
		return gitserver.Event{Kind: gitserver.Fetch, Start: at(from), End: at(to)}
	}
	for name, tt := range map[string]struct {
		log []gitserver.Event
		ok  bool
	}{
		"apart":   {[]gitserver.Event{ev(0, 1), ev(5, 6)}, true},
		"haste":   {[]gitserver.Event{ev(0, 1), ev(4, 6)}, false},
		"overlap": {[]gitserver.Event{ev(0, 9), ev(6, 10)}, false},
		"open":    {[]gitserver.Event{{Kind: gitserver.Fetch, Start: at(0)}, ev(6, 10)}, false},
	} {
		if err := gitserver.CheckSpacing(tt.log, 5*time.Second, gitserver.Fetch); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
