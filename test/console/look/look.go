// Package look runs the browser tests of web/test on a stack (test/console/stack). Its own
// tests are those of how the console looks: each page and each overlay, for axe and at several
// widths, and the gallery. They run when a style sheet changes. What people do in the console is
// tested by test/console, whose results hold for other styles too (ADR 198), but for sheets that
// no page is looked at here with: TestLook fails when such a one is not among bin.Sheets' exceptions.
package look

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/console/stack"
	"github.com/axle-cd/axle/test/oidcserver"
)

// limit bounds the tests of one profile; the profile huge takes 9 minutes to fill.
const limit = 40 * time.Minute

// atOnce is how many profiles run at the same time: one waits for its clusters while
// the other's browser works. More are slower on two cores, not faster.
const atOnce = 2

// Tests are those of a folder of web/test, and the stack that they need.
type Tests struct {
	stack.Config
	// Folder is that of the profile's name if empty.
	Folder string
}

// Run runs the tests of folders, which begin in this order, and reports whether all ran: FILE
// chooses some files by name, and -run some folders.
func Run(t *testing.T, folders []Tests) bool {
	queue := make(chan Tests, len(folders))
	for _, one := range folders {
		if one.Folder == "" {
			one.Folder = one.Profile
		}
		queue <- one
	}
	close(queue)
	// Parallel subtests would start in any order.
	var running sync.WaitGroup
	var ran atomic.Int32
	for range atOnce {
		running.Go(func() {
			for one := range queue {
				t.Run(one.Folder, func(t *testing.T) {
					ran.Add(1)
					run(t, one)
				})
			}
		})
	}
	running.Wait()
	return int(ran.Load()) == len(folders) && os.Getenv("FILE") == ""
}

func run(t *testing.T, tests Tests) {
	root, err := bin.Root()
	if err != nil {
		t.Fatal(err)
	}
	web := filepath.Join(root, "web")
	files, config := files(t, web, tests), tests.Config
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	account := oidcserver.User{Subject: "s-kim", Name: "kim", Password: "kims password", Email: "kim@example.test", Groups: []string{"platform", "everybody"}}
	provider := oidcserver.New(t, account)
	config.Dir, config.Leases, config.Progress = t.TempDir(), true, t.Logf
	config.OIDC = &stack.OIDC{Issuer: provider.URL, Client: "axle", Secret: "hush", User: account.Name, Password: account.Password, Email: account.Email}
	s, err := stack.Start(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	provider.SetClient(oidcserver.Client{ID: "axle", Secret: "hush", Redirects: []string{s.World.Hub.URL + "/login/callback/sso"}, LoggedOut: []string{s.World.Hub.URL + "/logout/done"}})
	// Where this Node dies, the files behind the one that ended it have not run, and this fails.
	command := exec.CommandContext(ctx, "node", append([]string{"--test-reporter=tap", "test/all.mjs"}, files...)...)
	command.Dir = web
	command.Env = append(os.Environ(), "AXLE_STACK="+s.File(), "TZ=UTC")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if err := child.Start(command); err != nil {
		t.Fatal(err)
	}
	ran := report(t, bufio.NewScanner(out))
	if err := command.Wait(); err != nil {
		t.Errorf("node: %v", err)
	}
	if ran.passed == 0 || ran.skipped > 0 {
		t.Errorf("%d browser tests passed, %d were skipped; all must run", ran.passed, ran.skipped)
	}
}

// files are the tests of a folder.
func files(t *testing.T, web string, tests Tests) []string {
	t.Helper()
	inputs := []string{"web/test"} // the sources are in the hub
	if tests.Pages != bin.AnyStyle {
		inputs = append(inputs, "web/src/gallery") // which the hub has not
		if _, err := os.Stat(filepath.Join(web, "dist", "index.html")); err != nil {
			t.Fatal("the console is not built: run make web")
		}
	}
	if tests.Profile == stack.Real {
		inputs = append(inputs, "docs/cluster-metrics.md", "docs/logs.md", "docs/dashboards.md", "docs/howto", "examples/kinds", "deploy/dashboards") // their commands are run
	}
	for _, dir := range inputs {
		if err := bin.Inputs(dir); err != nil {
			t.Fatal(err)
		}
	}
	all, err := filepath.Glob(filepath.Join(web, "test", tests.Folder, "*.test.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	var chosen []string
	for _, one := range all {
		if strings.Contains(filepath.Base(one), os.Getenv("FILE")) {
			one, err = filepath.Rel(web, one)
			if err != nil {
				t.Fatal(err)
			}
			chosen = append(chosen, one)
		}
	}
	if len(chosen) == 0 {
		t.Fatalf("no file of web/test/%s is called *%s*", tests.Folder, os.Getenv("FILE"))
	}
	return chosen
}

type tally struct{ passed, skipped int }

var result = regexp.MustCompile(`^\s*(not ok|ok) \d+ - (.*?)( # (SKIP|TODO).*)?$`)

// report logs the output of Node, and counts its results.
func report(t *testing.T, lines *bufio.Scanner) (n tally) {
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if m := result.FindStringSubmatch(line); m != nil {
			switch {
			case m[3] != "":
				n.skipped++
			case m[1] == "ok":
				n.passed++
			}
		}
		t.Log(line)
	}
	return n
}
