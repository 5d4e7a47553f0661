package up

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/gitserver"
)

// These are reports about commands of this kind; test/field/up has them all.

// A branch that an empty repository does not have is made there, and a run after it pushes
// nothing more.
func TestTheFirstPushMakesAnyBranch(t *testing.T) {
	s, err := gitserver.Start(t.Context(), gitserver.Config{})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	must(t, s.Create(t.Context(), "fleet"))
	a := exampleAnswers()
	a.Repository, a.Branch, a.Login = s.URL("fleet"), "release/1.0", false
	files := rendered(t, a)
	pushes := 0
	for range 2 {
		b := &builder{app: &command.App{Streams: command.Streams{Err: &bytes.Buffer{}}}, dir: filepath.Join(t.TempDir(), "fleet"), answers: a, files: files}
		b.git = git{dir: b.dir}
		if s.Count("fleet", gitserver.Push) > 0 {
			if err := b.lookRefs(t.Context()); !errcode.Is(err, errcode.Conflict) {
				t.Errorf("another folder takes the repository: %v", err)
			}
			continue
		}
		for range 2 {
			must(t, b.lookRefs(t.Context()))
			must(t, b.generate(t.Context()))
			must(t, b.commit(t.Context()))
			if pushes == 0 {
				pushes = s.Count("fleet", gitserver.Push)
			}
		}
		if have, err := b.git.run(t.Context(), "ls-remote", "origin"); err != nil || !strings.HasSuffix(have, "refs/heads/release/1.0") {
			t.Errorf("upstream has %s, %v", have, err)
		}
	}
	if n := s.Count("fleet", gitserver.Push); pushes == 0 || n != pushes {
		t.Errorf("%d calls of pushes, after %d", n, pushes)
	}
}

// What a person's own git is told to do changes nothing of what is generated, pushed and merged.
func TestSettingsOfAPersonsGit(t *testing.T) {
	s, err := gitserver.Start(t.Context(), gitserver.Config{})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	n := 0
	for name, text := range map[string]string{
		"signs commits, and has no key":   "[commit]\ngpgSign = true\n[gpg]\nprogram = /nowhere\n",
		"signs pushes":                    "[push]\ngpgSign = if-asked\n[gpg]\nprogram = /nowhere\n",
		"shows signatures":                "[log]\nshowSignature = true\n",
		"merges only by moving forward":   "[merge]\nff = only\n",
		"has hooks that refuse":           "[core]\nhooksPath = HOME/hooks\n",
		"ignores all files":               "[core]\nexcludesFile = HOME/ignore\n",
		"has other ends of lines":         "[core]\nautocrlf = true\n",
		"colours what it prints":          "[color]\nui = always\n",
		"shows differences by a program":  "[diff]\nexternal = /bin/false\n",
		"hides untracked files":           "[status]\nshowUntrackedFiles = no\nbranch = true\n",
		"verifies what it merges":         "[merge]\nverifySignatures = true\n",
		"pushes nothing of itself":        "[push]\ndefault = nothing\n",
		"has a template of repositories":  "[init]\ntemplateDir = HOME/template\n",
		"names branches in another way":   "[init]\ndefaultBranch = trunk\n",
		"only uses identities of its own": "[user]\nuseConfigOnly = true\n",
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("XDG_CONFIG_HOME", home)
			refuses := "#!/bin/sh\nexit 1\n"
			for file, text := range map[string]string{
				".gitconfig": strings.ReplaceAll(text, "HOME", home), "ignore": "*\n",
				"hooks/pre-commit": refuses, "hooks/commit-msg": refuses, "hooks/pre-merge-commit": refuses, "hooks/prepare-commit-msg": refuses, "template/hooks/commit-msg": refuses,
			} {
				must(t, os.MkdirAll(filepath.Dir(filepath.Join(home, file)), 0o700))
				must(t, os.WriteFile(filepath.Join(home, file), []byte(text), 0o700))
			}
			n++
			repository := fmt.Sprintf("fleet-%d", n)
			must(t, s.Create(t.Context(), repository))
			a := exampleAnswers()
			a.Repository, a.Login = s.URL(repository), false
			b := &builder{app: &command.App{Streams: command.Streams{Err: &bytes.Buffer{}}}, dir: filepath.Join(t.TempDir(), "fleet"), answers: a, files: rendered(t, a)}
			b.git = git{dir: b.dir}
			for range 2 {
				must(t, b.lookRefs(t.Context()))
				must(t, b.generate(t.Context()))
				must(t, b.commit(t.Context()))
			}
			if have, err := b.git.run(t.Context(), "ls-tree", "-r", "--name-only", "HEAD"); err != nil || len(strings.Fields(have)) != len(b.files) {
				t.Errorf("the commit has %s, %v", have, err)
			}
			if have, err := b.git.run(t.Context(), "status", "--porcelain"); err != nil || have != "" {
				t.Errorf("after it the folder has %s, %v", have, err)
			}
			var out bytes.Buffer
			u := &upgrader{app: &command.App{Streams: command.Streams{Out: &out, Err: &out}}, dir: b.dir, version: "9.9.9", from: newer(t, map[string]func(string) string{"new.yaml": func(string) string { return "kind: New\n" }})}
			must(t, u.upgrade(t.Context()))
			if have, err := b.git.run(t.Context(), "show", "axle-up/9.9.9:new.yaml"); err != nil || have != "kind: New" {
				t.Errorf("the branch has %s, %v: %s", have, err, out.String())
			}
		})
	}
}

// A context that the kubeconfig does not have, and answers that nobody is there to give, are
// named before anything is written.
func TestWhatIsMissingIsNamedFirst(t *testing.T) {
	s, err := gitserver.Start(t.Context(), gitserver.Config{})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	must(t, s.Create(t.Context(), "fleet"))
	kubeconfig := filepath.Join(t.TempDir(), "config")
	text := []byte("apiVersion: v1\nkind: Config\ncurrent-context: kind\nclusters: [{name: kind, cluster: {server: \"https://127.0.0.1:1\"}}]\nusers: [{name: me, user: {}}]\ncontexts: [{name: kind, context: {cluster: kind, user: me}}]\n")
	must(t, os.WriteFile(kubeconfig, text, 0o600))
	for name, c := range map[string]struct {
		given answers
		want  string
	}{
		"the context": {answers{URL: "https://axle.example.test", Email: "you@example.test", Repository: s.URL("fleet")}, `"prod"`},
		"the URL":     {answers{Email: "you@example.test", Repository: s.URL("fleet")}, "--url is missing"},
	} {
		b := &builder{app: &command.App{Streams: command.Streams{In: strings.NewReader("yes\n"), Err: &bytes.Buffer{}}}, dir: filepath.Join(t.TempDir(), "fleet"), given: c.given, kubeconfig: kubeconfig, kubeContext: "prod"}
		if err := b.local(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(b.dir); err == nil {
			t.Errorf("%s: the folder is there", name)
		}
	}
	if have, err := os.ReadFile(kubeconfig); err != nil || !bytes.Equal(have, text) || s.Count("fleet", gitserver.Push) > 0 {
		t.Errorf("the kubeconfig is %s, %v", have, err)
	}
}

// What is to be typed next is for the cluster that was given, and not for the current one. A
// hub with an authority of its own is trusted nowhere else, and a repository that the cluster
// serves is reached by nobody who does not know how.
func TestCommandsAreForTheClusterThatWasGiven(t *testing.T) {
	dir := t.TempDir()
	served := exampleAnswers()
	served.Repository = ""
	served.complete()
	kubectl := "  kubectl --kubeconfig '" + filepath.Join(dir, "my config") + "' --context mgmt -n axle "
	for name, c := range map[string]struct {
		answers *answers
		own     bool
		want    []string
		not     string
	}{
		"a repository elsewhere": {exampleAnswers(), false, []string{kubectl + "exec axle-0 -- ", "commits to https://git.example.com/you/fleet.git"}, "--ca"},
		"all on the cluster":     {served, true, []string{kubectl + "exec axle-0 -- ", kubectl + "get configmap axle-ca ", "axle login https://axle.example.com --ca ca.pem", kubectl + "port-forward service/axle-git 8443:8443"}, "axle-git.axle.svc"},
	} {
		b := &builder{answers: c.answers, kubeconfig: filepath.Join(dir, "my config"), kubeContext: "mgmt"}
		have := b.next(c.own)
		for _, want := range c.want {
			if !strings.Contains(have, want) {
				t.Errorf("%s: it has no %q:\n%s", name, want, have)
			}
		}
		if strings.Contains(have, c.not) {
			t.Errorf("%s: it has %q:\n%s", name, c.not, have)
		}
	}
}
