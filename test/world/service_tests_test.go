package world_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/world"
)

// testJob is a Job that a service brings as a test; its script sees the folder
// of the test's marks as /state.
func testJob(state, name, annotations, script string) string {
	quoted, _ := json.Marshal(script)
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: %s, annotations: {%s}}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      containers:
      - {name: main, image: "axle.test/sh:1", command: [/usr/local/bin/sh, -c], args: [%s], volumeMounts: [{name: state, mountPath: /state}]}
      volumes: [{name: state, hostPath: {path: %q}}]
`, name, annotations, quoted, state)
}

// testRow is a test as "axle services tests -o json" shows it.
type testRow struct {
	Revision int64  `json:"revision"`
	Test     string `json:"test"`
	State    string `json:"state"`
	Attempt  int    `json:"attempt"`
	Attempts int    `json:"attempts"`
	Message  string `json:"message"`
	Tail     string `json:"tail"`
	Duration string `json:"duration"`
	Report   *struct {
		Tests    int `json:"tests"`
		Failures int `json:"failures"`
	} `json:"report"`
}

func (s *stage) tests(service string) (map[string]testRow, error) {
	result, err := s.Axle(s.t.Context(), "services", "tests", service, "-o", "json")
	if err != nil {
		return nil, err
	}
	var rows []testRow
	if err := json.Unmarshal([]byte(result.Out), &rows); err != nil {
		return nil, err
	}
	all := map[string]testRow{}
	for _, r := range rows {
		all[r.Test] = r
	}
	return all, nil
}

// TestTestsGateDependents: a service brings two tests, one of which fails at
// first. Its log is seen live, what depends on the service is held, the test
// runs again and passes, and the dependent is released. The next revision's
// tests fail for good: the dependent's next revision stays held.
func TestTestsGateDependents(t *testing.T) {
	t.Parallel()
	s := newStageOf(t, world.Config{Clusters: []string{"edge"}, Pods: true, Hub: []string{"--repo-poll-interval", "2s"}})
	s.Cluster("edge").SetBinary("sh", "/bin/sh")
	state := filepath.Join(s.Dir, "state")
	s.must(os.Mkdir(state, 0o777))
	mark := func(name string) { s.must(os.WriteFile(filepath.Join(state, name), nil, 0o644)) }
	flaky := "echo tries; if [ -e /state/second ]; then echo works now; exit 0; fi\n" +
		"while [ ! -e /state/seen ]; do sleep 0.1; done\ntouch /state/second; echo breaks; exit 9"
	junit := "echo -----BEGIN JUNIT-----; echo '<testsuite name=\"x\"><testcase name=\"a\"/><testcase name=\"b\"/></testsuite>'; echo -----END JUNIT-----"
	chart := func(version, script string) {
		_, err := s.Git.Commit(t.Context(), "fleet", "main", "chart "+version, map[string]string{
			"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: " + version + "\n", "shop/templates/one.yaml": object("one", version),
			"shop/templates/tests/flaky.yaml": testJob(state, "flaky", `helm.sh/hook: test, axle-cd.github.io/test-retries: "1"`, script),
			"shop/templates/tests/suite.yaml": testJob(state, "suite", "axle-cd.github.io/hook: Test", junit),
			"web/one.yaml":                    object("one", version),
		})
		s.must(err)
	}
	chart("1.0.0", flaky)
	s.axle("services", "create", "edge/shop", "--repo", "fleet", "--ref", "main", "--folder", "shop")
	s.axle("services", "create", "edge/web", "--repo", "fleet", "--ref", "main", "--folder", "web", "--depends-on", "shop")

	eventually.For(t, within, "the log of a test is seen while it runs", func() error {
		tests, err := s.tests("edge/shop")
		if f := tests["shop/flaky"]; err == nil && (f.State != "Running" || !strings.Contains(f.Tail, "tries") || tests["shop/suite"].State != "Passed") {
			err = fmt.Errorf("tests: %+v", tests)
		}
		return err
	})
	s.state("edge", "web", "Pending", `waits for service "shop", whose tests run`)
	if _, err := s.get("edge", "web", "one"); err == nil {
		t.Error("the dependent is applied while the tests run")
	}
	mark("seen")
	followed, err := s.Axle(t.Context(), "services", "tests", "edge/shop", "--follow", "--timeout", "2m")
	if err != nil || !strings.Contains(followed.Out, "shop/flaky | works now") || !strings.Contains(followed.Out, "Passed") {
		t.Errorf("followed: %v: %s", err, followed.Out)
	}
	s.says("edge", "web", "1.0.0")
	tests, err := s.tests("edge/shop")
	s.must(err)
	if f := tests["shop/flaky"]; f.State != "Passed" || f.Attempt != 2 || f.Attempts != 2 || f.Duration == "" {
		t.Errorf("flaky: %+v", f)
	}
	if r := tests["shop/suite"].Report; r == nil || r.Tests != 2 || r.Failures != 0 {
		t.Errorf("suite: %+v", tests["shop/suite"])
	}
	if jobs, err := s.Kubectl(t.Context(), "edge", "get", "jobs", "-n", "shop", "-o", "name"); err != nil || strings.Count(jobs.Out, "\n") != 2 {
		t.Errorf("Jobs: %s, %v", jobs.Out, err)
	}

	chart("2.0.0", "echo never; exit 4")
	s.eventual("the tests of the new version are followed, and fail", func() error {
		failed, err := s.Axle(t.Context(), "services", "tests", "edge/shop", "--follow", "--timeout", "2m")
		if err == nil || !strings.Contains(failed.Out, "shop/flaky | never") {
			return fmt.Errorf("followed: %w: %s", err, failed.Out) // it may show the run before
		}
		return nil
	})
	s.state("edge", "web", "Pending", `waits for service "shop", whose tests failed: shop/flaky: container main ended with exit code 4`)
	s.state("edge", "shop", "Synced", "Healthy", "tests: test shop/flaky failed")
	s.says("edge", "web", "1.0.0")

	// A person looks into it and asks for another sync, which tests again.
	mark("fixed")
	chart("2.0.1", "test -e /state/fixed")
	s.says("edge", "web", "2.0.1")
}
