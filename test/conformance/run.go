package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/internal/child"
)

// Result is how one test went.
type Result struct {
	Name    string  `json:"name"`
	Passed  bool    `json:"passed"`
	Seconds float64 `json:"seconds"`
	// Message says why it did not pass.
	Message string `json:"message,omitempty"`
}

// Run is one pass over a list of tests.
type Run struct {
	Suite Suite
	// Kubeconfig reaches the cluster, as an administrator.
	Kubeconfig string
	// Tests are the names to run.
	Tests []string
	// Kwok leaves all pods to kwok, which calls them ready at once; otherwise
	// they run as processes.
	Kwok bool
	// Workers is how many processes run tests side by side.
	Workers int
	// Limit bounds one test.
	Limit time.Duration
	// Dir takes the logs of the processes.
	Dir string
	// Progress is told of each result.
	Progress func(done, all int, r Result)

	mu      sync.Mutex
	results map[string]Result
}

// alone are tests that others would disturb, or that disturb others.
var alone = regexp.MustCompile(`\[Serial\]|\[Disruptive\]`)

// Do runs the tests. The error tells what kept a test from being run at all;
// one that failed is in the results, which are sorted by name.
func (r *Run) Do(ctx context.Context) ([]Result, error) {
	r.results = map[string]Result{}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return nil, err
	}
	registries := "promoterE2eRegistry: axle.test\n"
	if r.Kwok {
		registries = "{}\n"
	}
	if err := os.WriteFile(r.registries(), []byte(registries), 0o644); err != nil {
		return nil, err
	}
	var together, single []string
	for _, name := range r.Tests {
		if alone.MatchString(name) {
			single = append(single, name)
		} else {
			together = append(together, name)
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for i := range r.Workers {
		var shard []string
		for j := i; j < len(together); j += r.Workers {
			shard = append(shard, together[j])
		}
		group.Go(func() error { return r.shard(groupCtx, fmt.Sprintf("shard-%d", i+1), shard) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := r.shard(ctx, "serial", single); err != nil {
		return nil, err
	}
	var all []Result
	for _, result := range r.results {
		all = append(all, result)
	}
	slices.SortFunc(all, func(a, b Result) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func (r *Run) registries() string { return filepath.Join(r.Dir, "registries.yaml") }

// shard runs tests one after the other, in a new process after each that was
// interrupted.
func (r *Run) shard(ctx context.Context, name string, tests []string) error {
	idle := 0
	for try := 1; ; try++ {
		left := slices.DeleteFunc(slices.Clone(tests), func(test string) bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			_, done := r.results[test]
			return done
		})
		if len(left) == 0 {
			return nil
		}
		process := fmt.Sprintf("%s-%d", name, try)
		ran, err := r.process(ctx, process, left)
		if err != nil {
			return err
		}
		if ran > 0 {
			idle = 0
		} else if idle++; idle == idleTries {
			return fmt.Errorf("%d processes of the suite ran none of %d tests, see %s", idle, len(left), filepath.Join(r.Dir, process+".log"))
		}
	}
}

const (
	// idleTries is how many processes may end without having run a test.
	idleTries = 3
	// startLimit bounds the time until a process runs its first test, which
	// takes 2 s on a free machine.
	startLimit = 3 * time.Minute
)

// event is one line of the suite, which declares the same fields.
type event struct {
	Name    string  `json:"name"`
	State   string  `json:"state"`
	Seconds float64 `json:"seconds"`
	Message string  `json:"message"`
	Where   string  `json:"where"`
}

// process runs tests in one process of the suite until all have run, or one
// was interrupted. It returns how many have a result.
func (r *Run) process(ctx context.Context, name string, tests []string) (int, error) {
	logPath, eventPath := filepath.Join(r.Dir, name+".log"), filepath.Join(r.Dir, name+".events")
	log, err := os.Create(logPath)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	events, err := os.Create(eventPath)
	if err != nil {
		return 0, err
	}
	defer events.Close()
	args := []string{
		"--kubeconfig=" + r.Kubeconfig, "--provider=skeleton", "--dump-logs-on-failure=false", "--report-dir=",
		"--disable-log-dump=true", "--non-blocking-taints=node-role.kubernetes.io/control-plane,axle.test/process", "--ginkgo.timeout=24h", "--ginkgo.grace-period=15s", "--ginkgo.no-color",
		"--ginkgo.silence-skips", "--ginkgo.v",
	}
	for _, test := range tests {
		args = append(args, "--ginkgo.focus="+regexp.QuoteMeta(test)+"$")
	}
	cmd := exec.Command(r.Suite.program, args...)
	cmd.Dir = r.Dir
	cmd.Env = append(os.Environ(), "KUBE_TEST_REPO_LIST="+r.registries(), "AXLE_SUITE_EVENTS="+eventPath)
	cmd.Stdout, cmd.Stderr = log, log
	if err := child.Start(cmd); err != nil {
		return 0, fmt.Errorf("start the suite: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return r.follow(ctx, cmd, done, bufio.NewReader(events))
}

// follow reads the events of a process until it has ended, and interrupts it
// when a test takes too long. It returns how many tests have a result.
func (r *Run) follow(ctx context.Context, cmd *exec.Cmd, done <-chan error, events *bufio.Reader) (ran int, err error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	var (
		ended   bool
		line    string
		running = "the start"
		since   = time.Now()
		limit   = startLimit
		signals int
	)
	for {
		select {
		case <-ctx.Done():
			child.Kill(cmd)
			<-done
			return ran, ctx.Err()
		case <-done:
			ended = true
		case <-tick.C:
		}
		for {
			part, err := events.ReadString('\n')
			line += part
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return ran, err
			}
			var e event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				return ran, fmt.Errorf("read an event of the suite: %w", err)
			}
			line = ""
			if e.State == "begins" {
				running, since, limit = e.Name, time.Now(), r.Limit
				continue
			}
			running = ""
			ran += r.record(Result{Name: e.Name, Passed: e.State == "passed", Seconds: e.Seconds, Message: describe(e)})
		}
		if ended {
			if slices.Contains(r.Tests, running) {
				ran += r.record(Result{Name: running, Message: "the suite ended while it ran"})
			}
			return ran, nil
		}
		// The first signal asks the test to end and clean up, the next ones
		// leave the cleaning out.
		if running != "" && time.Since(since) > limit+time.Duration(signals)*30*time.Second {
			signals++
			if signals > 3 {
				child.Kill(cmd)
			} else if err := child.Signal(cmd, syscall.SIGINT); err != nil {
				return ran, err
			}
		}
	}
}

func describe(e event) string {
	if e.State == "passed" {
		return ""
	}
	message := strings.Join(strings.Fields(e.Message), " ")
	if len(message) > 400 {
		message = message[:400] + "…"
	}
	return strings.TrimSpace(e.State + ": " + message)
}

// record keeps the first result of a test.
func (r *Run) record(result Result) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.results[result.Name]; ok {
		return 0
	}
	r.results[result.Name] = result
	if r.Progress != nil {
		r.Progress(len(r.results), len(r.Tests), result)
	}
	return 1
}
