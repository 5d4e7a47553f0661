package kube_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/program"
)

// TestLeasesOfProcesses finds that processes of one keeper use an API server one after the other,
// and that the next one finds nothing of those before, however they ended. They have a keeper of
// their own, so that nobody else has what was given back.
func TestLeasesOfProcesses(t *testing.T) {
	folder := t.TempDir()
	keeper, err := program.Keep(folder)
	must(t, err)
	defer func() { must(t, keeper.Close()) }()

	one := newLessee(t, folder)
	url, fresh := one.ask("lease"), one.ask("what")
	beside := newLessee(t, folder)
	other := beside.ask("lease")
	if other == url {
		t.Errorf("two processes have the API server at %s at the same time", url)
	}
	one.ask("use")
	one.ask("close")
	one.end()
	for _, how := range []string{"use", "pause"} { // and is killed
		next := newLessee(t, folder)
		if now := next.ask("lease"); now != url {
			t.Errorf("leased: %s, want %s, which nobody has", now, url)
		}
		if have := next.ask("what"); have != fresh {
			t.Errorf("it holds\n%q\nand not\n%q", have, fresh)
		}
		next.ask(how)
		must(t, next.cmd.Process.Kill())
		next.cmd.Wait()
	}
	next := newLessee(t, folder)
	if now := next.ask("lease"); now != url {
		t.Errorf("leased after a process was killed: %s, want %s", now, url)
	}
	if have := next.ask("what"); have != fresh {
		t.Errorf("after a process was killed it holds\n%q\nand not\n%q", have, fresh)
	}
	next.ask("restart") // another process of the same server
	next.ask("close")
	beside.ask("close")

	// What was written after the end is found by another process, and noted for all.
	last := newLessee(t, folder)
	if now := last.ask("lease"); now != url && now != other {
		t.Errorf("leased after a restart: %s, want one of the two that there are", now)
	}
	last.ask("close")
	last.ask("late")
	last.end()
	last = newLessee(t, folder)
	last.ask("lease")
	notes, err := os.ReadFile(filepath.Join(folder, program.NotesFile))
	if err != nil || !strings.Contains(string(notes), "is not used again: ") || !strings.Contains(string(notes), "was written after cluster lessee of kube.test was closed") {
		t.Errorf("noted: %q, %v", notes, err)
	}
	if servers, err := filepath.Glob(filepath.Join(folder, "kube-*", "clusters", "server-*")); err != nil || len(servers) != 2 {
		t.Errorf("API servers %q, %v; want the two that were used at the same time", servers, err)
	}
	last.ask("close")
	last.ask("as new")
	last.ask("as new, with controllers")
	last.ask("stopped")
	last.end()
	// The keeper is no input of a result.
	inputs, err := os.ReadFile(last.inputs)
	must(t, err)
	for _, line := range strings.Split(string(inputs), "\n") {
		if strings.HasPrefix(line, "getenv "+program.KeeperVariable) {
			t.Errorf("%s: Go takes it as an input of the test", line)
		}
	}
	if !strings.Contains(string(inputs), "getenv AXLE_KUBEDEV") {
		t.Errorf("the inputs of the test are %q", inputs)
	}
}

// lessee is a process with a lease.
type lessee struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     *os.File
	out    *bufio.Reader
	inputs string // the file in which the testing package lists what Go's cache looks at
}

func newLessee(t *testing.T, folder string) *lessee {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	l := &lessee{t: t, inputs: filepath.Join(t.TempDir(), "inputs")}
	l.cmd = exec.CommandContext(t.Context(), self, "-test.run=^TestAsLessee$", "-test.testlogfile="+l.inputs)
	l.cmd.Env = append(os.Environ(), program.KeeperVariable+"="+folder, "KUBE_TEST_LESSEE=1")
	l.cmd.Stdout, l.cmd.Stderr = os.Stderr, os.Stderr
	in, commands, err := os.Pipe()
	must(t, err)
	answers, out, err := os.Pipe()
	must(t, err)
	l.cmd.Stdin, l.in, l.cmd.ExtraFiles, l.out = in, commands, []*os.File{out}, bufio.NewReader(answers)
	must(t, l.cmd.Start())
	must(t, errors.Join(in.Close(), out.Close()))
	t.Cleanup(func() { l.in.Close(); answers.Close() })
	return l
}

// ask has the process do something, and returns its answer.
func (l *lessee) ask(command string) string {
	l.t.Helper()
	_, err := fmt.Fprintln(l.in, command)
	must(l.t, err)
	answer, err := l.out.ReadString('\n')
	if err != nil {
		l.t.Fatalf("%s: no answer: %v", command, err)
	}
	return answer
}

// end ends the process as tests end.
func (l *lessee) end() {
	l.t.Helper()
	must(l.t, l.in.Close())
	must(l.t, l.cmd.Wait())
}

// TestAsLessee is the process, and nothing in any other one.
func TestAsLessee(t *testing.T) {
	if os.Getenv("KUBE_TEST_LESSEE") == "" {
		return
	}
	answers := os.NewFile(3, "answers")
	var cluster *kube.Cluster
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); {
		answer := ""
		switch commands.Text() {
		case "lease":
			var err error
			cluster, err = kube.Lease(t.Context(), kube.ClusterConfig{Name: "lessee", Audit: true})
			must(t, err)
			answer = cluster.URL()
		case "what":
			have := whatItHolds(t, cluster)
			slices.Sort(have)
			answer = fmt.Sprintf("%q", have)
		case "use":
			use(t, cluster)
		case "late": // while it is not used
			must(t, syscall.Kill(cluster.APIServerPID(), syscall.SIGCONT))
			use(t, cluster)
		case "pause":
			use(t, cluster)
			must(t, cluster.Pause())
		case "restart":
			must(t, cluster.Restart(t.Context()))
		case "close":
			must(t, cluster.Close())
		case "as new":
			leaseIsAsNew(t, kube.ClusterConfig{Audit: true})
		case "as new, with controllers":
			leaseIsAsNew(t, kube.ClusterConfig{Audit: true, Controllers: true, Kwok: true})
		case "stopped":
			stoppedIsNotLeased(t)
		}
		_, err := fmt.Fprintln(answers, answer)
		must(t, err)
	}
}
