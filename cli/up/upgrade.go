package up

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/gitversion"
)

// upgrader merges a newer skeleton into a repository.
type upgrader struct {
	app *command.App
	dir string
	// from and version are the newer skeleton.
	from    fs.FS
	version string
}

func upgrade(a *command.App) *cobra.Command {
	u := &upgrader{app: a, version: buildinfo.Version}
	c := &cobra.Command{
		Use:   "upgrade",
		Short: "Merge what this version would generate into the repository, on a branch",
		Long: `Merge the files that this version of axle generates into a repository that axle up made,
on the branch axle-up/VERSION. It is a three-way merge of Git: what you changed stays,
what you deleted stays deleted, and what both changed is a conflict that you resolve as
any other. Nothing is pushed and nothing reaches a cluster before you merge the branch.

The control plane itself is upgraded by axle upgrade.`,
		Example: `  axle up upgrade
  axle up upgrade --dir ~/fleet`,
		Args: command.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if u.from, err = skeleton(); err != nil {
				return err
			}
			return u.upgrade(c.Context())
		},
	}
	c.Flags().StringVar(&u.dir, "dir", ".", "folder of the repository")
	return c
}

func (u *upgrader) upgrade(ctx context.Context) error {
	if err := gitversion.Check(ctx); err != nil {
		return err
	}
	a, err := readAnswers(u.dir)
	if err != nil {
		return err
	}
	g := git{dir: u.dir}
	base := g.base(ctx, "HEAD")
	if a == nil || base == "" {
		return errcode.New(errcode.NotFound, "%s is not the top of a repository that axle up made: go to the folder that has %s, and fetch its whole history (git fetch --unshallow)", u.dir, answersFile)
	}
	if changed, err := g.run(ctx, "status", "--porcelain", "--untracked-files=no"); err != nil || changed != "" {
		if err == nil {
			err = errcode.New(errcode.Conflict, "the folder has changes that are not committed: commit them or put them away (git stash), and run this again")
		}
		return err
	}
	a.Version = u.version
	newer, same, err := u.commit(ctx, g, a, base)
	if err != nil {
		return err
	}
	if same {
		_, err := fmt.Fprintf(u.app.Out, "the repository has the skeleton of %s already\n", u.version)
		return err
	}
	return u.merge(ctx, g, a, newer)
}

// commit stores the newer skeleton on top of the one that the repository has, unless
// they are the same. The user's values of the control plane are as they were given.
func (u *upgrader) commit(ctx context.Context, g git, a *answers, base string) (newer string, same bool, err error) {
	var own []byte
	if a.OwnValues {
		text, err := g.bytes(ctx, nil, "show", base+":"+hubValues)
		if err != nil {
			return "", false, err
		}
		own = text
	}
	files, err := render(u.from, a, own)
	if err != nil {
		return "", false, err
	}
	tree, err := g.tree(ctx, files)
	if err != nil {
		return "", false, err
	}
	if before, err := g.run(ctx, "rev-parse", base+"^{tree}"); err != nil || before == tree {
		return "", err == nil, err
	}
	newer, err = g.store(ctx, files, a, base)
	return newer, false, err
}

// merge makes the branch and merges there. A conflict is left for the user; any other
// failure leaves everything as it was.
func (u *upgrader) merge(ctx context.Context, g git, a *answers, newer string) error {
	branch := "axle-up/" + u.version
	before, err := g.run(ctx, "rev-parse", "--abbrev-ref", "HEAD")
	if err != nil {
		return err
	}
	if before != branch { // an interrupted run has made it
		if g.is(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch) {
			return errcode.New(errcode.Conflict, "the branch %[1]s exists: merge it (git merge %[1]s), or delete it (git branch -D %[1]s) and run this again", branch)
		}
		if _, err := g.run(ctx, "switch", "--quiet", "--create", branch); err != nil {
			return err
		}
	}
	by := git{g.dir, identity(a)}
	// Whoever runs it has no key of this identity, and signs what they merge of the branch.
	_, failed := by.run(ctx, "merge", "--quiet", "--no-ff", "--no-gpg-sign", "--no-verify-signatures", "-m", "axle up upgrade: the skeleton of "+u.version, newer)
	if failed == nil {
		_, err := fmt.Fprintf(u.app.Out, "the branch %[1]s has the skeleton of %[2]s\nlook at it: git diff %[3]s...%[1]s; then push it and merge it\n", branch, u.version, before)
		return err
	}
	conflicts, err := g.run(ctx, "diff", "--name-only", "--diff-filter=U")
	if err == nil && conflicts != "" {
		return errcode.New(errcode.Conflict, "you and the newer skeleton changed the same lines of %s, on the branch %s: resolve them as in any merge, then git add and git commit; or go back with git merge --abort, git switch %s and git branch -D %s", strings.Join(strings.Fields(conflicts), ", "), branch, before, branch)
	}
	if before != branch {
		_, _ = g.run(ctx, "merge", "--abort")
		_, _ = g.run(ctx, "switch", "--quiet", before)
		_, _ = g.run(ctx, "branch", "--quiet", "-D", branch)
	}
	return failed
}
