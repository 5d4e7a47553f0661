package render

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/internal/confine"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/manifest"
)

// toolTimeout is how long a tool may run: its processor time does not count for its
// pass.
const toolTimeout = 30 * time.Second

// errTool is the cause of a tool's context if its time is up.
var errTool = fmt.Errorf("it took longer than %s and was stopped", toolTimeout)

// runTool runs the tool that a step of the pass names, on the child's request. The
// child only says which step; what runs is in the agent's own list.
func (r *Runner) runTool(ctx context.Context, p Pass, l layout, ask *renderv1.Tool) *renderv1.ToolOutput {
	index := int(ask.GetStep())
	if index < 0 || index >= len(p.Steps) || p.Steps[index].Type != "EXEC" {
		return &renderv1.ToolOutput{Error: "the step names no tool"}
	}
	step := p.Steps[index]
	found, err := r.tools.find(step.Tool, false)
	if err != nil {
		return &renderv1.ToolOutput{Error: err.Error()}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, toolTimeout, errTool)
	defer cancel()
	output, words, err := r.runIn(ctx, l, step, found, ask.GetInput())
	if err != nil && errors.Is(context.Cause(ctx), errTool) {
		err = errTool
	}
	answer := &renderv1.ToolOutput{Output: output, Words: words, Generates: found.generates}
	if err != nil {
		answer.Output, answer.Error = nil, err.Error()
	}
	return answer
}

// runIn gives the tool a private copy of the files and runs it there.
func (r *Runner) runIn(ctx context.Context, l layout, step Step, t tool, input []byte) (output []byte, words string, err error) {
	own, err := os.MkdirTemp(r.config.Work, "axle-tool-")
	if err != nil {
		return nil, "", fmt.Errorf("create a folder for the tool: %w", err)
	}
	defer removeAll(own)
	if own, err = filepath.EvalSymlinks(own); err != nil {
		return nil, "", err
	}
	files, temporary := filepath.Join(own, "files"), filepath.Join(own, "tmp")
	for _, dir := range []string{files, temporary} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, "", fmt.Errorf("create a folder for the tool: %w", err)
		}
	}
	copied, err := copyFiles(l, files)
	if err != nil {
		return nil, "", err
	}
	dir := filepath.Join(l.base, step.Path)
	if real := l.real(step.Path); real != "" {
		dir = real
	}
	if !filepath.IsLocal(dir) {
		return nil, "", errors.New("its folder is outside the service's files")
	}
	output, words, err = confine.Command{
		Launcher: r.config.Binary, Argv: t.argv, Own: own, Dir: filepath.Join(files, dir),
		Env:   environment(filepath.Dir(t.argv[0]), temporary),
		Input: input, MaxOutput: manifest.MaxFileBytes,
	}.Run(ctx)
	words = strings.ReplaceAll(words, files+"/", "")
	if err != nil && len(copied.omitted) > 0 {
		err = fmt.Errorf("%w (files of more than %d bytes are not given to tools: %s)", err, maxFileBytes, strings.Join(copied.omitted, ", "))
	}
	return output, words, err
}

// environment is the complete environment of a tool: where programs are, where it may
// write, and a fixed language and time zone.
func environment(programs, temporary string) []string {
	return []string{
		"PATH=" + programs + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + temporary, "TMPDIR=" + temporary,
		"LANG=C.UTF-8", "TZ=UTC",
	}
}

// removeAll removes a folder in which a tool may have removed permissions.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// copies writes the files of a pass to a folder.
type copies struct {
	root *os.Root
	// omitted are the first files that are too large.
	omitted []string
}

// copyFiles copies the files that are sent to the child into a folder.
func copyFiles(l layout, dir string) (*copies, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open a folder for the tool: %w", err)
	}
	defer root.Close()
	c := &copies{root: root}
	return c, sendFiles(l, c.put)
}

// put writes one file. A link that may lead out of the files is left out: the tool can
// read nothing else.
func (c *copies) put(file *renderv1.File) error {
	name := filepath.FromSlash(file.GetPath())
	if to := file.GetLink(); to != "" && digest.CheckLink(file.GetPath(), to) != nil {
		return nil
	}
	if file.GetOmittedBytes() > 0 {
		if len(c.omitted) < 3 {
			c.omitted = append(c.omitted, file.GetPath())
		}
		return nil
	}
	if err := c.root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("copy the service's files for the tool: %w", err)
	}
	var err error
	mode := os.FileMode(0o600)
	if file.GetExecutable() {
		mode = 0o700
	}
	if file.GetLink() != "" {
		err = c.root.Symlink(file.GetLink(), name)
	} else {
		err = c.root.WriteFile(name, file.GetContent(), mode)
	}
	if err != nil {
		return fmt.Errorf("copy the service's files for the tool: %w", err)
	}
	return nil
}
