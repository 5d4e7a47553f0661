package world_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/world"
)

// TestChartWithNamesByChance installs a chart as many are written: its tests and
// hooks have names that end in random letters, or leave them to the API server.
// Hooks run once a revision, whatever they are called and however often the agent
// is restarted; tests run, and the next revision's too.
func TestChartWithNamesByChance(t *testing.T) {
	t.Parallel()
	s := newStageOf(t, world.Config{Clusters: []string{"edge"}, Pods: true, Hub: []string{"--repo-poll-interval", "2s"}})
	s.Cluster("edge").SetBinary("sh", "/bin/sh")
	state := filepath.Join(s.Dir, "state")
	s.must(os.Mkdir(state, 0o777))
	run := func(line string) string {
		return fmt.Sprintf("restartPolicy: Never, terminationGracePeriodSeconds: 0, volumes: [{name: state, hostPath: {path: %q}}], "+
			`containers: [{name: main, image: "axle.test/sh:1", command: [/usr/local/bin/sh, -c], args: ["echo x >> /state/%s; {{ include "pod.more" . }}"], volumeMounts: [{name: state, mountPath: /state}]}]`, state, line)
	}
	pod := func(name, hook, line string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata:\n  " + name + "\n  annotations: {\"helm.sh/hook\": " + hook + ", \"helm.sh/hook-delete-policy\": \"before-hook-creation,hook-succeeded\"}\nspec: {" + run(line) + "}\n"
	}
	const chance = "-{{ randAlphaNum 5 | lower }}"
	chart := func(version string) {
		s.commitFiles("fleet", "chart "+version, map[string]string{
			"pod/Chart.yaml":             "apiVersion: v2\nname: pod\nversion: " + version + "\n",
			"pod/templates/_helpers.tpl": "{{- define \"pod.fullname\" -}}{{ .Release.Name }}-{{ .Chart.Name }}{{- end -}}\n{{- define \"pod.more\" -}}true # {{ .Chart.Version }}{{- end -}}\n",
			"pod/templates/one.yaml":     object("one", version),
			"pod/templates/hooks/job.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {{ template \"pod.fullname\" . }}-migrate" + chance +
				"\n  annotations: {\"helm.sh/hook\": \"pre-install,pre-upgrade\", \"helm.sh/hook-delete-policy\": hook-succeeded}\nspec: {backoffLimit: 0, template: {spec: {" + run("migrate") + "}}}\n",
			"pod/templates/hooks/after.yaml": pod("generateName: after-", `"post-install,post-upgrade"`, "after"),
			"pod/templates/tests/grpc.yaml":  pod(`name: {{ template "pod.fullname" . }}-grpc-test`+chance, "test-success", "grpc"),
			"pod/templates/tests/jwt.yaml":   pod(`name: {{ template "pod.fullname" . }}-jwt-test`+chance, "test-success", "jwt"),
		})
	}
	ran := func(what string, times int) {
		t.Helper()
		s.eventual(fmt.Sprintf("%s ran %d times", what, times), func() error {
			text, err := os.ReadFile(filepath.Join(state, what))
			if n := strings.Count(string(text), "\n"); err == nil && n != times {
				err = fmt.Errorf("%d times", n)
			}
			return err
		})
	}
	tested := func() {
		t.Helper()
		s.eventual("both tests passed", func() error {
			tests, err := s.tests("edge/pod")
			passed := map[string]bool{}
			for name, one := range tests {
				if one.State == "Passed" {
					passed[name[:strings.LastIndexByte(name, '-')]] = true
				}
			}
			if err == nil && (len(tests) != 2 || !passed["pod/pod-pod-grpc-test"] || !passed["pod/pod-pod-jwt-test"]) {
				err = fmt.Errorf("%+v", tests)
			}
			return err
		})
	}
	chart("1.0.0")
	s.axle("services", "create", "edge/pod", "--repo", "fleet", "--ref", "main", "--folder", "pod")
	s.says("edge", "pod", "1.0.0")
	tested()
	for _, what := range []string{"migrate", "after", "grpc", "jwt"} {
		ran(what, 1)
	}
	s.must(s.agents["edge"].Kill())
	s.must(s.agents["edge"].Start())
	s.rest()
	// A requested sync runs no hook, but the tests again.
	s.axle("services", "sync", "edge/pod", "--wait")
	ran("grpc", 2)
	ran("jwt", 2)
	ran("migrate", 1)
	ran("after", 1)

	chart("2.0.0")
	s.says("edge", "pod", "2.0.0")
	for what, times := range map[string]int{"migrate": 2, "after": 2, "grpc": 3, "jwt": 3} {
		ran(what, times)
	}
	tested()
	s.state("edge", "pod", "Synced", "Healthy")
}
