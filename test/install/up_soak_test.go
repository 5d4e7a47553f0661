//go:build soak

package install_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// axle up local and axle down are killed when each of their steps begins and when it has
// ended, and go on each time. Between the kills, answers that contradict are refused.
// What was taken down comes up again from the same repository, on the same cluster.
func TestUpAndDownKilledAtEachStep(t *testing.T) {
	s := beginStory(t)
	s.killedAtEachStep()

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

// So is a fleet whose repository is on the Git server of the cluster. Then it is moved to
// another Git server by the commands of its README.
func TestUpThatServesItselfKilledAtEachStep(t *testing.T) {
	s := beginServed(t, newBed(t))
	s.killedAtEachStep("--delete-repository")

	s.up()
	must(t, s.git.Create(t.Context(), "moved"))
	readme := filepath.Join(s.repo, "README.md")
	s.page(readme, 3)
	s.change("values/hello.yaml", "replicas: 2", "replicas: 4")
	s.eventually("a commit to the new repository reaches the cluster", s.replicas, "4")
	s.page(readme, 4)
	s.change("values/hello.yaml", "replicas: 4", "replicas: 2")
	s.eventually("a commit reaches the cluster without the pod", s.replicas, "2")
	s.must(append(s.flags, "--username", "you", "--password-file", filepath.Join(filepath.Dir(s.repo), "token"), "--ca-cert-file", filepath.Join(filepath.Dir(s.repo), "ca.pem"))...)
	s.must(s.down("--confirm", "fleet")...)
	s.isDown()
}

// killedAtEachStep brings everything up and takes it down, with more flags for axle down.
func (s *story) killedAtEachStep(more ...string) {
	s.t.Helper()
	down := s.down(append(more, "--confirm", "fleet")...)
	for _, step := range []string{"preflight", "generate", "git", "commit", "install", "connect", "bootstrap", "verify"} {
		s.killedAt(step+": ", s.flags...)
		if step != "verify" {
			s.killedAfter(step, s.flags...)
		}
		if step == "preflight" {
			continue // nothing is written
		}
		if _, errs, code := s.axle(append(s.flags, "--branch", "trunk", "--email", "other@example.test")...); code != 6 || !strings.Contains(errs, "--branch is main there, not trunk") || !strings.Contains(errs, "--email is you@example.test there") {
			s.t.Errorf("after %s, other answers: %d %s", step, code, errs)
		}
	}
	s.up()
	if commits := s.in("rev-list", "--count", "HEAD"); commits != "1" {
		s.t.Errorf("%s commits", commits)
	}
	for _, step := range []string{"preflight", "stop", "services", "declarations", "disconnect", "uninstall", "git", "namespace"} {
		s.killedAt(step+": ", down...)
		if step != "namespace" {
			s.killedAfter(step, down...)
		}
		if step == "stop" {
			s.up() // on second thoughts: a new root adopts what the one before left
		}
	}
	s.must(down...)
	s.isDown()
}

// up brings everything up, and looks for the example.
func (s *story) up() {
	s.t.Helper()
	s.must(s.flags...)
	s.eventually("the example runs", s.replicas, "2")
}
