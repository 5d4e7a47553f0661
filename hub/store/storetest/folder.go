package storetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/axle-cd/axle/test/pg"
)

// prefix starts the name of every data folder; the process's id follows.
const prefix = "axle-store-"

// folder returns a data folder for one test, in memory if there is room: SQLite waits for
// the disk at each commit.
func folder(tb testing.TB) string {
	tb.Helper()
	sweep()
	dir, err := os.MkdirTemp(pg.Folder(), fmt.Sprintf("%s%d-*", prefix, os.Getpid()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	return dir
}

// sweep removes the folders of processes that were killed.
var sweep = sync.OnceFunc(func() {
	all, _ := filepath.Glob(filepath.Join(pg.Folder(), prefix+"*"))
	for _, dir := range all {
		var pid int
		_, err := fmt.Sscanf(filepath.Base(dir), prefix+"%d-", &pid)
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir) // another process may be doing the same
		}
	}
})
