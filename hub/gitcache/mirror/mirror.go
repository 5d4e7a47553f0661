package mirror

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/gitobject"
	"github.com/axle-cd/axle/internal/pool"
)

// keepPrefix is the prefix of refs on commits that a rollback may need after
// upstream has dropped them.
const keepPrefix = "refs/axle/keep/"

// mirrorConfig is the complete configuration of every mirror. It is written as
// a file, so that it is the same after each start.
const mirrorConfig = `[core]
	bare = true
	hooksPath = /dev/null
	fsync = pack,pack-metadata,reference
	multiPackIndex = true
	attributesFile = /dev/null
	bigFileThreshold = 32m
	deltaBaseCacheLimit = 64m
	packedGitLimit = 1g
[fetch]
	unpackLimit = 1
	writeCommitGraph = false
	recurseSubmodules = false
[transfer]
	fsckObjects = true
	unpackLimit = 1
[gc]
	auto = 0
[maintenance]
	auto = false
[pack]
	writeReverseIndex = true
	threads = 2
	windowMemory = 64m
[submodule]
	recurse = false
`

// legacyFaults are harmless defects of old commits: without these settings, one
// of them in a repository's history would make the whole repository unusable.
var legacyFaults = []string{"zeroPaddedFilemode", "badTimezone", "badDate", "badDateOverflow", "missingSpaceBeforeDate", "zeroPaddedDate",
	"missingSpaceBeforeEmail", "missingNameBeforeEmail", "missingEmail", "badEmail", "badName", "missingTaggerEntry", "badTagName", "gitmodulesParse", "nulInCommit"}

// Mirror is the complete bare copy of one repository on this disk.
type Mirror struct {
	dir    string
	format string
	objs   *objects
	// packs is locked for writing while packs are deleted, and for reading
	// while objects are read.
	packs sync.RWMutex
	// suspect is the reason for suspecting the objects. The lock doubt guards
	// it and dir.
	doubt   sync.Mutex
	suspect error
}

// Pool opens mirrors. Its mirrors share one limit of processes.
type Pool struct{ places *pool.Places }

// NewPool returns a Pool whose mirrors together run at most four processes a core
// that read objects, of which the repositories of one project have a half; the
// others wait.
func NewPool(pools *pool.Set) *Pool {
	return &Pool{pools.Places(pool.Spec{
		Name: "object_readers", Of: "processes that read Git objects", Size: 4 * runtime.GOMAXPROCS(0), Queue: 100_000, Within: readersWithin, Retry: time.Second,
	})}
}

// Open opens the mirror in dir, or creates an empty one for ids of the
// given format. It replaces a mirror of another format, or one whose creation
// was interrupted.
func (p *Pool) Open(ctx context.Context, dir, format string) (*Mirror, error) {
	if format != "sha1" && format != "sha256" {
		return nil, errcode.New(errcode.Unprocessable, "upstream uses object format %.20q; only sha1 and sha256 are supported", format)
	}
	config := mirrorConfig + fsckConfig()
	if format == "sha256" {
		config = "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = sha256\n" + config
	}
	m := &Mirror{dir: dir, format: format}
	m.objs = &objects{mirror: m, places: p.places}
	if FormatOf(dir) != format {
		if err := create(ctx, dir, format); err != nil {
			return nil, fmt.Errorf("make mirror %s: %w", dir, err)
		}
	}
	if err := atomicfile.Write(filepath.Join(dir, "config"), []byte(config), 0o644); err != nil {
		return nil, err
	}
	return m, clean(dir, 0)
}

// FormatOf returns the object format of the mirror in dir, empty when there
// is none.
func FormatOf(dir string) string {
	raw, err := os.ReadFile(filepath.Join(dir, "axle-format"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

func fsckConfig() string {
	var b strings.Builder
	for _, section := range []string{"fetch", "receive"} {
		fmt.Fprintf(&b, "[%s \"fsck\"]\n", section)
		for _, f := range legacyFaults {
			fmt.Fprintf(&b, "\t%s = ignore\n", f)
		}
	}
	return b.String()
}

// create makes an empty repository. Its last file says that it is complete.
func create(ctx context.Context, dir, format string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	err := gitexec.Direct{}.Run(ctx, gitexec.Command{Args: []string{"init", "-q", "--bare", "--template=", "--object-format=" + format, "--initial-branch=" + noBranch, dir}})
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, "axle-format"), []byte(format+"\n"), 0o644)
}

// Dir returns the mirror's folder.
func (m *Mirror) Dir() string {
	m.doubt.Lock()
	defer m.doubt.Unlock()
	return m.dir
}

// Format returns sha1 or sha256.
func (m *Mirror) Format() string { return m.format }

// Close ends the mirror's processes.
func (m *Mirror) Close() { m.objs.closeIdle(0) }

// local runs a git command on the mirror that needs no network.
func (m *Mirror) local(ctx context.Context, in string, args ...string) (string, error) {
	return m.GitIn(ctx, m.Dir(), in, args...)
}

// GitIn runs git in the mirror or in a repository that shares its objects, and
// returns the output. Errors about broken objects make the mirror suspect.
func (m *Mirror) GitIn(ctx context.Context, dir, in string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	var out bytes.Buffer
	err := gitexec.Direct{}.Run(ctx, gitexec.Command{Dir: dir, Args: append([]string{"--git-dir=."}, args...), Stdin: strings.NewReader(in), Stdout: &out})
	m.noteDamage(err)
	return out.String(), err
}

// Missing returns those of the ids that the mirror does not have.
func (m *Mirror) Missing(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	for _, id := range ids {
		if !gitobject.IsID(id) {
			return nil, fmt.Errorf("search for %q: not an object id", id)
		}
	}
	out, err := m.local(ctx, strings.Join(ids, "\n")+"\n", "cat-file", "--batch-check=%(objectname)")
	if err != nil {
		return nil, err
	}
	var missing []string
	for line := range strings.Lines(out) {
		if id, ok := strings.CutSuffix(strings.TrimSuffix(line, "\n"), " missing"); ok {
			missing = append(missing, id)
		}
	}
	return missing, nil
}
