package main_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/bucketserver"
	"github.com/axle-cd/axle/test/pages"
	"github.com/axle-cd/axle/test/port"
)

const backupPage = "docs/howto/back-up-and-restore.md"

// reader does what the page says, on this machine and with a bucket of its own.
type reader struct {
	*testing.T
	axle  string
	env   []string
	paths *strings.Replacer
	// serving is the command line of the hub, which runs if hub is set.
	serving []string
	hub     *process
}

// The page about backups works as it stands: its commands run in order. Only the
// folders, the store and the hub's address are the test's.
func TestTheBackupPage(t *testing.T) {
	store := bucketserver.Start(t)
	dir := t.TempDir()
	for _, name := range []string{"data", "backup", "safe"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	address, err := port.Address()
	if err != nil {
		t.Fatal(err)
	}
	axle, err := bin.Path(t.Context(), "axle", bin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	r := &reader{
		T: t, axle: axle,
		paths: strings.NewReplacer("/var/lib/axle", data, "/etc/axle/backup-keys", bucketserver.CredentialsFile(t, ""),
			"/backup/", filepath.Join(dir, "backup")+"/", "/practice", filepath.Join(dir, "practice"), "/safe/", filepath.Join(dir, "safe")+"/"),
		env: []string{"AXLE_HUB_LISTEN=" + address, "AXLE_HUB_BACKUP_ENDPOINT=" + store.URL, "AXLE_CONFIG=" + filepath.Join(dir, "axle.yaml"), "HOME=" + dir},
	}
	// Before the page begins, the hub was set up and runs without backups.
	first := start(t, []string{r.env[0]}, "serve", "--data-dir", data)
	r.runs(axle, "login", "http://"+address, "--setup-token-file", filepath.Join(data, "setup-token"), "--email", "you@example.com")
	r.runs(axle, "clusters", "create", "edge-1")
	if err := first.signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(data, "hub.key"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "safe", "hub.key"), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}

	said := r.reads()
	for command, want := range map[string]string{
		"axle hub status": ".backup in s3://backups/axle", "axle-hub backups": "axle-", "axle-hub restore s3:": "restored axle-",
		"axle clusters list": "edge-1", "axle hub confirm-restore": "restore confirmed", "axle-hub restore /": "restored before-upgrade.backup",
	} {
		if !strings.Contains(said[command], want) {
			t.Errorf("%s says %q, not %q", command, said[command], want)
		}
	}
	if n := len(said); n != 12 {
		t.Errorf("%d kinds of commands ran: %v", n, said)
	}
	for _, out := range said {
		if strings.Contains(out, bucketserver.Secret()) {
			t.Error("the bucket's secret is shown")
		}
	}
}

// reads runs the commands of the page, and returns what each kind of them said.
func (r *reader) reads() map[string]string {
	r.Helper()
	var all []pages.Command
	for _, program := range []string{"axle-hub", "axle", "mkdir", "cp"} {
		found, err := pages.Commands("../..", program)
		if err != nil {
			r.Fatal(err)
		}
		for _, c := range found {
			if c.Page == backupPage && !c.Named {
				c.Words = append([]string{program}, c.Words...)
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b pages.Command) int { return cmp.Compare(a.Line, b.Line) })
	said := map[string]string{}
	for _, c := range all {
		for i := range c.Words {
			c.Words[i] = r.paths.Replace(c.Words[i])
		}
		line := strings.Join(c.Words, " ")
		r.Logf("%s:%d: %s", c.Page, c.Line, line)
		switch {
		case strings.HasPrefix(line, "axle-hub serve"):
			r.serving = c.Words[1:]
			r.starts()
			continue
		case strings.HasPrefix(line, "axle-hub restore") && r.hub != nil: // "Stop the hub"
			if err := r.hub.signal(syscall.SIGTERM); err != nil {
				r.Fatal(err)
			}
			r.hub = nil
		case c.Words[0] == "axle" && r.hub == nil: // "and start the hub"
			r.starts()
		}
		path := c.Words[0]
		switch path {
		case "axle":
			path = r.axle
		case "axle-hub":
			path = program(r.T)
		}
		kind := line
		for _, prefix := range []string{"axle-hub backups", "axle-hub backup s3:", "axle-hub backup /", "axle-hub restore s3:", "axle-hub restore /", "mkdir", "cp"} {
			if strings.HasPrefix(line, prefix) {
				kind = prefix
				break
			}
		}
		said[kind] += r.runs(path, c.Words[1:]...)
	}
	return said
}

// starts starts the hub, and waits for the backup that it makes at once.
func (r *reader) starts() {
	r.Helper()
	r.hub = start(r.T, r.env, r.serving...)
	eventually.For(r, limit, "the first backup", func() error {
		if out := r.runs(r.axle, "hub", "status"); !strings.Contains(out, "the next at") {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
}

func (r *reader) runs(program string, args ...string) string {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), program, args...)
	cmd.Env = append(os.Environ(), r.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return string(out)
}
