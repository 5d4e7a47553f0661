//go:build soak

package install_test

import (
	"strings"
	"testing"
)

// axle up local and axle down are killed when each of their steps begins and when it has
// ended, and go on each time. Between the kills, answers that contradict are refused.
// What was taken down comes up again from the same repository, on the same cluster.
func TestUpAndDownKilledAtEachStep(t *testing.T) {
	s := beginStory(t)
	for _, step := range []string{"preflight", "generate", "commit", "install", "connect", "bootstrap", "verify"} {
		s.killedAt(step+": ", s.flags...)
		if step != "verify" {
			s.killedAfter(step, s.flags...)
		}
		if step == "preflight" {
			continue // nothing is written
		}
		if _, errs, code := s.axle(append(s.flags, "--branch", "trunk", "--email", "other@example.test")...); code != 6 || !strings.Contains(errs, "--branch is main there, not trunk") || !strings.Contains(errs, "--email is you@example.test there") {
			t.Errorf("after %s, other answers: %d %s", step, code, errs)
		}
	}
	s.up()
	if commits := s.in("rev-list", "--count", "HEAD"); commits != "1" {
		t.Errorf("%s commits", commits)
	}
	for _, step := range []string{"preflight", "stop", "services", "declarations", "disconnect", "uninstall", "namespace"} {
		s.killedAt(step+": ", s.down("--confirm", "fleet")...)
		if step != "namespace" {
			s.killedAfter(step, s.down("--confirm", "fleet")...)
		}
		if step == "stop" {
			s.up() // on second thoughts: a new root adopts what the one before left
		}
	}
	s.must(s.down("--confirm", "fleet")...)
	s.isDown()

	s.up()
	// An uninstall before axle down takes away the operator that lets go of what was
	// declared. The refusal names both ways on; the one that loses nothing is taken.
	s.must("uninstall", "--kubeconfig", s.Kubeconfig(), "--yes", "--force")
	if _, errs, code := s.axle(s.down("--confirm", "fleet")...); code != 6 || !strings.Contains(errs, "axle up local installs it again") || !strings.Contains(errs, "patch gitrepository.deployments.plural.sh fleet") {
		t.Errorf("without an operator: %d %s", code, errs)
	}
	s.up()
	s.must(s.down("--confirm", "fleet")...)
	s.isDown()
}

// up brings everything up, and looks for the example.
func (s *story) up() {
	s.t.Helper()
	s.must(s.flags...)
	s.eventually("the example runs", s.replicas, "2")
}
