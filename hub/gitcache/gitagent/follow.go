package gitagent

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/gitobject"
)

const (
	// copyVersion is the first line of every copy; a replica that does not know
	// it refuses the copy.
	copyVersion = "axle-mirror 1"
	// copyLimit limits one copy of a mirror between replicas.
	copyLimit = 2 * time.Hour
	// packHeader is how many bytes come before the first object of a pack.
	packHeader = 12
)

// Copy is a repository's mirror on this disk while no agent of this replica
// works on it: a second copy, or the start of one. Other replicas can read what
// they lack from it, even while an agent works on it, because that only reads.
type Copy struct {
	Mirrors *mirror.Pool
	Dir     string
}

// Fetch requests from another replica what this one lacks: refs is the hash of
// the refs here, haves are commits that are completely here. It passes the
// bytes of WriteTo to take; same means that nothing is lacking.
type Fetch func(ctx context.Context, refs string, haves []string, take func(io.Reader) error) (same bool, err error)

// refs are all ref names of a mirror with their ids, as for-each-ref lists
// them, and the default branch.
type refs struct {
	head string
	text []byte
}

// hash is equal for two mirrors that have the same refs.
func (r refs) hash() string {
	h := sha256.New()
	h.Write([]byte(r.head + "\n"))
	h.Write(r.text)
	return hex.EncodeToString(h.Sum(nil))
}

// ids returns what the refs point at, without duplicates.
func (r refs) ids() []string {
	var out []string
	for line := range bytes.Lines(r.text) {
		id, _, _ := bytes.Cut(line, []byte{' '})
		out = append(out, string(id))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// table returns the refs by name.
func (r refs) table() (map[string]string, error) {
	out := map[string]string{}
	for line := range bytes.Lines(r.text) {
		id, name, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if !ok || !gitobject.IsID(id) || !strings.HasPrefix(name, "refs/") || strings.ContainsAny(name, " \x00") {
			return nil, errcode.New(errcode.Internal, "a replica sent %.100q as a ref", line)
		}
		out[name] = id
	}
	return out, nil
}

// Exists reports whether there is a mirror that has any ref.
func (c Copy) Exists(ctx context.Context) bool {
	r, err := c.refs(ctx)
	return err == nil && len(r.text) > 0
}

// Refs returns the hash of the mirror's refs, empty when there is none.
func (c Copy) Refs(ctx context.Context) string {
	r, err := c.refs(ctx)
	if err != nil || len(r.text) == 0 {
		return ""
	}
	return r.hash()
}

func (c Copy) refs(ctx context.Context) (r refs, err error) {
	if mirror.FormatOf(c.Dir) == "" {
		return r, errcode.New(errcode.NotFound, "this replica has no copy of the repository")
	}
	head, err := os.ReadFile(filepath.Join(c.Dir, "HEAD"))
	if err != nil {
		return r, err
	}
	r.head = strings.TrimSpace(string(head))
	var out bytes.Buffer
	err = c.run(ctx, nil, &out, "for-each-ref", "--format=%(objectname) %(refname)", "refs/")
	r.text = out.Bytes()
	return r, err
}

func (c Copy) run(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	return gitexec.Direct{}.Run(ctx, gitexec.Command{Dir: c.Dir, Args: append([]string{"--git-dir=."}, args...), Stdin: in, Stdout: out})
}

// Write writes what a replica with the given haves lacks: the refs, an empty
// line, and a pack. same means that its refs have the same hash as those here;
// then nothing is written. A mirror without refs is refused, because a replica
// must not copy the empty mirror of a disk that was just replaced.
func (c Copy) Write(ctx context.Context, theirs string, haves []string, w io.Writer) (same bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, copyLimit)
	defer cancel()
	r, err := c.refs(ctx)
	if err != nil {
		return false, err
	}
	if len(r.text) == 0 {
		return false, errcode.New(errcode.NotFound, "this replica's copy of the repository is empty")
	}
	if r.hash() == theirs {
		return true, nil
	}
	known, err := c.known(ctx, haves)
	if err != nil {
		return false, err
	}
	if _, err := fmt.Fprintf(w, "%s %s\n%s\n%s\n", copyVersion, mirror.FormatOf(c.Dir), r.head, r.text); err != nil {
		return false, err
	}
	ask := strings.Join(r.ids(), "\n") + "\n"
	if len(known) > 0 {
		ask += "--not\n" + strings.Join(known, "\n") + "\n"
	}
	return false, c.run(ctx, strings.NewReader(ask), w, "pack-objects", "--revs", "--thin", "--stdout", "--delta-base-offset", "-q")
}

// known returns those of the ids that are here.
func (c Copy) known(ctx context.Context, ids []string) ([]string, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !gitobject.IsID(id) })
	if len(ids) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	if err := c.run(ctx, strings.NewReader(strings.Join(ids, "\n")+"\n"), &out, "cat-file", "--batch-check=%(objectname)"); err != nil {
		return nil, err
	}
	var known []string
	for line := range strings.Lines(out.String()) {
		if id := strings.TrimSpace(line); gitobject.IsID(id) {
			known = append(known, id)
		}
	}
	return known, nil
}

// Sync updates the copy to what another replica has. Objects are written before
// the refs that need them, so an interrupted copy is only outdated.
func (c Copy) Sync(ctx context.Context, fetch Fetch) (same bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, copyLimit)
	defer cancel()
	mine, err := c.refs(ctx)
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		mine = refs{} // a broken copy requests everything
	}
	hash := ""
	if len(mine.text) > 0 {
		hash = mine.hash()
	}
	same, err = fetch(ctx, hash, mine.ids(), func(r io.Reader) error { return c.take(ctx, mine, r) })
	if errcode.Is(err, errcode.Unprocessable) && len(mine.text) > 0 {
		// The objects that were assumed to be here are missing or incomplete.
		same, err = fetch(ctx, "", nil, func(r io.Reader) error { return c.take(ctx, mine, r) })
	}
	return same, err
}

// take reads the output of Write.
func (c Copy) take(ctx context.Context, mine refs, r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	format, theirs, err := readRefs(in)
	if err != nil {
		return err
	}
	want, err := theirs.table()
	if err != nil {
		return err
	}
	m, err := c.Mirrors.Open(ctx, c.Dir, format)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := c.index(ctx, in); err != nil {
		return err
	}
	have, err := mine.table()
	if err != nil {
		have = nil
	}
	if err := c.setRefs(ctx, have, want); err != nil {
		return err
	}
	if name, ok := strings.CutPrefix(theirs.head, "ref: refs/heads/"); ok && theirs.head != mine.head {
		if err := c.run(ctx, nil, io.Discard, "symbolic-ref", "HEAD", "refs/heads/"+name); err != nil {
			return err
		}
	}
	return m.Tidy(ctx)
}

func readRefs(in *bufio.Reader) (format string, r refs, err error) {
	first, err := in.ReadString('\n')
	if err != nil {
		return "", r, cutShort(err)
	}
	format, ok := strings.CutPrefix(strings.TrimSpace(first), copyVersion+" ")
	if !ok {
		return "", r, errcode.New(errcode.Unavailable, "the other replica sends copies in the format %.40q, which this one does not support; upgrade both to the same version", first)
	}
	head, err := in.ReadString('\n')
	if err != nil {
		return "", r, cutShort(err)
	}
	r.head = strings.TrimSpace(head)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return "", r, cutShort(err)
		}
		if len(line) == 1 {
			return format, r, nil
		}
		r.text = append(r.text, line...)
	}
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return errcode.New(errcode.Unavailable, "the copy was cut short: %w", err)
}

// index stores a pack, whose checksum shows whether it is complete.
func (c Copy) index(ctx context.Context, in *bufio.Reader) error {
	header, err := in.Peek(packHeader)
	if err != nil {
		return cutShort(err)
	}
	if string(header[:4]) != "PACK" {
		return errcode.New(errcode.Internal, "a replica sent %.20q instead of a pack", header)
	}
	if bytes.Equal(header[8:], make([]byte, 4)) {
		return nil // only refs changed
	}
	if err := c.run(ctx, in, io.Discard, "index-pack", "--stdin", "--fix-thin", "--threads=2"); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errcode.New(errcode.Unprocessable, "the copy of another replica cannot be stored: %w", err)
	}
	return nil
}

// setRefs changes the refs from have to want, deletions first: a branch may
// have become a folder of branches.
func (c Copy) setRefs(ctx context.Context, have, want map[string]string) error {
	var gone, set strings.Builder
	for name := range have {
		if _, ok := want[name]; !ok {
			fmt.Fprintf(&gone, "delete %s\x00\x00", name)
		}
	}
	for name, id := range want {
		if have[name] != id {
			fmt.Fprintf(&set, "update %s\x00%s\x00\x00", name, id)
		}
	}
	for _, script := range []string{gone.String(), set.String()} {
		if script == "" {
			continue
		}
		if err := c.run(ctx, strings.NewReader(script), io.Discard, "update-ref", "-z", "--stdin"); err != nil {
			return err
		}
	}
	return nil
}
