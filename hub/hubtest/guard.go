package hubtest

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/pg"
)

// guarded is set by Guard. Without it each fetch would start this program again
// from its beginning, which would start others, without end.
var guarded bool

// deploy has the files of the agent's manifests in this checkout. A test may leave its folder later.
var deploy fs.FS

// Guard ends this process as a guard of a git fetch when a hub started it as
// one, and returns at once otherwise. Call it first in main.
func Guard() {
	guarded = true
	if len(os.Args) > 1 && os.Args[1] == hub.GitGuardCommand {
		os.Exit(hub.GitGuard(os.Args[2:]))
	}
	if root, err := bin.Root(); err == nil {
		deploy = os.DirFS(filepath.Join(root, "deploy"))
	}
}

// Main is TestMain for packages whose tests run hubs; it also stops the
// Postgres server that they may have started.
func Main(m interface{ Run() int }) {
	Guard()
	pg.Main(m)
}
