package gitserver

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Content of a file in a commit. Plain text is a file; see the functions
// below for the rest.
type Content = string

const (
	linkMark   = "\x00link\x00"
	execMark   = "\x00exec\x00"
	removeMark = "\x00remove\x00"
)

// Link is a symbolic link to target.
func Link(target string) Content { return linkMark + target }

// Executable is a file that may be executed.
func Executable(text string) Content { return execMark + text }

// Removed takes a path out of the commit.
func Removed() Content { return removeMark }

// Create makes an empty repository whose default branch is main.
func (s *Server) Create(ctx context.Context, repo string) error {
	return s.create(ctx, repo, "sha1")
}

// CreateSHA256 makes an empty repository whose object ids are SHA-256.
func (s *Server) CreateSHA256(ctx context.Context, repo string) error {
	return s.create(ctx, repo, "sha256")
}

func (s *Server) create(ctx context.Context, repo, format string) error {
	dir := s.Path(repo)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if _, err := git(ctx, s.dir, nil, "init", "-q", "--bare", "--object-format="+format, "--initial-branch=main", dir); err != nil {
		return err
	}
	_, err := git(ctx, dir, nil, "config", "http.receivepack", "true")
	return err
}

// Commit adds a commit to a branch, with the given paths changed, and returns
// its id. The branch begins with its first commit. Paths may hold any byte but
// NUL.
func (s *Server) Commit(ctx context.Context, repo, branch, message string, files map[string]Content) (string, error) {
	parent, err := s.Resolve(ctx, repo, "refs/heads/"+branch)
	if err != nil {
		parent = ""
	}
	id, err := s.CommitOn(ctx, repo, parent, message, files)
	if err != nil {
		return "", err
	}
	return id, s.SetRef(ctx, repo, "refs/heads/"+branch, id)
}

// CommitOn makes a commit on a parent, or on nothing, without moving a branch.
func (s *Server) CommitOn(ctx context.Context, repo, parent, message string, files map[string]Content) (string, error) {
	dir := s.Path(repo)
	index, err := os.CreateTemp("", "index-")
	if err != nil {
		return "", err
	}
	_ = index.Close()
	_ = os.Remove(index.Name())
	defer os.Remove(index.Name())
	env := []string{"GIT_INDEX_FILE=" + index.Name()}
	if parent != "" {
		if _, err := gitEnv(ctx, dir, env, nil, "read-tree", parent); err != nil {
			return "", err
		}
	}
	info, err := s.stage(ctx, dir, files)
	if err != nil {
		return "", err
	}
	if _, err := gitEnv(ctx, dir, env, info, "update-index", "-z", "--add", "--index-info"); err != nil {
		return "", err
	}
	tree, err := gitEnv(ctx, dir, env, nil, "write-tree")
	if err != nil {
		return "", err
	}
	return s.CommitTree(ctx, repo, strings.TrimSpace(tree), message, parents(parent)...)
}

func parents(p string) []string {
	if p == "" {
		return nil
	}
	return []string{p}
}

// stage writes the blobs with one fast-import-free pass and returns the index
// lines for them.
func (s *Server) stage(ctx context.Context, dir string, files map[string]Content) ([]byte, error) {
	var info bytes.Buffer
	tmp, err := os.MkdirTemp("", "blobs-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	var names, modes, order []string
	var list bytes.Buffer
	for i, name := range slices.Sorted(maps.Keys(files)) {
		content, mode := files[name], "100644"
		if content == removeMark {
			fmt.Fprintf(&info, "0 %s\t%s\x00", strings.Repeat("0", 40), name)
			continue
		}
		if rest, ok := strings.CutPrefix(content, linkMark); ok {
			content, mode = rest, "120000"
		} else if rest, ok := strings.CutPrefix(content, execMark); ok {
			content, mode = rest, "100755"
		}
		file := filepath.Join(tmp, fmt.Sprint(i))
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return nil, err
		}
		names, modes, order = append(names, name), append(modes, mode), append(order, file)
		fmt.Fprintln(&list, file)
	}
	if len(order) == 0 {
		return info.Bytes(), nil
	}
	out, err := git(ctx, dir, list.Bytes(), "hash-object", "-w", "--no-filters", "--stdin-paths")
	if err != nil {
		return nil, err
	}
	for i, id := range strings.Fields(out) {
		fmt.Fprintf(&info, "%s %s\t%s\x00", modes[i], id, names[i])
	}
	return info.Bytes(), nil
}

// CommitTree makes a commit of a tree that exists.
func (s *Server) CommitTree(ctx context.Context, repo, tree, message string, parents ...string) (string, error) {
	args := []string{"commit-tree", "-F", "-", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	out, err := git(ctx, s.Path(repo), []byte(message), args...)
	return strings.TrimSpace(out), err
}

// TreeEntry is one entry of a tree made by RawTree.
type TreeEntry struct {
	Mode string // as in a tree: 100644, 40000, 160000
	Name string // any bytes but NUL, ".." and "a/b" too
	ID   string
}

// RawTree writes a tree object as it is told, without the checks that git
// makes of names and order.
func (s *Server) RawTree(ctx context.Context, repo string, entries ...TreeEntry) (string, error) {
	var b bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&b, "%s %s\x00", e.Mode, e.Name)
		for i := 0; i+1 < len(e.ID); i += 2 {
			var c byte
			if _, err := fmt.Sscanf(e.ID[i:i+2], "%02x", &c); err != nil {
				return "", err
			}
			b.WriteByte(c)
		}
	}
	out, err := git(ctx, s.Path(repo), b.Bytes(), "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
	return strings.TrimSpace(out), err
}

// Blob writes a blob and returns its id.
func (s *Server) Blob(ctx context.Context, repo, content string) (string, error) {
	out, err := git(ctx, s.Path(repo), []byte(content), "hash-object", "-w", "--no-filters", "--stdin")
	return strings.TrimSpace(out), err
}

// SetRef points a ref, given in full, at an object.
func (s *Server) SetRef(ctx context.Context, repo, ref, id string) error {
	_, err := git(ctx, s.Path(repo), nil, "update-ref", ref, id)
	return err
}

// DeleteRef removes a ref, given in full.
func (s *Server) DeleteRef(ctx context.Context, repo, ref string) error {
	_, err := git(ctx, s.Path(repo), nil, "update-ref", "-d", ref)
	return err
}

// Tag makes an annotated tag of an object.
func (s *Server) Tag(ctx context.Context, repo, name, id string) error {
	_, err := git(ctx, s.Path(repo), nil, "tag", "-f", "-a", "-m", name, "--", name, id)
	return err
}

// Resolve returns the object id of a ref or expression.
func (s *Server) Resolve(ctx context.Context, repo, ref string) (string, error) {
	out, err := git(ctx, s.Path(repo), nil, "rev-parse", "--verify", "-q", "--end-of-options", ref)
	return strings.TrimSpace(out), err
}

// Collect drops what no ref reaches, at once.
func (s *Server) Collect(ctx context.Context, repo string) error {
	_, err := git(ctx, s.Path(repo), nil, "gc", "-q", "--prune=now")
	return err
}

// CommitFolder commits everything below a local folder onto a branch.
func (s *Server) CommitFolder(ctx context.Context, repo, branch, message, folder string) (string, error) {
	files := map[string]Content{}
	root := os.DirFS(folder)
	err := walk(root, folder, ".", files)
	if err != nil {
		return "", err
	}
	return s.Commit(ctx, repo, branch, message, files)
}

func git(ctx context.Context, dir string, in []byte, args ...string) (string, error) {
	return gitEnv(ctx, dir, nil, in, args...)
}

func gitEnv(ctx context.Context, dir string, env []string, in []byte, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	now := fmt.Sprintf("%d +0000", time.Now().Unix())
	cmd.Env = append(environ(), append(env, "GIT_AUTHOR_NAME=Ada Author", "GIT_AUTHOR_EMAIL=ada@example.test", "GIT_AUTHOR_DATE="+now,
		"GIT_COMMITTER_NAME=Carl Committer", "GIT_COMMITTER_EMAIL=carl@example.test", "GIT_COMMITTER_DATE="+now, "GIT_TERMINAL_PROMPT=0")...)
	cmd.Stdin = bytes.NewReader(in)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s in %s: %w: %s", args[0], path.Base(dir), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}
