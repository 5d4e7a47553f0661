package reference

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/axle-cd/axle/cli"
)

// commandPages returns a page for each command of axle, as it writes them itself.
func commandPages(ctx context.Context) (pages map[string]string, err error) {
	dir, err := os.MkdirTemp("", "commands-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var output bytes.Buffer
	if code := cli.Run(ctx, []string{"docs", "markdown", dir}, cli.Streams{In: &bytes.Buffer{}, Out: &output, Err: &output}); code != 0 {
		return nil, fmt.Errorf("axle docs markdown: exit %d: %s", code, output.String())
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	pages = map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		pages["commands/"+e.Name()] = string(text)
	}
	return pages, nil
}
