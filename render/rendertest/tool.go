package rendertest

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/internal/confine"
	"github.com/axle-cd/axle/internal/manifest"
)

// runTool runs the child's tool as the agent does, on a copy of the files.
func (c *Child) runTool(files Files, begin *renderv1.Begin, ask *renderv1.Tool) *renderv1.ToolOutput {
	c.t.Helper()
	own := c.t.TempDir()
	for name, content := range files {
		path := filepath.Join(own, "files", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			c.t.Fatal(err)
		}
		err := os.WriteFile(path, []byte(content), 0o600)
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			_ = os.Remove(path)
			err = os.Symlink(target, path)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	step := begin.GetSteps()[ask.GetStep()]
	output, words, err := confine.Command{
		Launcher: Binary(c.t), Argv: c.Tool, Own: own, Dir: filepath.Join(own, "files", begin.GetEntry(), step.GetPath()),
		Input: ask.GetInput(), MaxOutput: manifest.MaxFileBytes,
	}.Run(ctx)
	answer := &renderv1.ToolOutput{Output: output, Words: words}
	if err != nil {
		answer.Error = err.Error()
	}
	return answer
}
