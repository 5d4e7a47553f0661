package gitserver

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// CommitLinks adds a commit to a branch like Commit, with submodules: links are
// commits by their path.
func (s *Server) CommitLinks(ctx context.Context, repo, branch, message string, files map[string]Content, links map[string]string) (string, error) {
	dir := s.Path(repo)
	index, err := os.CreateTemp("", "index-")
	if err != nil {
		return "", err
	}
	_ = index.Close()
	_ = os.Remove(index.Name())
	defer os.Remove(index.Name())
	env := []string{"GIT_INDEX_FILE=" + index.Name()}
	parent, err := s.Resolve(ctx, repo, "refs/heads/"+branch)
	if err != nil {
		parent = ""
	} else if _, err := gitEnv(ctx, dir, env, nil, "read-tree", parent); err != nil {
		return "", err
	}
	info, err := s.stage(ctx, dir, files)
	if err != nil {
		return "", err
	}
	for _, p := range slices.Sorted(maps.Keys(links)) {
		info = append(info, fmt.Sprintf("160000 %s\t%s\x00", links[p], p)...)
	}
	if _, err := gitEnv(ctx, dir, env, info, "update-index", "-z", "--add", "--index-info"); err != nil {
		return "", err
	}
	tree, err := gitEnv(ctx, dir, env, nil, "write-tree", "--missing-ok")
	if err != nil {
		return "", err
	}
	id, err := s.CommitTree(ctx, repo, strings.TrimSpace(tree), message, parents(parent)...)
	if err != nil {
		return "", err
	}
	return id, s.SetRef(ctx, repo, "refs/heads/"+branch, id)
}
