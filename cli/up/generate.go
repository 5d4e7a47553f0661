package up

import (
	"context"
	"fmt"
	"os"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/repourl"
)

// generate writes the files that are missing. Once they are committed, a file that is
// missing was deleted by somebody, and stays so.
func (b *builder) generate(ctx context.Context) error {
	if b.git.base(ctx, "HEAD") != "" {
		return nil
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return errcode.New(errcode.Invalid, "make the folder: %w", err)
	}
	if err := atomicfile.RemoveUnfinished(b.dir); err != nil {
		return err
	}
	wrote := 0
	for _, name := range names(b.files) {
		did, err := write(b.dir, name, b.files[name])
		if err != nil {
			return err
		}
		if did {
			wrote++
		}
	}
	b.say("%d files written to %s", wrote, b.dir)
	return nil
}

// commit makes the first commit of the folder, of what was generated and nothing else,
// and pushes it, unless that is done.
func (b *builder) commit(ctx context.Context) error {
	branch := b.answers.Branch
	if !b.git.top() {
		if _, err := b.git.run(ctx, "init", "--quiet", "--initial-branch", branch); err != nil {
			return err
		}
	}
	base := b.git.base(ctx, "HEAD")
	if base == "" {
		var err error
		if base, err = b.git.store(ctx, b.files, b.answers, ""); err != nil {
			return err
		}
		if _, err := b.git.run(ctx, "symbolic-ref", "HEAD", "refs/heads/"+branch); err != nil {
			return err
		}
		if _, err := b.git.run(ctx, "update-ref", "refs/heads/"+branch, base, ""); err != nil {
			return err
		}
	}
	if staged, err := b.git.run(ctx, "ls-files"); err != nil || staged == "" {
		// The index of the first commit; the files are not touched.
		if _, err := b.git.run(ctx, "reset", "--quiet"); err != nil {
			return err
		}
	}
	// As it is written: get-url applies url.*.insteadOf.
	if have, err := b.git.run(ctx, "config", "--get", "remote.origin.url"); err != nil {
		if _, err := b.git.run(ctx, "remote", "add", "origin", b.answers.Repository); err != nil {
			return err
		}
	} else if !repourl.Same("git", have, b.answers.Repository) {
		return errcode.New(errcode.Conflict, "the remote origin of %s is %s, and %s has %s: git remote set-url origin %s", b.dir, repourl.Shown(have), answersFile, b.answers.Repository, b.answers.Repository)
	}
	if err := b.reachable(ctx); err != nil {
		return err
	}
	if b.remote.branch {
		return nil
	}
	_, err := b.git.run(ctx, "push", "--quiet", "--set-upstream", "origin", fmt.Sprintf("refs/heads/%[1]s:refs/heads/%[1]s", branch))
	if err == nil {
		b.say("pushed to %s, branch %s", b.answers.Repository, branch)
	}
	return err
}

// plan prints what a run would do.
func (b *builder) plan(steps []step) error {
	fmt.Fprintf(b.app.Out, "files in %s:\n", b.dir)
	for _, name := range names(b.files) {
		mark := "new"
		if _, err := os.Lstat(b.dir + "/" + name); err == nil {
			mark = "there"
		}
		fmt.Fprintf(b.app.Out, "  %-5s  %s\n", mark, name)
	}
	push := "is pushed"
	if b.remote.branch {
		push = "is there already"
	}
	fmt.Fprintf(b.app.Out, "branch %s of %s: %s\nsteps, each of which does only what is not done yet:\n", b.answers.Branch, b.answers.Repository, push)
	for _, s := range steps[1:] {
		fmt.Fprintf(b.app.Out, "  %-9s  %s\n", s.name, s.text)
	}
	_, err := fmt.Fprintln(b.app.Out, "nothing was done; run it without --dry-run")
	return err
}
