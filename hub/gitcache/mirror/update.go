package mirror

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/internal/gitobject"
)

// Table reads all refs at once.
func (m *Mirror) Table(ctx context.Context) (*Table, error) {
	t := &Table{def: defaultBranch(m.Dir())}
	lines := &lineWriter{each: t.line}
	err := gitexec.Direct{}.Run(ctx, gitexec.Command{Dir: m.Dir(), Stdout: lines,
		Args: []string{"--git-dir=.", "for-each-ref", "--format=%(objectname) %(objecttype) %(*objectname) %(*objecttype) %(refname)", "refs/"}})
	m.noteDamage(err)
	if err == nil {
		err = lines.err
	}
	if err != nil {
		return nil, err
	}
	t.refs.clip()
	return t, t.peelDeep(ctx, m)
}

// peelDeep follows tags of tags to their end.
func (t *Table) peelDeep(ctx context.Context, m *Mirror) error {
	indexes := t.deep()
	if len(indexes) == 0 {
		return nil
	}
	var in strings.Builder
	for _, i := range indexes {
		in.WriteString(t.refs.ID(i) + "^{}\n")
	}
	out, err := m.local(ctx, in.String(), "cat-file", "--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(out) {
		if id, kind, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); kind == "commit" && n < len(indexes) {
			t.setPeeled(indexes[n], id)
		}
		n++
	}
	return nil
}

// lineWriter passes on each line that is written to it.
type lineWriter struct {
	each func([]byte) error
	rest []byte
	err  error
}

// Write extracts complete lines from p.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	buf := w.rest
	for w.err == nil {
		i := bytes.IndexByte(buf, '\n')
		if i < 0 {
			break
		}
		w.err = w.each(buf[:i])
		buf = buf[i+1:]
	}
	w.rest = append(w.rest[:0], buf...)
	return len(p), w.err
}

// manyRefs is the number of refs above which single files, each synced, cost
// more than writing the packed list once.
const manyRefs = 200

// SetRefs sets the mirror's refs to those of a listing. Their objects must exist.
func (m *Mirror) SetRefs(ctx context.Context, d *Diff) error {
	if d.Empty() {
		return nil
	}
	quick := []string{"update-ref", "-z", "--stdin"}
	if d.Changed.Len() > manyRefs {
		quick = append([]string{"-c", "core.fsync=pack,pack-metadata"}, quick...)
	}
	// This takes two steps: a branch may have become a folder of branches.
	if len(d.Gone) > 0 {
		err := stream(ctx, m.Dir(), func(w *bufio.Writer) {
			for _, name := range d.Gone {
				fmt.Fprintf(w, "delete %s\x00\x00", name)
			}
		}, "update-ref", "-z", "--stdin")
		if err != nil {
			return err
		}
	}
	if d.Changed.Len() == 0 {
		return nil
	}
	err := stream(ctx, m.Dir(), func(w *bufio.Writer) {
		for name, id := range d.Changed.All() {
			fmt.Fprintf(w, "update %s\x00%s\x00\x00", name, id)
		}
	}, quick...)
	if err == nil && d.Changed.Len() > manyRefs {
		err = m.PackRefs(ctx)
	}
	return err
}

// PackRefs writes all refs into one file.
func (m *Mirror) PackRefs(ctx context.Context) error {
	_, err := m.local(ctx, "", "pack-refs", "--all", "--prune")
	return err
}

// stream runs a git command and writes its input while it reads.
func stream(ctx context.Context, dir string, write func(*bufio.Writer), args ...string) error {
	r, w := io.Pipe()
	go func() {
		buf := bufio.NewWriterSize(w, 64<<10)
		write(buf)
		_ = w.CloseWithError(buf.Flush())
	}()
	err := gitexec.Direct{}.Run(ctx, gitexec.Command{Dir: dir, Args: append([]string{"--git-dir=."}, args...), Stdin: r})
	_ = r.CloseWithError(io.ErrClosedPipe)
	return err
}

// SetDefault records upstream's default branch.
func (m *Mirror) SetDefault(ctx context.Context, name string) error {
	if name == "" || name == defaultBranch(m.Dir()) {
		return nil
	}
	_, err := m.local(ctx, "", "symbolic-ref", "HEAD", name)
	return err
}

func defaultBranch(dir string) string {
	raw, err := os.ReadFile(filepath.Join(dir, "HEAD"))
	name, ok := strings.CutPrefix(strings.TrimSpace(string(raw)), "ref: ")
	if err != nil || !ok || name == "refs/heads/"+noBranch {
		return ""
	}
	return name
}

// noBranch is what HEAD of a new mirror names.
const noBranch = "none"

// Keep ensures that commits stay, whatever upstream does to its refs.
func (m *Mirror) Keep(ctx context.Context, commits []string) error {
	var b strings.Builder
	for _, c := range commits {
		if !gitobject.IsID(c) {
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

// Drop releases kept commits.
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
