package up

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/repourl"
	"github.com/axle-cd/axle/sdk"
)

// installation are the arguments of an install; it goes on where an earlier one ended.
func (b *builder) installation(more ...string) []string {
	return slices.Concat([]string{"install", "--values", filepath.Join(b.dir, filepath.FromSlash(hubValues)), "--email", b.answers.Email, "--release", release, "--namespace", namespace, "--timeout", b.wait.String()}, b.inCluster(), more)
}

func (b *builder) install(ctx context.Context) error {
	allowed, err := b.gitAllowed()
	if err != nil {
		return err
	}
	return b.run(ctx, b.installation(append(allowed, "--without-mgmt")...)...)
}

func (b *builder) connect(ctx context.Context) error {
	allowed, err := b.gitAllowed()
	if err != nil {
		return err
	}
	return b.run(ctx, b.installation(allowed...)...)
}

// bootstrap hands the fleet to the repository: the operator may write all that it
// declares, the hub reads it, and the root service applies it.
func (b *builder) bootstrap(ctx context.Context) error {
	client, err := b.app.Client()
	if err != nil {
		return err
	}
	if err := b.run(ctx, "users", "admin", "operator"); err != nil {
		return err
	}
	if err := b.register(ctx, client); err != nil {
		return err
	}
	if err := b.run(ctx, "apply", "-f", filepath.Join(b.dir, "root.yaml")); err != nil {
		return err
	}
	b.say("the root service is applied; the hub reads the repository %s", b.answers.Name)
	return b.run(ctx, "repos", "refresh", b.answers.Name, "--wait")
}

// register gives the repository to the hub, with its login, unless the hub can read it.
func (b *builder) register(ctx context.Context, client *sdk.Client) error {
	if b.login.password != "" {
		if err := os.Setenv(passwordVariable, b.login.password); err != nil {
			return err
		}
		defer os.Unsetenv(passwordVariable)
	}
	have, err := client.Repositories.Get(ctx, connect.NewRequest(&hubv1.GetRepositoryRequest{Name: b.answers.Name}))
	switch {
	case errcode.Is(err, errcode.NotFound):
		return b.run(ctx, slices.Concat([]string{"repos", "add", b.answers.Name, b.answers.Repository}, b.login.flags())...)
	case err != nil:
		return err
	case !repourl.Same("git", have.Msg.GetUrl(), b.answers.Repository):
		return errcode.New(errcode.Conflict, "the hub has a repository %s with another URL, %s: if it is of no use, axle repos delete %s; else begin in another folder with another --name", b.answers.Name, repourl.Shown(have.Msg.GetUrl()), b.answers.Name)
	case len(b.login.flags()) > 0 && (have.Msg.GetHealth() == "Failed" || b.answers.Git == inCluster && b.run(ctx, "repos", "refresh", b.answers.Name, "--wait") != nil):
		return b.run(ctx, slices.Concat([]string{"repos", "update", b.answers.Name, "--take-over"}, b.login.flags())...)
	}
	return nil
}
