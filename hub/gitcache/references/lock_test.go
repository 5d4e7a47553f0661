package references_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/references"
)

// TestLock: a lock that contradicts its chart deploys neither's version. The digests are
// Helm's: helm dependency build refuses what is out of sync here.
func TestLock(t *testing.T) {
	t.Parallel()
	chart := func(version string) string {
		return "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- name: redis\n  version: \"" + version + "\"\n  repository: https://charts.example.test\n" +
			"  condition: redis.enabled\n  tags: [cache]\n  import-values:\n  - data\n  - {child: a, parent: b}\n"
	}
	const twice = "dependencies:\n- {name: redis, version: ^17.0.0, repository: \"https://charts.example.test\", alias: old}\n- {name: redis, version: ^18.0.0, repository: \"https://charts.example.test\"}\n"
	lock := func(version, repository, digest string) string {
		return "dependencies:\n- name: redis\n  repository: " + repository + "\n  version: " + version + "\ndigest: " + digest + "\ngenerated: \"2026-01-01T00:00:00Z\"\n"
	}
	const charts, stale = "https://charts.example.test", "out of sync with the chart; run helm dependency update"
	const in17, in18 = "sha256:0bd44eb917b03d2d45a19878775585aa945e397b83dda179571da52a1d7b674f", "sha256:9f11262c385b55073e72e3ebd67e308dc439c16d0fa8e74410f180fbbc7cfa17"
	for name, tt := range map[string]struct {
		chart, lock string
		want        []string // versions, or what the problem says
	}{
		"no lock":                           {chart(">=17"), "", []string{">=17"}},
		"as Helm locked it":                 {chart("^17.0.0"), lock("17.1.2", charts, in17), []string{"17.1.2"}},
		"the range was raised":              {chart("^18.0.0"), lock("17.1.2", charts, in17), []string{stale}},
		"the locked version was changed":    {chart("^17.0.0"), lock("17.0.0", charts, in17), []string{stale}},
		"a pre-release that Helm locked":    {chart("^18.0.0"), lock("18.1.0-rc.1", charts, in18), []string{"18.1.0-rc.1"}},
		"another repository, by Helm":       {chart("^17.0.0"), lock("17.1.2", "https://old.example.test", in17), []string{stale}},
		"a digest of something else":        {chart("^17.0.0"), lock("17.1.2", charts, "invalid"), []string{stale}},
		"by hand, inside the range":         {chart(">=17"), lock("17.1.2", charts, ""), []string{"17.1.2"}},
		"by hand, outside the range":        {chart("^18.0.0"), lock("17.1.2", charts, ""), []string{`is locked at version "17.1.2", which "^18.0.0" excludes`}},
		"by hand, another exact version":    {chart("18.0.0"), lock("17.1.2", charts, ""), []string{`"18.0.0" excludes`}},
		"by hand, from another repository":  {chart(">=17"), lock("17.1.2", "https://old.example.test", ""), []string{`another repository, "https://old.example.test"`}},
		"by hand, a slash at the URL's end": {chart(">=17"), lock("17.1.2", charts+"/", ""), []string{"17.1.2"}},
		"by hand, nothing of it":            {chart(">=17"), "dependencies:\n- {name: nats, version: 1.0.0, repository: \"" + charts + "\"}\n", []string{">=17"}},
		"the same chart twice": {twice, "dependencies:\n- {name: redis, version: 17.1.2, repository: \"" + charts + "\"}\n- {name: redis, version: 18.0.1, repository: \"" + charts + "\"}\n",
			[]string{"17.1.2", "18.0.1"}},
		"not YAML": {chart(">=17"), "{{", []string{">=17"}},
		"null":     {chart(">=17"), "dependencies: [null]\ndigest: \"\"\n", []string{">=17"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, external := references.Chart([]byte(tt.chart), []byte(tt.lock))
			if len(external) != len(tt.want) {
				t.Fatalf("%d dependencies, want %d", len(external), len(tt.want))
			}
			for i, want := range tt.want {
				got := external[i]
				if said := got.Problem != ""; said && !strings.Contains(got.Problem, want) || !said && got.Version != want {
					t.Errorf("version %q, problem %q; want %q", got.Version, got.Problem, want)
				}
			}
		})
	}
}
