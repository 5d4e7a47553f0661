package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
)

// keepPrefix is where commits live that a rollback may need although upstream
// has forgotten them.
const keepPrefix = "refs/axle/keep/"

// mirrorConfig is the whole configuration of every mirror. It is a file of
// ours, not a list of commands, so that it is the same after each start.
const mirrorConfig = `[core]
	bare = true
	hooksPath = /dev/null
	fsync = pack,pack-metadata,reference
	multiPackIndex = true
	attributesFile = /dev/null
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

// legacyFaults are defects of old commits that harm nobody: without these
// lines, one of them in a repository's history would make all of it useless.
var legacyFaults = []string{"zeroPaddedFilemode", "badTimezone", "badDate", "badDateOverflow", "missingSpaceBeforeDate", "zeroPaddedDate",
	"missingSpaceBeforeEmail", "missingNameBeforeEmail", "missingEmail", "badEmail", "badName", "missingTaggerEntry", "badTagName", "gitmodulesParse", "nulInCommit"}

// Mirror is the complete bare copy of one repository on this disk.
type Mirror struct {
	dir    string
	format string
	objs   *objects
	// packs is held for writing while packs are deleted, for reading while
	// objects are read.
	packs sync.RWMutex
}

// OpenMirror opens the mirror in dir, or makes an empty one for ids of the
// given format. A mirror of another format, or one that was broken by a kill
// while it was made, is made anew.
func (g *Git) OpenMirror(ctx context.Context, dir, format string) (*Mirror, error) {
	if format != "sha1" && format != "sha256" {
		return nil, errcode.New(errcode.Unprocessable, "upstream uses object format %.20q; sha1 and sha256 are known", format)
	}
	config := mirrorConfig + fsckConfig()
	if format == "sha256" {
		config = "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = sha256\n" + config
	}
	m := &Mirror{dir: dir, format: format}
	m.objs = &objects{mirror: m, slots: g.slots}
	if !m.sound() {
		if err := m.create(ctx); err != nil {
			return nil, fmt.Errorf("make mirror %s: %w", dir, err)
		}
	}
	if err := atomicfile.Write(filepath.Join(dir, "config"), []byte(config), 0o644); err != nil {
		return nil, err
	}
	return m, m.clean(0)
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

// sound reports whether the folder was made completely, by its last file.
func (m *Mirror) sound() bool { return FormatOf(m.dir) == m.format }

func (m *Mirror) create(ctx context.Context) error {
	if err := os.RemoveAll(m.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(m.dir), 0o755); err != nil {
		return err
	}
	err := Direct{}.Run(ctx, Command{Args: []string{"init", "-q", "--bare", "--template=", "--object-format=" + m.format, "--initial-branch=none", m.dir}})
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(m.dir, "axle-format"), []byte(m.format+"\n"), 0o644)
}

// Dir returns the mirror's folder.
func (m *Mirror) Dir() string { return m.dir }

// Format returns sha1 or sha256.
func (m *Mirror) Format() string { return m.format }

// Close ends the mirror's processes.
func (m *Mirror) Close() { m.objs.closeIdle(0) }

// local runs a git command on the mirror that needs no network.
func (m *Mirror) local(ctx context.Context, in string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	var out bytes.Buffer
	err := Direct{}.Run(ctx, Command{Dir: m.dir, Args: append([]string{"--git-dir=."}, args...), Stdin: strings.NewReader(in), Stdout: &out})
	return out.String(), err
}

// Table reads all refs at once.
func (m *Mirror) Table(ctx context.Context) (*Table, error) {
	out, err := m.local(ctx, "", "for-each-ref", "--format=%(objectname) %(objecttype) %(*objectname) %(*objecttype) %(refname)", "refs/heads/", "refs/tags/", keepPrefix)
	if err != nil {
		return nil, err
	}
	return newTable(out)
}

// SetRefs makes the mirror's branches and tags under the prefixes what a
// listing says. Their objects must be there.
func (m *Mirror) SetRefs(ctx context.Context, now *Table, listed []Ref, prefixes []string) error {
	var gone, set strings.Builder
	want := make(map[string]string, len(listed))
	for _, r := range listed {
		want[r.Name] = r.ID
		if now.raw[r.Name] != r.ID {
			fmt.Fprintf(&set, "update %s\x00%s\x00\x00", r.Name, r.ID)
		}
	}
	for name := range now.raw {
		if _, ok := want[name]; !ok && coveredBy(name, prefixes) {
			fmt.Fprintf(&gone, "delete %s\x00\x00", name)
		}
	}
	// Two steps: a branch may have become a folder of branches.
	for _, script := range []string{gone.String(), set.String()} {
		if script == "" {
			continue
		}
		if _, err := m.local(ctx, script, "update-ref", "-z", "--stdin"); err != nil {
			return err
		}
	}
	return nil
}

func coveredBy(name string, prefixes []string) bool {
	if len(prefixes) == 0 {
		return true
	}
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// Keep makes sure that commits stay, whatever upstream does to its refs.
func (m *Mirror) Keep(ctx context.Context, commits []string) error {
	var b strings.Builder
	for _, c := range commits {
		if !IsID(c) {
			return fmt.Errorf("keep %q: not an object id", c)
		}
		fmt.Fprintf(&b, "update %s%s\x00%s\x00\x00", keepPrefix, c, c)
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := m.local(ctx, b.String(), "update-ref", "-z", "--stdin")
	return err
}

// Drop lets commits go that were kept.
func (m *Mirror) Drop(ctx context.Context, commits []string) error {
	var b strings.Builder
	for _, c := range commits {
		fmt.Fprintf(&b, "delete %s%s\x00\x00", keepPrefix, c)
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := m.local(ctx, b.String(), "update-ref", "-z", "--stdin")
	return err
}

// Missing returns those of the ids that the mirror does not have.
func (m *Mirror) Missing(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	for _, id := range ids {
		if !IsID(id) {
			return nil, fmt.Errorf("look for %q: not an object id", id)
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

// Size returns the bytes of the mirror's packs.
func (m *Mirror) Size() int64 {
	var n int64
	_ = filepath.WalkDir(filepath.Join(m.dir, "objects"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// maxPacks is how many packs a mirror may gather before they are joined.
const maxPacks = 20

// Tidy joins packs when there are many, or everything when all is set, and
// removes what killed commands left. Only the lease holder may call it.
func (m *Mirror) Tidy(ctx context.Context, all bool) error {
	if err := m.clean(time.Hour); err != nil {
		return err
	}
	packs, err := filepath.Glob(filepath.Join(m.dir, "objects/pack/*.pack"))
	if err != nil || (len(packs) <= maxPacks && !all) {
		return err
	}
	m.packs.Lock()
	defer m.packs.Unlock()
	m.objs.closeIdle(0)
	if all {
		_, err = m.local(ctx, "", "repack", "-a", "-d", "-q", "--cruft", "--cruft-expiration=2.weeks.ago", "--write-midx")
	} else {
		_, err = m.local(ctx, "", "repack", "-d", "-q", "--geometric=2", "--write-midx")
	}
	return err
}

// clean removes temporary files and stale locks older than age. With age zero
// it is called before anything runs on the mirror.
func (m *Mirror) clean(age time.Duration) error {
	patterns := []string{"objects/pack/tmp_*", "objects/pack/.tmp-*", "objects/tmp_*", "objects/tmp_objdir-*", "shallow.lock"}
	if age == 0 {
		patterns = append(patterns, "packed-refs.lock", "packed-refs.new", "HEAD.lock", "config.lock", "objects/pack/multi-pack-index.lock", "objects/info/*.lock")
	}
	var errs []error
	for _, p := range patterns {
		found, _ := filepath.Glob(filepath.Join(m.dir, p))
		for _, f := range found {
			if info, err := os.Lstat(f); err == nil && time.Since(info.ModTime()) >= age {
				errs = append(errs, os.RemoveAll(f))
			}
		}
	}
	if age == 0 {
		errs = append(errs, filepath.WalkDir(filepath.Join(m.dir, "refs"), func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(p, ".lock") {
				return os.Remove(p)
			}
			return nil
		}))
	}
	return errors.Join(errs...)
}

// PackSpace returns how many bytes fetches that run now have written. Git's
// own limit on pack sizes does not limit a fetch.
func (m *Mirror) PackSpace() int64 {
	var n int64
	found, _ := filepath.Glob(filepath.Join(m.dir, "objects/pack/tmp_pack_*"))
	for _, f := range found {
		if info, err := os.Lstat(f); err == nil {
			n += info.Size()
		}
	}
	return n
}
