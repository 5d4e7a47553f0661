package up

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/install"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/gitversion"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/internal/repourl"
)

// upstream is what the repository upstream has.
type upstream struct {
	// empty is true before the first push, branch true if the branch is there.
	empty, branch bool
}

// preflight looks at everything that the later steps write to, and writes nothing.
func (b *builder) preflight(ctx context.Context) error {
	if err := gitversion.Check(ctx); err != nil {
		return err
	}
	if err := b.place(); err != nil {
		return err
	}
	if err := b.decide(); err != nil {
		return err
	}
	if err := b.lookFolder(ctx); err != nil {
		return err
	}
	if err := b.lookUpstream(ctx); err != nil {
		return err
	}
	return b.lookCluster(ctx)
}

// decide settles the answers: those of the folder, or of the flags and the person.
func (b *builder) decide() error {
	if err := b.login.check(); err != nil {
		return err
	}
	have, err := readAnswers(b.dir)
	if err != nil {
		return err
	}
	if have == nil {
		b.ask()
		b.given.Login, b.given.OwnValues = b.login.given(), b.values != ""
		b.given.complete()
		have = &b.given
	} else if err := have.contradicts(&b.given, b.dir); err != nil {
		return err
	}
	if err := have.check(); err != nil {
		return err
	}
	if have.Git == inCluster && b.login.given() {
		return errcode.New(errcode.Invalid, "the repository is on the Git server of the cluster, whose login axle up makes there: leave --username, --password-file and --ssh-key-file out, or give --repo in another folder")
	}
	if have.Login && have.Git == "" && !b.login.given() {
		return errcode.New(errcode.Invalid, "%s asks for a login, which is stored in no file here: give --username and --password-file, or --ssh-key-file, again", have.Repository)
	}
	b.answers, b.begun = have, have != &b.given
	return nil
}

// lookFolder refuses a folder with other files, and renders what is missing in it.
func (b *builder) lookFolder(ctx context.Context) error {
	files, err := foreign(b.dir)
	if err != nil {
		return err
	}
	b.git = git{dir: b.dir}
	if !b.begun && (len(files) > 0 || b.git.top() && b.git.is(ctx, "rev-parse", "--verify", "--quiet", "HEAD")) {
		return errcode.New(errcode.Conflict, "the folder %s is not empty (%s) and has no %s: run axle up in an empty folder, or name one with --dir; what you have can be copied into the repository afterwards", b.dir, strings.Join(append(files, "…"), ", "), answersFile)
	}
	own, err := b.ownValues()
	if err != nil {
		return err
	}
	have, err := os.ReadFile(filepath.Join(b.dir, filepath.FromSlash(hubValues)))
	switch {
	case err == nil && own != nil && !bytes.Equal(have, own):
		return errcode.New(errcode.Conflict, "%s of the repository has other values than %s: leave --values out to go on with those; they are changed there, with a commit, and then with axle upgrade --values %s", hubValues, b.values, hubValues)
	case err != nil && own == nil && b.begun && b.answers.OwnValues:
		return errcode.New(errcode.Invalid, "the values of the control plane are missing (%w): give --values again", err)
	case b.begun && b.answers.OwnValues && own == nil:
		own = have
	}
	from, err := skeleton()
	if err != nil {
		return err
	}
	b.files, err = render(from, b.answers, own)
	return err
}

// lookUpstream refuses a repository that others have filled.
func (b *builder) lookUpstream(ctx context.Context) error {
	if b.answers.Git == inCluster {
		return b.lookServed(ctx)
	}
	env, err := b.login.env(b.app, b.answers.Repository, b.answers.Repository)
	if err != nil {
		return err
	}
	b.git.env = env
	return b.lookRefs(ctx)
}

// lookServed looks at the Git server of the cluster, if it runs; the step that runs it looks
// again.
func (b *builder) lookServed(ctx context.Context) error {
	b.remote = upstream{empty: true}
	if err := b.reach(); err != nil {
		return err
	}
	if err := b.claimStays(ctx); err != nil {
		return err
	}
	if pod, err := b.gitPod(ctx); err != nil || pod == "" {
		return err
	}
	err := b.openGit(ctx)
	if err == nil {
		err = b.lookRefs(ctx)
	}
	if errcode.Is(err, errcode.Conflict) {
		return err
	}
	return nil
}

// lookRefs looks at the branches upstream.
func (b *builder) lookRefs(ctx context.Context) error {
	ask := b.git
	if _, err := os.Stat(b.dir); err != nil {
		ask.dir = ""
	}
	refs, err := ask.run(ctx, "ls-remote", b.answers.Repository)
	if err != nil && b.answers.Git == inCluster {
		return errcode.New(errcode.Unavailable, "the Git server of the cluster does not answer: %w; %s -n %s logs deployment/%s shows the reason", err, b.kubectl(), namespace, gitServer)
	}
	if err != nil {
		return errcode.New(errcode.Unavailable, "the repository %s cannot be read: %w; create it, empty, and give --username and --password-file, or --ssh-key-file", repourl.Shown(b.answers.Repository), err)
	}
	b.remote = upstream{empty: refs == ""}
	for line := range strings.Lines(refs) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if name == "refs/heads/"+b.answers.Branch {
			b.remote.branch = true
			return b.lookBranch(ctx, id)
		}
	}
	if !b.remote.empty {
		return b.filled()
	}
	return nil
}

// lookBranch wants the branch upstream to be that of this folder.
func (b *builder) lookBranch(ctx context.Context, id string) error {
	base := b.git.base(ctx, "HEAD")
	if base == "" {
		return b.filled()
	}
	if !b.git.is(ctx, "cat-file", "-e", id+"^{commit}") {
		if _, err := b.git.run(ctx, "fetch", "--quiet", b.answers.Repository, "refs/heads/"+b.answers.Branch); err != nil {
			return err
		}
	}
	if !b.git.is(ctx, "merge-base", "--is-ancestor", base, id) {
		return b.filled()
	}
	return nil
}

func (b *builder) filled() error {
	if b.answers.Git == inCluster {
		return errcode.New(errcode.Conflict, "the Git server of the cluster has a repository of another axle up, with other commits than this folder: run the command in the folder of that one; if it is lost, clone the repository (docs/install/up.md) and run the command in the clone")
	}
	return errcode.New(errcode.Conflict, "the repository %s has other commits than this folder, and nothing of it is overwritten: create an empty one (without a README); if axle up made its commits, clone it and run the same command in the clone", repourl.Shown(b.answers.Repository))
}

// reach makes the client of the cluster.
func (b *builder) reach() error {
	if b.kube != nil {
		return nil
	}
	config, err := command.Kubeconfig(b.kubeconfig, b.kubeContext)
	if err != nil {
		return err
	}
	b.kube, err = kubeapply.New(config)
	return err
}

// lookCluster checks the cluster as axle preflight does, with the values to be used.
func (b *builder) lookCluster(ctx context.Context) error {
	if err := b.reach(); err != nil {
		return err
	}
	if err := b.lookClusterAPI(); err != nil {
		return err
	}
	file, err := os.CreateTemp("", "axle-up-*.yaml")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	text := b.files[hubValues]
	if have, err := os.ReadFile(filepath.Join(b.dir, filepath.FromSlash(hubValues))); err == nil {
		text = have // it may have been changed since
	}
	if _, err := file.Write(text); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return install.Look(ctx, b.app, b.kubeconfig, b.kubeContext, release, namespace, file.Name())
}
