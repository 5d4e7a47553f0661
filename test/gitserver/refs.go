package gitserver

import (
	"bytes"
	"context"
	"fmt"
	"os"
)

// SetRefs points many refs at objects in one step: full names to ids.
func (s *Server) SetRefs(ctx context.Context, repo string, refs map[string]string) error {
	var in bytes.Buffer
	for name, id := range refs {
		fmt.Fprintf(&in, "update %s\x00%s\x00\x00", name, id)
	}
	if _, err := git(ctx, s.Path(repo), in.Bytes(), "update-ref", "-z", "--stdin"); err != nil {
		return err
	}
	_, err := git(ctx, s.Path(repo), nil, "pack-refs", "--all")
	return err
}

// SetDefault makes a branch the default one; it need not exist.
func (s *Server) SetDefault(ctx context.Context, repo, branch string) error {
	_, err := git(ctx, s.Path(repo), nil, "symbolic-ref", "HEAD", "refs/heads/"+branch)
	return err
}

// Delete removes a repository, as its owner would: clients find nothing.
func (s *Server) Delete(repo string) error { return os.RemoveAll(s.Path(repo)) }

// Git runs a git command in a bare repository and returns its output, with additional
// environment variables. It is for operations without their own method, such as
// signed commits.
func (s *Server) Git(ctx context.Context, repo string, env []string, in []byte, args ...string) (string, error) {
	return gitEnv(ctx, s.Path(repo), env, in, args...)
}
