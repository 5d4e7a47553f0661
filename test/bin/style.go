package bin

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ownStyles are the style sheets of the built console of pages that AnyStyle's tests open, and
// others do not or only without content, such as a log: what they look like is part of the
// results of these tests. Names are without the part that the content decides. test/console/look
// fails unless each other sheet was on a page that it has looked at.
var ownStyles = []string{"ComponentGraph", "DockPanel", "ExecTab", "LastLines", "YamlTab", "plot", "terminal", "useLog", "useWrite"}

// hashed is the part of the name of a built file that its content decides.
var hashed = regexp.MustCompile(`-[\w-]{8}\.(css|js|woff2)\b`)

// pagesOnly are what the hub with pages is made of besides the pages and the hub without them:
// the Go that embeds them, and how they are packed.
var pagesOnly = []string{"cmd/axle-hub/files.go", "web/embed.go", "docs/site/site.go", "web/scripts/finish.mjs"}

// roundness is what the size of a program is rounded up to that is the same for each style.
const roundness = 64 << 20

// anyStyle makes the hub whose file differs, as Go's test cache sees it, only if the hub or its
// console does in more than styles: a copy of the one that ships, as large as a round number, of
// a time that is made of everything else.
func anyStyle(ctx context.Context, root string, p Program) ([]string, error) {
	unlock, err := lock(ctx, filepath.Join(root, folder, "lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	shipped := filepath.Join(root, folder, Options{Pages: Shipped}.variant(), p.Name)
	dir := filepath.Join(root, folder, p.variant())
	file := filepath.Join(dir, p.Name)
	at, err := withoutStyles(root, filepath.Join(root, folder, Options{}.variant(), p.Name))
	if err != nil {
		return nil, err
	}
	before, missing := os.Stat(file)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := copyRound(shipped, file+".new"); err != nil {
		return nil, err
	}
	if err := errors.Join(os.Chtimes(file+".new", at, at), os.Rename(file+".new", file), os.Chtimes(dir, first, first), os.Chtimes(filepath.Dir(dir), first, first)); err != nil {
		return nil, err
	}
	if missing == nil && before.ModTime().Equal(at) {
		return nil, nil
	}
	return []string{filepath.Join(folder, p.variant(), p.Name)}, nil
}

// copyRound copies a program. Nothing reads what follows its end.
func copyRound(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	size, err := io.Copy(out, in)
	if err == nil {
		err = out.Truncate((size + roundness - 1) / roundness * roundness)
	}
	return errors.Join(err, out.Close())
}

// withoutStyles is a time that is made of the hub without pages and of its pages, but for what
// style sheets contain that are not in ownStyles, and the names that this decides.
func withoutStyles(root, plain string) (time.Time, error) {
	code, err := contentTime(plain)
	if err != nil {
		return time.Time{}, err
	}
	var all []string
	for _, dir := range []string{"web/dist", "docs/site/public"} {
		built := os.DirFS(filepath.Join(root, dir))
		err := fs.WalkDir(built, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(name, ".br") || strings.HasSuffix(name, ".gz") || strings.HasPrefix(entry.Name(), ".") {
				return err
			}
			content, err := fs.ReadFile(built, name)
			known := hashed.ReplaceAllString(name, ".$1")
			sheet, isSheet := strings.CutSuffix(known, ".css")
			if dir == "web/dist" && isSheet && !slices.Contains(ownStyles, sheet[strings.LastIndex(sheet, "/")+1:]) {
				content = nil
			}
			all = append(all, fmt.Sprintf("%s/%s %x", dir, known, sha256.Sum256(hashed.ReplaceAll(content, []byte(".$1")))))
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return time.Time{}, err
		}
	}
	for _, name := range pagesOnly {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return time.Time{}, err
		}
		all = append(all, fmt.Sprintf("%s %x", name, sha256.Sum256(content)))
	}
	slices.Sort(all)
	sum := sha256.New()
	fmt.Fprintln(sum, code.UnixNano(), strings.Join(all, "\n"))
	return timeOf(sum), nil
}

// Sheets are the style sheets of the console that is built which tests of how it looks have to
// look at: all but ownStyles. Names have no part that the content decides.
func Sheets() ([]string, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(root, "web", "dist", "assets", "*.css"))
	var all []string
	for _, file := range files {
		if name, _ := strings.CutSuffix(hashed.ReplaceAllString(filepath.Base(file), ".$1"), ".css"); !slices.Contains(ownStyles, name) {
			all = append(all, name)
		}
	}
	return all, err
}
